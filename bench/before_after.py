#!/usr/bin/env python3
"""Are Quadrille's calls as quick as before? Runs `quadrille bench` of two builds by turns and compares, row for row,
what Quadrille takes, the quickest and the median of the turns. The MPI's own, which is the same in both, is the noise.

    bench/before_after.py BEFORE AFTER --ranks 2 --collective alltoall --sizes 8,2K,128K --json rows.json

    bench/before_after.py write      # docs/results/before-after.md, from what is stored there
    bench/before_after.py check      # is it the page of what is stored there?

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

import stored_page


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


# ---- The page ----

RESULTS = pathlib.Path(__file__).resolve().parent.parent / 'docs' / 'results'
STORED = RESULTS / 'before-after'
PAGE = RESULTS / 'before-after.md'
BEFORE, AFTER = 'e8df34c', '523c882'
MOST = 1.03


def median_of(row):
  return statistics.median(row['after_us']) / statistics.median(row['before_us'])


def least_of(row):
  return min(row['after_us']) / min(row['before_us'])


def mpi_of(row):
  return statistics.median(row['after_mpi_us']) / statistics.median(row['before_mpi_us'])


def table(rows):
  lines = ['| | ranks | block | before, us | after, us | after / before, least | median | the MPI, median |',
           '|---|---|---|---|---|---|---|---|']
  for row in rows:
    spread = [f'{min(row[name]):.3f} to {max(row[name]):.3f}' for name in ('before_us', 'after_us')]
    lines.append(f'| {row["collective"]} | {row["ranks"]} | {row["bytes"]} | {spread[0]} | {spread[1]} | {least_of(row):.2f} '
                 f'| {median_of(row):.2f} | {mpi_of(row):.2f} |')
  return lines


def reached(rows, ranks):
  """Which rows are slower by more than a few percent, beside what the MPI itself differs by."""
  slower = [row for row in rows if row['ranks'] == ranks and median_of(row) > MOST]
  said = '; '.join(f'{row["collective"]} of {row["bytes"]} B: {median_of(row):.2f}, where the MPI itself is at {mpi_of(row):.2f}, by the '
                   f'least times {least_of(row):.2f}' for row in slower)
  return f'- {ranks} ranks: {"not reached by the median of " + said if slower else "reached in all rows by the medians"}.'


def turns_text():
  """Of several-sizes.txt: its command, the builds and the machine, and {sizes: {build: [nanoseconds of each run]}}."""
  lines = (STORED / 'several-sizes.txt').read_text().splitlines()
  found = {}
  for line in lines:
    words = line.split()
    if words and words[0] in ('before', 'after'):
      found.setdefault(words[1], {}).setdefault(words[0], []).append(float(words[2]))
  return lines[0].removeprefix('command: '), lines[1], found


def turns():
  command, builds, found = turns_text()
  rows = [f'| {sizes} | ' + ' | '.join(f'{min(of[build]):.0f} to {max(of[build]):.0f}' for build in ('before', 'after')) + ' |'
          for sizes, of in found.items()]
  together = next(iter(found.values()))
  return ['## Blocks of several sizes in turn', '',
          'Before, one selection of each collective was remembered, so that a program whose calls alternate between sizes had each call '
          'selected anew. Alltoall, 2 ranks, calls of several sizes in turn, and of one size alone; nanoseconds of a call, the least and '
          f'the largest of {len(together["before"])} runs of each build, by turns. All sizes in turn take '
          f'{min(together["after"]) / min(together["before"]):.2f} of before by the least time. From '
          f'[several-sizes.txt](before-after/several-sizes.txt): {builds}.', '', f'    {command}', '',
          '| sizes | before | after |', '|---|---|---|', *rows]


def page():
  rows = json.loads((STORED / 'before-after.json').read_text())
  counts = sorted({row['ranks'] for row in rows})
  runs = ', '.join(f'{len(next(row for row in rows if row["ranks"] == count)["before_us"])} with {count} ranks' for count in counts)
  commands = list(dict.fromkeys(row['command'] for row in rows))
  return '\n'.join([
      '# Two builds beside each other: before and after the one executor', '',
      '<!-- Written by bench/before_after.py from docs/results/before-after. -->', '',
      f'Calls of Quadrille by two builds, by turns: of the commits {BEFORE} and {AFTER}, before and after the redesign that gave all forms '
      f'one executor. Runs of each build: {runs}, on a virtual machine with two processors and Open MPI 4.1.4. A time is the median of a '
      'run, and the table has the least and the largest. The last column compares the MPI with itself: it is the noise, which is large '
      'between runs and smaller in the medians.', '', *(f'    {command}' for command in commands), '',
      f'No row was to be more than {100 * MOST - 100:.0f}% slower.', '', *(reached(rows, count) for count in counts), '',
      *table(rows), '', *turns(), ''])


def write():
  PAGE.write_text(page())


def check():
  stored_page.check(PAGE, page(), STORED, 'bench/before_after.py write')


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
  arguments = parser.parse_args()
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
  if sys.argv[1:] in (['write'], ['check']):
    {'write': write, 'check': check}[sys.argv[1]]()
  else:
    main()
