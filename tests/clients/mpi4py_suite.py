#!/usr/bin/env python3
"""mpi4py's own tests of collectives through the ABI of the MPI standard, natively and under `quadrille run`.

  mpi4py_suite.py --quadrille TOOL --mpi VENV --folder FOLDER --ranks 2 3 4

mpi4py, in the version of scripts/wheels.txt, is compiled by VENV's mpicc_abi from its sources in the Python package index;
FOLDER keeps it. Exit status 77 where that cannot be done.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def skip(why):
  print(f'skipped: {why}')
  sys.exit(77)


def run(command, **more):
  return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def fetch(folder, mpicc):
  """Compiles and installs mpi4py. Returns its Python and the folder of its tests."""
  wheel = re.search(r'^venv-mpi4py\s+(mpi4py==(\S+))', (ROOT / 'scripts/wheels.txt').read_text(), re.M)
  python, sources = folder / 'venv/bin/python', folder / f'mpi4py-{wheel[2]}'
  done = sources / 'installed'
  if not done.exists():
    folder.mkdir(parents=True, exist_ok=True)
    pip = [python, '-m', 'pip', '-q', '--disable-pip-version-check']
    for command in ([sys.executable, '-m', 'venv', '--clear', folder / 'venv'], [*pip, 'install', 'numpy'],
                    [*pip, 'download', '--no-deps', '--no-binary', 'mpi4py', '-d', folder, wheel[1]],
                    [*pip, 'install', '--no-deps', '--no-cache-dir', folder / f'{sources.name}.tar.gz']):
      ended = run(command, env=dict(os.environ, MPICC=str(mpicc)))
      if ended.returncode != 0:
        skip(f'{command[-1]} cannot be installed from the Python package index: {ended.stdout[-300:]}')
    with tarfile.open(folder / f'{sources.name}.tar.gz') as archive:
      archive.extractall(folder, filter='data')
    done.touch()
  return python, sources / 'test'


def tested(launcher, python, tests, ranks):
  """Runs the tests. Returns how many calls Quadrille served, or None without it."""
  ended = run([*launcher, '-n', ranks, python, tests / 'main.py', '-q', '-i', 'cco'], cwd=tests, timeout=600,
              env=dict(os.environ, QUADRILLE_EXPLAIN='1'))
  passed = re.findall(r'Ran (\d+) tests? in', ended.stdout)
  if ended.returncode != 0 or len(passed) != ranks or min(map(int, passed)) < 500:
    sys.exit(f'{ranks} ranks, {" ".join(map(str, launcher))}: status {ended.returncode}\n{ended.stdout[-3000:]}')
  served = re.findall(r'summary: (\d+) calls served', ended.stdout)
  return sum(map(int, served)) if served else None


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--quadrille', type=pathlib.Path, required=True)
  parser.add_argument('--mpi', type=pathlib.Path, required=True)
  parser.add_argument('--folder', type=pathlib.Path, required=True)
  parser.add_argument('--ranks', type=int, nargs='+', required=True)
  arguments = parser.parse_args()
  mpicc = arguments.mpi / 'bin/mpicc_abi'
  if not mpicc.exists():
    skip(f'no {mpicc}')
  python, tests = fetch(arguments.folder.absolute(), mpicc)
  launcher = [arguments.mpi.absolute() / 'bin/mpirun']
  for ranks in arguments.ranks:
    tested(launcher, python, tests, ranks)
    served = tested([arguments.quadrille.absolute(), 'run', *launcher], python, tests, ranks)
    print(f'{ranks} ranks: passed natively and under quadrille run, which served {served} calls')
    if not served:
      sys.exit('Quadrille served no call')


if __name__ == '__main__':
  main()
