#!/usr/bin/env python3
"""Measures fft2d natively and under Quadrille, by turns, and writes what each run printed.

  fft2d.py --build build/openmpi --ranks 2 --turns 5 --to docs/results/fft2d/openmpi-2.json -- --weak --repeat 3
  fft2d.py --page      docs/results/fft2d.md, from the files in docs/results/fft2d
  fft2d.py --check     is it the page of these files?

Words after `--` are options of fft2d.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lab'))
from programs.common import commit_of  # noqa: E402  pylint: disable=wrong-import-position
import stored_page

# Open MPI asks twice as root, and wants to know that there may be more ranks than processors.
FOR_OPEN_MPI = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                'OMPI_MCA_rmaps_base_oversubscribe': '1'}


def launcher_of(build):
  for line in (build / 'CMakeCache.txt').read_text().splitlines():
    if line.startswith('QUADRILLE_MPIRUN:'):
      return line.split('=', 1)[1]
  raise SystemExit(f'{build}: not a build of Quadrille')


def version_of(launcher):
  said = subprocess.run([launcher, '--version'], capture_output=True, text=True, check=True).stdout
  hydra = re.search(r'Version:\s+(\S+)', said)
  return f'MPICH {hydra[1]}' if hydra else 'Open MPI ' + re.search(r'(\d+\.\d+\.\d+)', said)[1]


def processor():
  named = re.search(r'model name\s*:\s*(.*)', pathlib.Path('/proc/cpuinfo').read_text())
  return named[1] if named else 'unknown'


def measure(arguments):
  launcher = launcher_of(arguments.build)
  pinned = arguments.ranks <= os.cpu_count()
  binding = ['--bind-to', 'core' if pinned else 'none'] if 'Open MPI' in version_of(launcher) else \
      ['-bind-to', 'core' if pinned else 'none']
  command = [launcher, '-n', str(arguments.ranks), *binding, str(arguments.build / 'bin/fft2d'), *arguments.options]
  ways = {'mpi': command, 'quadrille': [str(arguments.build / 'bin/quadrille'), 'run', '--', *command]}
  runs = []
  for turn in range(arguments.turns):
    # Who comes first changes, in case the one behind is better off.
    for way in sorted(ways, reverse=turn % 2 == 1):
      said = subprocess.run(ways[way], env=dict(os.environ, **FOR_OPEN_MPI), capture_output=True, text=True, check=True)
      runs.append({'turn': turn, 'way': way, **json.loads(said.stdout.splitlines()[-1])})
  shown = [pathlib.Path(launcher).name, *command[1:]]
  result = {'command': ' '.join(shown), 'mpi': version_of(launcher), 'commit': commit_of(arguments.build), 'processor': processor(),
            'processors': os.cpu_count(), 'pinned': pinned,
            'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'), 'runs': runs}
  arguments.to.parent.mkdir(parents=True, exist_ok=True)
  lines = ',\n    '.join(json.dumps(run) for run in runs)
  head = json.dumps({key: value for key, value in result.items() if key != 'runs'}, indent=2)[:-2]
  arguments.to.write_text(f'{head},\n  "runs": [\n    {lines}\n  ]\n}}\n')


def spread(values, digits):
  return f'{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})'


STORED = pathlib.Path(__file__).resolve().parent.parent / 'docs' / 'results' / 'fft2d'
PAGE = STORED.with_suffix('.md')
INTRODUCTION = """\
# fft2d: natively and under Quadrille

<!-- Written by bench/fft2d.py from docs/results/fft2d. -->

[`fft2d`](../../examples/fft2d/README.md) on the weak mesh of the GPU paper, sqrt(ranks) x 4,096 points along each side, with all
data on the host and FFTW. With a core for each rank the ranks are pinned; more ranks share the cores. Native runs and runs under
`quadrille run` take turns; each is a run of the program, which checks its spectrum and its round trips. A number is the median of
the runs, in brackets the least and the largest; the ratio is that of the two runs of a turn. The data are in [fft2d](fft2d), with
what each run printed.
"""
SEEN = """\
A round trip is forward and back with two calls of `MPI_Alltoallv`. The exchange is a small part of it, so the whole gains little. With
more ranks than cores the time inside the exchange has in it the wait for ranks that have not had a core yet to transform their lines:
so the ranks that wait least and most are far apart, and it is the rank that waits least that shows the exchange itself.

The strong mesh (12,288 x 12,288) was not run, nor anything on a GPU.
"""


def block_text(size):
  return f'{size / (1 << 20):.0f} MiB'


def rows_of(result):
  runs = {way: [run for run in result['runs'] if run['way'] == way] for way in ('mpi', 'quadrille')}
  first = runs['mpi'][0]
  parts = [('round trip', lambda run: run['total_s'])]
  parts += [(f'all-to-all, {which} of the ranks', lambda run, key=key: run['alltoall_s'][key])
            for which, key in (('least', 'min'), ('median', 'median'), ('most', 'max'))
            if first['ranks'] > 2 or key != 'median']
  for name, value in parts:
    native, ours = ([value(run) for run in runs[way]] for way in ('mpi', 'quadrille'))
    ratios = [after / before for before, after in zip(native, ours)]
    yield (f'| {result["mpi"]} | {first["ranks"]} | {first["mesh"]} | {block_text(first["block_bytes"][0])} | {name} | '
           f'{spread(native, 3)} | {spread(ours, 3)} | {spread(ratios, 2)} |')


def how(result):
  turns = len({run['turn'] for run in result['runs']})
  pinned = 'pinned' if result['pinned'] else 'not pinned'
  commit = f', Quadrille at {result["commit"]}' if result.get('commit') else ''
  return (f'- {result["date"][:10]}{commit}, {result["mpi"]}, {result["processors"]} processors of {result["processor"]}, {pinned}, '
          f'{turns} turns: `{result["command"]}`')


def page():
  results = [json.loads(file.read_text()) for file in sorted(STORED.glob('*.json'))]
  lines = [INTRODUCTION, *map(how, results), '',
           '| MPI | ranks | mesh | block | | the MPI\'s own, s | under Quadrille, s | ratio |', '|---|---|---|---|---|---|---|---|',
           *(row for result in results for row in rows_of(result)), '', SEEN]
  return '\n'.join(lines)


def check():
  stored_page.check(PAGE, page(), STORED, 'bench/fft2d.py --page')


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/openmpi'))
  parser.add_argument('--ranks', type=int, default=2)
  parser.add_argument('--turns', type=int, default=5)
  parser.add_argument('--to', type=pathlib.Path)
  parser.add_argument('--page', action='store_true')
  parser.add_argument('--check', action='store_true')
  parser.add_argument('options', nargs='*')
  arguments = parser.parse_args()
  if arguments.page:
    PAGE.write_text(page())
  elif arguments.check:
    check()
  elif arguments.to:
    measure(arguments)
  else:
    parser.error('--to, --page or --check is needed')


if __name__ == '__main__':
  main()
