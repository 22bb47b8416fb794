#!/usr/bin/env python3
"""Repeats the papers' figures that a machine with two cores can repeat, with their maps, and makes the other measurements of docs/results.

  lab/results.py --build build/openmpi --out FOLDER [--runs N] [--only REGEX] [--long]

The first line estimates the total time, a line before each figure the remaining time. Figures that FOLDER already has from the same
sources are skipped, so an interrupted run resumes. FOLDER/times.txt records the time of each figure. `make results` calls this
script, then draws. With --long (`make results-long`) it also measures programs with all their numbers of ranks, and hosts that this
machine plays.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from programs.common import ROOT, commit_of, product_of

sys.path.insert(0, str(ROOT / 'bench'))

# A paper's figures have a folder with the name of the paper's page. A folder inside has the measurements over hosts that this
# machine plays.
PAPERS = {'hint-': 'hint', 'iso-': 'isomorphic', 'bruck-': 'bruck', 'co-': 'cache-oblivious', 'map-': 'bruck'}
PLAYED = 'hosts'

# (figure, ranks, options of the launcher, estimated seconds of a run). Copies that depend on caches are measured with a core for
# each rank. Orders that need more ranks than cores, and messages, are measured with eight ranks.
FIGURES = [
    ('hint-6', 8, '', 40), ('hint-8', 2, '--bind-to core', 35), ('hint-10', 2, '--bind-to core', 20), ('co-10', 8, '', 20),
    ('co-11', 8, '', 35), ('co-10-neighbors', 8, '', 40), ('co-11-neighbors', 8, '', 85), ('iso-2', 8, '', 55),
    ('iso-3', 8, '', 15), ('iso-4', 8, '', 70), ('iso-5', 8, '', 85), ('iso-6', 8, '', 15),
    ('iso-7', 8, '', 25), ('iso-8', 8, '', 20), ('iso-basis', 8, '', 30), ('iso-table-2', 8, '', 20),
    *((f'bruck-{number}', 16, '', seconds) for number, seconds in ((2, 50), (6, 60), (7, 10), (8, 50), (9, 50), (10, 30)))]
# A table of set-ups repeats itself.
WITHOUT_RUNS = {'iso-table-2'}
# Counted or simulated, without a launcher: (figure, estimated seconds).
COMPUTED = [('co-table-1', 5), ('co-table-2', 5)] + [
    (f'bruck-{number}-simulated', seconds) for number, seconds in ((2, 5), (6, 100), (7, 15), (8, 10), (9, 40), (10, 10))] + [
    ('co-12-simulated', 15), ('co-13-simulated', 10)]
# By lab/applications.py: whole programs, with numbers of ranks ('': the usual ones) and estimated seconds of a run. --long measures
# several MPIs with all ranks, which takes too long otherwise.
PROGRAMS = [('bruck-11', '', 25), ('bruck-12', '', 10), ('hint-3', '', 10), ('hint-12', '2,8', 40), ('hint-15', '2,8', 40),
            ('co-14', '', 225), ('co-15', '', 215), ('co-copies', '', 65)]
# By lab/beside.py, other measurements: estimated seconds of a run.
BESIDE = [('small', 10), ('calls', 50), ('neighbours', 65), ('copy-phase', 30), ('uneven', 55), ('heap-cost', 2), ('setup-cost', 3),
          ('recording-cost', 4)]
LONG_PROGRAMS = [('hint-12', '', 120), ('hint-15', '', 200), ('hint-18', '', 950)]
# (figure, hosts, ranks, estimated seconds of a run). Comparisons of leaders have two ranks per host, which share a processor.
ON_HOSTS = [('iso-2', 8, 8, 100), ('iso-3', 8, 8, 60), ('iso-4', 8, 8, 150), ('iso-5', 8, 8, 100),
            *((f'bruck-{number}', 16, 16, seconds) for number, seconds in ((2, 90), (6, 120), (7, 35), (8, 80), (9, 110), (10, 60))),
            ('co-12', 16, 32, 130), ('co-13', 16, 32, 40)]
# By bench/hosts.py over such hosts: (what, estimated seconds of a run).
HOSTS = [('chosen', 450), ('tuna', 500)]
# fft2d: (build, ranks, its options, turns, estimated seconds of all turns).
FFT2D = [(mpi, ranks, options, 5, seconds) for mpi in ('openmpi', 'mpich')
         for ranks, options, seconds in ((2, ['--weak', '--repeat', '3'], 150), (8, ['--weak', '--repeat', '1', '--warmup', '1'], 400))]
MAPS = [('map-paper', 'paper'), ('map-aries', 'aries')]


@dataclasses.dataclass
class Job:
  name: str      # the name for --only
  what: str      # for the progress line
  seconds: int   # estimated, of all runs
  commands: list
  is_done: object = lambda: False
  after: object = lambda: None


def environment():
  """Open MPI needs two settings to run as root, and one to exceed the cores."""
  return os.environ | {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                       'OMPI_MCA_rmaps_base_oversubscribe': '1'}


def minutes(seconds):
  return f'{seconds / 60:.0f} min' if seconds >= 60 else f'{seconds:.0f} s'


def is_done(path, commit, ranks=''):
  """Whether the data are from the same sources, if these are known, and with these ranks if ranks are named."""
  if not path.is_file():
    return False
  data = json.loads(path.read_text())
  known = bool(commit) and not commit.endswith('+') and data.get('facts', data).get('commit') == commit
  return known and (not ranks or f'--ranks {ranks} ' in data.get('command', ''))


def folder_of(name):
  """The folder of a paper's figure; '' for other measurements."""
  return next((folder for prefix, folder in PAPERS.items() if name.startswith(prefix)), '')


