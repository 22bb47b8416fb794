#!/usr/bin/env python3
"""Measures fft2d natively and under Quadrille, in turns, for docs/results/inside-a-node.md (lab/pages).

  fft2d.py --build build/openmpi --ranks 2 --turns 5 --to docs/results/inside-a-node/fft2d-openmpi-2.json -- --weak --repeat 3

Arguments after `--` are options of fft2d.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lab'))
from programs.common import commit_of, cpu_name, product_of  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import store  # noqa: E402  pylint: disable=wrong-import-position

# Open MPI needs two settings to run as root, and one to exceed the processors.
FOR_OPEN_MPI = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                'OMPI_MCA_rmaps_base_oversubscribe': '1'}


def launcher_of(build):
  for line in (build / 'CMakeCache.txt').read_text().splitlines():
    if line.startswith('QUADRILLE_MPIRUN:'):
      return line.split('=', 1)[1]
  raise SystemExit(f'{build}: not a build of one MPI')


def version_of(launcher):
  said = subprocess.run([launcher, '--version'], capture_output=True, text=True, check=True).stdout
  hydra = re.search(r'Version:\s+(\S+)', said)
  return f'MPICH {hydra[1]}' if hydra else 'Open MPI ' + re.search(r'(\d+\.\d+\.\d+)', said)[1]


# A row has the ranks' time in the exchange: minimum, median and maximum over the ranks.
WAITS = {'least_s': 'min', 'median_s': 'median', 'most_s': 'max'}


def row_of(way, runs):
  return {'way': way, 'total_s': [run['total_s'] for run in runs],
          **{name: [run['alltoall_s'][key] for run in runs] for name, key in WAITS.items()}}


def measure(arguments):
  launcher = launcher_of(arguments.build)
  pinned = arguments.ranks <= os.cpu_count()
  binding = ['--bind-to', 'core' if pinned else 'none'] if 'Open MPI' in version_of(launcher) else \
      ['-bind-to', 'core' if pinned else 'none']
  command = [launcher, '-n', str(arguments.ranks), *binding, str(arguments.build / 'bin/fft2d'), *arguments.options]
  ways = {'mpi': command, 'quadrille': [str(product_of(arguments.build) / 'bin/quadrille'), 'run', '--', *command]}
  runs = {way: [] for way in ways}
  for turn in range(arguments.turns):
    # The order alternates, in case the second run has an advantage.
    for way in sorted(ways, reverse=turn % 2 == 1):
      said = subprocess.run(ways[way], env=dict(os.environ, **FOR_OPEN_MPI), capture_output=True, text=True, check=True)
      runs[way].append(json.loads(said.stdout.splitlines()[-1]))
  first = runs['mpi'][0]
  store(
    arguments.to,
    {
      'command': ' '.join([pathlib.Path(launcher).name, *command[1:]]),
      'mpi': version_of(launcher),
      'commit': commit_of(arguments.build),
      'processor': cpu_name(),
      'processors': os.cpu_count(),
      'pinned': pinned,
      'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'),
      'ranks': first['ranks'],
      'mesh': first['mesh'],
      'block_bytes': first['block_bytes'][0],
      'largest_error': max(
        run[key] for some in runs.values() for run in some for key in ('spectrum_max', 'round_trip_max')
      ),
    },
    [row_of(way, some) for way, some in runs.items()],
  )


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/openmpi'))
  parser.add_argument('--ranks', type=int, default=2)
  parser.add_argument('--turns', type=int, default=5)
  parser.add_argument('--to', type=pathlib.Path, required=True)
  parser.add_argument('options', nargs='*')
  arguments = parser.parse_args()
  measure(arguments)


if __name__ == '__main__':
  main()
