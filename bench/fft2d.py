#!/usr/bin/env python3
"""Measures fft2d natively and under Quadrille, by turns, and writes what each run printed.

  fft2d.py --build build/openmpi --ranks 2 --turns 5 --to docs/results/fft2d/openmpi-2.json -- --weak --repeat 3
  fft2d.py --page docs/results/fft2d/*.json        the tables of such files, as Markdown

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
  result = {'command': ' '.join(shown), 'mpi': version_of(launcher), 'processor': processor(),
            'processors': os.cpu_count(), 'pinned': pinned,
            'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'), 'runs': runs}
  arguments.to.parent.mkdir(parents=True, exist_ok=True)
  lines = ',\n    '.join(json.dumps(run) for run in runs)
  head = json.dumps({key: value for key, value in result.items() if key != 'runs'}, indent=2)[:-2]
  arguments.to.write_text(f'{head},\n  "runs": [\n    {lines}\n  ]\n}}\n')


def spread(values, digits):
  return f'{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})'


def page(files):
  print('| MPI | ranks | mesh | | the MPI\'s own, s | under Quadrille, s | ratio |')
  print('|---|---|---|---|---|---|---|')
  for file in files:
    result = json.loads(file.read_text())
    runs = {way: [run for run in result['runs'] if run['way'] == way] for way in ('mpi', 'quadrille')}
    first = runs['mpi'][0]
    rows = [('round trip', lambda run: run['total_s'])]
    rows += [(f'all-to-all, {which} of the ranks', lambda run, key=key: run['alltoall_s'][key])
             for which, key in (('least', 'min'), ('median', 'median'), ('most', 'max'))
             if first['ranks'] > 2 or key != 'median']
    for name, value in rows:
      native, ours = ([value(run) for run in runs[way]] for way in ('mpi', 'quadrille'))
      ratios = [after / before for before, after in zip(native, ours)]
      print(f'| {result["mpi"]} | {first["ranks"]} | {first["mesh"]} | {name} | {spread(native, 3)} | '
            f'{spread(ours, 3)} | {spread(ratios, 2)} |')


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/openmpi'))
  parser.add_argument('--ranks', type=int, default=2)
  parser.add_argument('--turns', type=int, default=5)
  parser.add_argument('--to', type=pathlib.Path)
  parser.add_argument('--page', type=pathlib.Path, nargs='+')
  parser.add_argument('options', nargs='*')
  arguments = parser.parse_args()
  if arguments.page:
    page(arguments.page)
  elif arguments.to:
    measure(arguments)
  else:
    parser.error('--to or --page is needed')


if __name__ == '__main__':
  main()