def lab_of(options):
  return f'{product_of(options.build)}/bin/quadrille-lab'


def words_of_runs(figure, runs):
  return ['--runs', str(runs)] if runs > 1 and figure not in WITHOUT_RUNS else []


def figure_job(options, commit, figure, ranks, launcher, seconds):
  folder = options.out / folder_of(figure)
  command = [shutil.which('mpirun.openmpi') or 'mpirun', '-n', str(ranks), *launcher.split(), lab_of(options), 'bench', '--figure',
             figure, '--results', str(folder), *words_of_runs(figure, options.runs)]
  return Job(figure, f'{ranks} ranks', seconds * (1 if figure in WITHOUT_RUNS else options.runs), [command],
             lambda: is_done(folder / f'{figure}.json', commit))


def computed_job(options, figure, seconds):
  command = [lab_of(options), 'bench', '--figure', figure, '--results', str(options.out / folder_of(figure))]
  return Job(figure, 'computed', seconds, [command])


def program_job(options, commit, name, ranks, seconds):
  folder = options.out / folder_of(name)
  command = [sys.executable, str(pathlib.Path(__file__).with_name('applications.py')), 'run', '--only', name, '--build',
             str(options.build), '--out', str(folder), '--runs', str(options.runs), *(['--ranks', ranks] if ranks else [])]
  wanted = ranks or usual_ranks(name)
  return Job(name, f'{wanted} ranks', seconds * options.runs, [command], lambda: is_done(folder / f'{name}.json', commit, wanted))


def usual_ranks(name):
  import applications  # pylint: disable=import-outside-toplevel
  return applications.RANKS[name]


def hosts_job(options, commit, figure, hosts, ranks, seconds):
  """A figure over hosts that tests/cluster/hosts.py plays; rank 0 writes to this machine's own files."""
  folder = options.out / folder_of(figure) / PLAYED
  path = folder / f'{figure}.json'
  command = [sys.executable, str(ROOT / 'tests' / 'cluster' / 'hosts.py'), '--hosts', str(hosts), '--ranks', str(ranks), '--mpirun',
             shutil.which('mpirun.openmpi') or 'mpirun', '--', lab_of(options), 'bench', '--figure', figure, '--results', str(folder),
             *words_of_runs(figure, options.runs)]
  return Job(f'{PLAYED}/{figure}', f'{ranks} ranks on {hosts} hosts', seconds * options.runs, [command],
             lambda: is_done(path, commit))


def beside_job(options, commit, name, seconds):
  folder = options.out / 'inside-a-node'
  command = [sys.executable, str(pathlib.Path(__file__).with_name('beside.py')), 'run', '--only', name, '--build', str(options.build), '--out',
             str(folder), '--runs', str(options.runs)]
  return Job(f'inside-a-node/{name}', 'beside the papers', seconds * options.runs, [command], lambda: is_done(folder / f'{name}.json', commit))


