#!/usr/bin/env python3
"""Are Quadrille's calls as quick as before? Runs `quadrille bench` of two builds by turns and compares, row for row,
what Quadrille takes, the quickest and the median of the turns. The MPI's own, which is the same in both, is the noise.

    bench/before_after.py BEFORE AFTER --ranks 2 --collective alltoall --sizes 8,2K,128K --json rows.json

    bench/before_after.py --table rows.json      # what such a file holds, for a page

BEFORE and AFTER are folders of builds for the same MPI, such as ../old/build/openmpi and build/openmpi. With --json,
rows are added to those that the file has.
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


def launcher_of(build):
  cache = (build / 'CMakeCache.txt').read_text()
  return re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', cache, re.MULTILINE).group(1)


def command_of(build, arguments, answer):
  pinned = ['--bind-to', 'core'] if arguments.pinned else []
  launcher = launcher_of(build) if build.exists() else 'mpirun'
  return [launcher, '-n', str(arguments.ranks), *pinned, str(build / 'bin' / 'quadrille'), 'bench',
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
    row = {'collective': arguments.collective, 'ranks': arguments.ranks, 'bytes': size, 'options': arguments.options,
           'pinned': arguments.pinned, 'command': shlex.join(command_of(pathlib.Path('BUILD'), arguments, 'FILE'))}
    for name, runs in turns.items():
      row[f'{name}_us'] = [run[size][0] for run in runs]
      row[f'{name}_mpi_us'] = [run[size][1] for run in runs]
    row['least'] = min(row['after_us']) / min(row['before_us'])
    row['median'] = statistics.median(row['after_us']) / statistics.median(row['before_us'])
    row['mpi_median'] = statistics.median(row['after_mpi_us']) / statistics.median(row['before_mpi_us'])
    rows.append(row)
  return rows


def table(path):
  """The rows of a file as a table of a page."""
  rows = json.loads(path.read_text())
  print('| | ranks | block | before, us | after, us | after / before, least | median | the MPI, median |')
  print('|---|---|---|---|---|---|---|---|')
  for row in rows:
    spread = [f'{min(row[name]):.3f} to {max(row[name]):.3f}' for name in ('before_us', 'after_us')]
    print(f'| {row["collective"]} | {row["ranks"]} | {row["bytes"]} | {spread[0]} | {spread[1]} | {row["least"]:.2f} '
          f'| {row["median"]:.2f} | {row["mpi_median"]:.2f} |')


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('before', type=pathlib.Path, nargs='?')
  parser.add_argument('after', type=pathlib.Path, nargs='?')
  parser.add_argument('--collective', default='alltoall')
  parser.add_argument('--ranks', type=int, default=2)
  parser.add_argument('--pinned', action='store_true', help='each rank to a core')
  parser.add_argument('--sizes', default='8,128,2K,8K,32K,128K,512K,2M')
  parser.add_argument('--turns', type=int, default=3)
  parser.add_argument('--options', default='', help='more options of `quadrille bench`, as one word')
  parser.add_argument('--json', type=pathlib.Path)
  parser.add_argument('--table', type=pathlib.Path, metavar='FILE')
  arguments = parser.parse_args()
  if arguments.table:
    return table(arguments.table)
  if arguments.after is None:
    parser.error('name two builds')
  rows = compare(arguments)
  print(f'{arguments.collective}, {arguments.ranks} ranks: after / before of {arguments.turns} turns')
  print(f'{"bytes":>10} {"before us":>10} {"after us":>10} {"least":>6} {"median":>7} {"MPI":>6}')
  for row in rows:
    print(f'{row["bytes"]:10} {min(row["before_us"]):10.3f} {min(row["after_us"]):10.3f} {row["least"]:6.2f} '
          f'{row["median"]:7.2f} {row["mpi_median"]:6.2f}')
  if arguments.json:
    kept = json.loads(arguments.json.read_text()) if arguments.json.exists() else []
    arguments.json.write_text(json.dumps(kept + rows, indent=1) + '\n')


if __name__ == '__main__':
  main()
