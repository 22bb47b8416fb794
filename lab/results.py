#!/usr/bin/env python3
"""Repeats the figures of the papers that a machine of two cores can repeat, one after the other, with their pages and maps, and what
is measured beside the papers.

  lab/results.py --build build/openmpi --out FOLDER [--runs N] [--only REGEX]

A line says what is measured, what is done, and about how long the rest takes. A figure that is done already, in FOLDER and by
the same program, is not measured again, so what was interrupted goes on. `make results` calls this, then draws.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from programs.common import commit_of

# (figure, ranks, options of the launcher, about how many seconds a run takes). Copies that caches decide on are measured with
# a core for each rank; where an order needs more ranks than cores, and where messages count, with eight.
FIGURES = [
    ('hint-6', 8, '', 60), ('hint-8', 2, '--bind-to core', 25), ('hint-10', 2, '--bind-to core', 35), ('co-10', 8, '', 60),
    ('co-11', 8, '', 70), ('co-10-neighbors', 8, '', 120), ('co-11-neighbors', 8, '', 130), ('iso-2', 8, '', 90),
    ('iso-3', 8, '', 60), ('iso-4', 8, '', 120), ('iso-5', 8, '', 90), ('iso-6', 8, '', 60),
    ('iso-7', 8, '', 60), ('iso-8', 8, '', 60), ('iso-basis', 8, '', 90), ('iso-table-2', 8, '', 90),
    *((f'bruck-{number}', 16, '', seconds) for number, seconds in ((2, 60), (6, 90), (7, 20), (8, 60), (9, 90), (10, 40)))]
# A table of set-ups repeats by itself.
WITHOUT_RUNS = {'iso-table-2'}
# By counting and simulation, without a launcher: (figure, about how many seconds).
COMPUTED = [('co-table-1', 5), ('co-table-2', 5)] + [
    (f'bruck-{number}-simulated', seconds) for number, seconds in ((2, 2), (6, 60), (7, 10), (8, 5), (9, 20), (10, 10))] + [
    ('co-12-simulated', 20), ('co-13-simulated', 10)]
# By lab/applications.py: whole programs, and what is measured beside the papers; about how many seconds a run takes.
PROGRAMS = [('bruck-11', 60), ('bruck-12', 20), ('alltoall-small', 25), ('inside-a-node', 180), ('neighbours', 200), ('copy-phase', 100),
            ('uneven-data', 150)]
MAPS = [('map-paper', 'paper'), ('map-aries', 'aries')]


def environment():
  """Open MPI asks root twice, and counts cores."""
  return os.environ | {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                       'OMPI_MCA_rmaps_base_oversubscribe': '1'}


def minutes(seconds):
  return f'{seconds / 60:.0f} min' if seconds >= 60 else f'{seconds:.0f} s'


def is_done(path, commit):
  """Measured by the same sources, as far as these are known."""
  if not path.is_file():
    return False
  facts = json.loads(path.read_text()).get('facts', {})
  return bool(commit) and not commit.endswith('+') and facts.get('commit') == commit


def measure(tool, figure, ranks, launcher, runs, folder, log):
  command = [shutil.which('mpirun.openmpi') or 'mpirun', '-n', str(ranks), *launcher.split(), tool, 'bench', '--figure', figure,
             '--results', str(folder)]
  if runs > 1 and figure not in WITHOUT_RUNS:
    command += ['--runs', str(runs)]
  with open(log, 'a', encoding='utf-8') as out:
    return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=environment(), check=False).returncode


def measure_program(name, options, log):
  command = [sys.executable, str(pathlib.Path(__file__).with_name('applications.py')), 'run', '--only', name, '--build', options.build,
             '--out', str(options.out), '--runs', str(options.runs)]
  with open(log, 'a', encoding='utf-8') as out:
    return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--build', required=True)
  parser.add_argument('--out', type=pathlib.Path, required=True)
  parser.add_argument('--runs', type=int, default=3)
  parser.add_argument('--only', default='')
  options = parser.parse_args()
  options.out.mkdir(parents=True, exist_ok=True)
  tool, log = f'{options.build}/bin/quadrille', options.out / 'log.txt'
  wanted = [one for one in FIGURES if re.search(options.only, one[0])]
  programs = [one for one in PROGRAMS if re.search(options.only, one[0])]
  total = sum(one[3] * (1 if one[0] in WITHOUT_RUNS else options.runs) for one in wanted)
  of_programs = sum(seconds * options.runs for _, seconds in programs)
  began, expected, failed, commit = time.time(), 0, [], commit_of(options.build)
  for i, (figure, ranks, launcher, seconds) in enumerate(wanted):
    share = seconds * (1 if figure in WITHOUT_RUNS else options.runs)
    pace = (time.time() - began) / expected if expected else 1
    print(f'[{i + 1}/{len(wanted)}] {figure}, {ranks} ranks; {minutes(time.time() - began)} gone, about '
          f'{minutes((total - expected) * pace + of_programs)} left', flush=True)
    if is_done(options.out / f'{figure}.json', commit):
      total -= share
      continue
    if measure(tool, figure, ranks, launcher, options.runs, options.out, log) != 0:
      failed.append(figure)
    expected += share
  for figure, seconds in COMPUTED:
    if not re.search(options.only, figure):
      continue
    print(f'{figure}, computed; about {minutes(seconds)}', flush=True)
    command = [tool, 'bench', '--figure', figure, '--results', str(options.out)]
    with open(log, 'a', encoding='utf-8') as out:
      if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
        failed.append(figure)
  for program, seconds in programs:
    if is_done(options.out / f'{program}.json', commit):
      continue
    print(f'{program}; about {minutes(seconds * options.runs)}', flush=True)
    if measure_program(program, options, log) != 0:
      failed.append(program)
  for name, model in MAPS:
    if not options.only:
      subprocess.run([tool, 'show', '--map', '--model', model, '--map-json', str(options.out / f'{name}.json')], check=True,
                     stdout=subprocess.DEVNULL)
  for figure in failed:
    print(f'{figure} was not measured; see {log}', file=sys.stderr)
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
