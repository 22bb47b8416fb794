#!/usr/bin/env python3
"""Compares the times of Quadrille's calls in two builds. Runs `quadrille bench` of both builds in turns and compares
Quadrille's times row by row, by the minimum and the median of the turns. The times of the MPI's own collective, which
is the same in both, are the noise floor.

    bench/before_after.py BEFORE AFTER --ranks 2 --collective alltoall --sizes 8,2K,128K --json rows.json
    bench/before_after.py BEFORE AFTER --pinned --mixed 2048,4096,8192 --json rows.json   # calls of these sizes in turn

BEFORE and AFTER are folders of programs of the same MPI, for example ../old/build/openmpi and build/openmpi; `quadrille`
comes from the folder above. --json adds the rows to the file.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lab'))
from programs.common import commit_of, cpu_name, product_of  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import load, store  # noqa: E402  pylint: disable=wrong-import-position


def launcher_of(build):
  cache = (build / 'CMakeCache.txt').read_text()
  return re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', cache, re.MULTILINE).group(1)


def command_of(build, arguments, answer):
  pinned = ['--bind-to', 'core'] if arguments.pinned else []
  launcher = launcher_of(build) if build.exists() else 'mpirun'
  return [launcher, '-n', str(arguments.ranks), *pinned, str(product_of(build) / 'bin' / 'quadrille'), 'bench',
          arguments.collective, '--sizes', arguments.sizes, '--no-ceiling', '--json', answer,
          *shlex.split(arguments.options)]


def times_of(build, arguments):
  """{block: (Quadrille's, the MPI's)} of one run: medians, in microseconds."""
  with tempfile.TemporaryDirectory() as folder:
    answer = os.path.join(folder, 'rows.json')
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                       OMPI_MCA_rmaps_base_oversubscribe='1')
    command = command_of(build, arguments, answer)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
      sys.exit(f'{shlex.join(command)}: exit status {done.returncode}\n{done.stderr}')
    rows = json.loads(pathlib.Path(answer).read_text())['rows']
  return {row['bytes']: (row['quadrille_us'], row['mpi_us']) for row in rows}


def compare(arguments):
  turns = {'before': [], 'after': []}
  builds = {'before': arguments.before, 'after': arguments.after}
  for turn in range(arguments.turns):
    for name in (('before', 'after'), ('after', 'before'))[turn % 2]:
      turns[name].append(times_of(builds[name], arguments))
  rows = []
  for size in turns['before'][0]:
    row = {'collective': arguments.collective, 'ranks': arguments.ranks, 'bytes': size}
    for name, runs in turns.items():
      row[f'{name}_us'] = [run[size][0] for run in runs]
      row[f'{name}_mpi_us'] = [run[size][1] for run in runs]
    rows.append(row)
  return rows


# ---- Calls of several sizes in turn ----

BATCHES, CALLS = 50, 3000


def mixed_command_of(build, arguments, sizes):
  library = product_of(build) / 'lib' / 'libquadrille_mpi.so'
  pinned = ['--bind-to', 'core'] if arguments.pinned else []
  launcher = launcher_of(build) if build.exists() else 'mpirun'
  program = build / 'bin' / 'quadrille_small_calls' if build.exists() else 'quadrille_small_calls'
  return [launcher, '-n', str(arguments.ranks), *pinned, 'env', f'LD_PRELOAD={library}', str(program), sizes, str(BATCHES), str(CALLS)]


def nanoseconds(build, arguments, sizes):
  """The time of a call: the minimum over the batches of one run."""
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                     OMPI_MCA_rmaps_base_oversubscribe='1', QUADRILLE_TUNING='none')
  command = mixed_command_of(build.resolve(), arguments, sizes)
  return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()[-3])


def compare_mixed(arguments):
  """All sizes in turn, then each size alone."""
  builds, rows = {'before': arguments.before, 'after': arguments.after}, []
  for sizes in (arguments.mixed, *arguments.mixed.split(',')):
    ns = {name: [] for name in builds}
    for turn in range(arguments.turns):
      for name in (('before', 'after'), ('after', 'before'))[turn % 2]:
        ns[name].append(nanoseconds(builds[name], arguments, sizes))
    rows.append({'sizes': sizes, **{f'{name}_ns': of for name, of in ns.items()}})
  return rows


# ---- Results ----


def mpi_of(build):
  said = subprocess.run([launcher_of(build), '--version'], capture_output=True, text=True, check=True).stdout.splitlines()[0]
  return re.sub(r'^\S+ \(Open(RTE|PRRTE| MPI)\)', 'Open MPI', said)


def least(row):
  return min(row['after_us']) / min(row['before_us'])


def median(row, whose=''):
  return statistics.median(row[f'after_{whose}us']) / statistics.median(row[f'before_{whose}us'])


def add(path, arguments, rows):
  """Adds the rows to the file's rows for these two builds."""
  commits = {name: commit_of(build)[:7] for name, build in (('before', arguments.before), ('after', arguments.after))}
  known = load(path) if path.exists() else {}
  if {name: known.get(name) for name in commits} != commits:
    known = {}
  build = pathlib.Path('BUILD', 'MPI')
  head = {**commits, 'cpu': cpu_name(), 'processors': os.cpu_count(), 'mpi': mpi_of(arguments.after)}
  if arguments.mixed:
    head['mixed_command'] = 'QUADRILLE_TUNING=none ' + shlex.join(mixed_command_of(build, arguments, 'SIZES'))
  else:
    head['commands'] = list(dict.fromkeys([*known.get('commands', []), shlex.join(command_of(build, arguments, 'FILE'))]))
  tables = {'rows': known.get('rows', []), 'mixed': known.get('mixed', [])}
  tables['mixed' if arguments.mixed else 'rows'] += rows
  kept = {name: value for name, value in known.items() if name not in head and name not in tables}
  store(path, {**kept, **head}, tables)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('before', type=pathlib.Path, nargs='?')
  parser.add_argument('after', type=pathlib.Path, nargs='?')
  parser.add_argument('--collective', default='alltoall')
  parser.add_argument('--ranks', type=int, default=2)
  parser.add_argument('--pinned', action='store_true', help='bind each rank to a core')
  parser.add_argument('--sizes', default='8,128,2K,8K,32K,128K,512K,2M')
  parser.add_argument('--mixed', help='sizes in bytes with commas: calls of these sizes in turn, and of each size alone')
  parser.add_argument('--turns', type=int, default=3)
  parser.add_argument('--options', default='', help='more options of `quadrille bench`, as one word')
  parser.add_argument('--json', type=pathlib.Path)
  arguments = parser.parse_args()
  if arguments.after is None:
    parser.error('name two builds')
  rows = compare_mixed(arguments) if arguments.mixed else compare(arguments)
  if arguments.json:
    add(arguments.json, arguments, rows)
  if arguments.mixed:
    for row in rows:
      print(f'{row["sizes"]}: before {min(row["before_ns"]):.0f} ns, after {min(row["after_ns"]):.0f} ns')
    return
  print(f'{arguments.collective}, {arguments.ranks} ranks: after / before of {arguments.turns} turns')
  print(f'{"bytes":>10} {"before us":>10} {"after us":>10} {"least":>6} {"median":>7} {"MPI":>6}')
  for row in rows:
    print(f'{row["bytes"]:10} {min(row["before_us"]):10.3f} {min(row["after_us"]):10.3f} {least(row):6.2f} '
          f'{median(row):7.2f} {median(row, "mpi_"):6.2f}')


if __name__ == '__main__':
  main()