def hosts_script_job(options, kind, seconds):
  import hosts  # pylint: disable=import-outside-toplevel
  path = options.out / 'between-nodes'
  command = [sys.executable, str(ROOT / 'bench' / 'hosts.py'), 'measure', kind, str(options.runs), '--stored', str(path)]
  return Job(f'between-nodes/{kind}', f'over hosts, into {path}', seconds * options.runs, [command],
             lambda: not hosts.lacking(kind, path, options.runs))


def is_fft2d_done(path, commit, turns):
  if not path.is_file() or not commit or commit.endswith('+'):
    return False
  data = json.loads(path.read_text())
  return data.get('commit') == commit and len(data['rows'][0]['total_s']) == turns


def fft2d_job(options, mpi, ranks, words, turns, seconds):
  build = product_of(options.build) / mpi
  path = options.out / 'inside-a-node' / f'fft2d-{mpi}-{ranks}.json'
  command = [sys.executable, str(ROOT / 'bench' / 'fft2d.py'), '--build', str(build), '--ranks', str(ranks), '--turns', str(turns), '--to',
             str(path), '--', *words]
  return Job(f'inside-a-node/fft2d-{mpi}-{ranks}', f'{ranks} ranks', seconds, [command] if (build / 'bin' / 'fft2d').is_file() else [],
             lambda: is_fft2d_done(path, commit_of(build), turns))


def usual_jobs(options, commit):
  return [*(figure_job(options, commit, *one) for one in FIGURES), *(computed_job(options, *one) for one in COMPUTED),
          *(program_job(options, commit, *one) for one in PROGRAMS), *(beside_job(options, commit, *one) for one in BESIDE)]


def long_jobs(options, commit):
  return [*(program_job(options, commit, *one) for one in LONG_PROGRAMS), *(hosts_job(options, commit, *one) for one in ON_HOSTS),
          *(hosts_script_job(options, *one) for one in HOSTS), *(fft2d_job(options, *one) for one in FFT2D)]


def do(job, out):
  """Whether all commands succeeded; the log has their output, and times.txt their times."""
  began = time.time()
  with open(out / 'log.txt', 'a', encoding='utf-8') as log:
    good = all(subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment(), check=False).returncode == 0
               for command in job.commands)
  if good:
    job.after()
  now = datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')
  with open(out / 'times.txt', 'a', encoding='utf-8') as times:
    times.write(f'{now} {job.name}: {time.time() - began:.0f} s, estimated {job.seconds} s{"" if good else ", failed"}\n')
  return good


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--build', required=True)
  parser.add_argument('--out', type=pathlib.Path, required=True)
  parser.add_argument('--runs', type=int, default=3)
  parser.add_argument('--only', default='')
  parser.add_argument('--long', action='store_true')
  options = parser.parse_args()
  for folder in set(PAPERS.values()):
    (options.out / folder / PLAYED).mkdir(parents=True, exist_ok=True)
  commit = commit_of(options.build)
  jobs = [job for job in (long_jobs if options.long else usual_jobs)(options, commit)
          if re.search(options.only, job.name) and job.commands]
  jobs = [job for job in jobs if not job.is_done()]
  total, began, expected, failed = sum(job.seconds for job in jobs), time.time(), 0, []
  print(f'{len(jobs)} to do, estimated to take {minutes(total)}', flush=True)
  for i, job in enumerate(jobs):
    pace = (time.time() - began) / expected if expected else 1
    print(f'[{i + 1}/{len(jobs)}] {job.name}, {job.what}; {minutes(time.time() - began)} gone, about '
          f'{minutes((total - expected) * pace)} left', flush=True)
    if not do(job, options.out):
      failed.append(job.name)
    expected += job.seconds
  for name, model in MAPS:
    if not options.only and not options.long:
      subprocess.run([lab_of(options), 'show', '--map', '--model', model, '--map-json',
                      str(options.out / folder_of(name) / f'{name}.json')], check=True, stdout=subprocess.DEVNULL)
  print(f'took {minutes(time.time() - began)}; {options.out / "times.txt"} says what each took', flush=True)
  for name in failed:
    print(f'{name} was not measured; see {options.out / "log.txt"}', file=sys.stderr)
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
