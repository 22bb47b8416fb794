#!/usr/bin/env python3
"""Compares nonblocking and persistent calls with the MPI's own: those of the C API (bench/requests.cpp), and those under MPI's own
names (bench/taken.cpp). Writes docs/results/as-programs-call/requests.json; lab/pages writes the page.

    bench/request_calls.py        # 2, 4 and 8 ranks with each MPI whose programs are built
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'lab'))
from programs.common import commit_of, cpu_name  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import store  # noqa: E402  pylint: disable=wrong-import-position

STORED = ROOT / 'docs' / 'results' / 'as-programs-call' / 'requests.json'
MPIS = ('mpich', 'openmpi')
RANKS = (2, 4, 8)
BATCHES = {2: 21, 4: 7, 8: 7}
NUMBER = r'([\d.-]+)'
TRIPLE = rf'{NUMBER} \({NUMBER}\.\.{NUMBER}\)'


def run(mpi, ranks, program, *before):
  """The output of a program of build/MPI/bin, and the command line; `before` precedes the launcher."""
  launcher = re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', (ROOT / 'build' / mpi / 'CMakeCache.txt').read_text(), re.M)[1]
  pinned = ['--bind-to', 'core'] if ranks <= os.cpu_count() else []
  last = ['-n', str(ranks), *pinned, f'build/{mpi}/bin/{program}', str(BATCHES[ranks])]
  environment = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT='1',
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
    OMPI_MCA_rmaps_base_oversubscribe='1',
    QUADRILLE_TUNING='none',
  )
  answer = subprocess.run(
    [*before, launcher, *last], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True
  )
  shown = ' '.join([*before, 'mpirun', *last])
  print(shown, flush=True)
  return answer.stdout, shown


def triples(names, text):
  """{name: [median, lower quartile, upper quartile]}"""
  return {name: [float(one) for one in numbers] for name, *numbers in re.findall(rf"({names}) {TRIPLE}", text)}


def times(text):
  return {name: float(us) for name, us in re.findall(r'  ([A-Za-z ]+) ([\d.]+)', text)}


def api_rows(text):
  """The times and the ratios with their quartiles, for each block size."""
  found = re.findall(r'^(\d+) bytes:(.*)\n   ratios:(.*)$', text, re.M)
  return [
    {'bytes': int(size), 'us': times(us), 'ratios': triples(r"\S+/MPI's nonblocking|\S+/\S+", ratios)}
    for size, us, ratios in found
  ]


SHOWN_OF_NAMES = ('nonblocking', 'persistent', 'both', 'MPI both')


def names_rows(text):
  """The same under MPI's names, with the extra time of a call over the C API, and the part that a computation hides."""
  found = re.findall(r'^(\d+) bytes:(.*)\n   ratios:(.*)\n   overlap:(.*)$', text, re.M)
  return [
    {
      'bytes': int(size),
      'us': {name: us for name, us in times(medians + beside).items() if name in SHOWN_OF_NAMES},
      'values': triples(r"\S+/MPI's|\S+-API's|hidden by the MPI|hidden", ratios + beside),
    }
    for size, medians, ratios, beside in found
  ]


def completion_rows(text):
  """The extra nanoseconds of functions that complete the MPI's own requests."""
  return [
    {'call': name, 'more_ns': more}
    for name, more in (
      (line.split()[0], triples(r'\w+', line)) for line in re.findall(r'nanoseconds more:  (.*)$', text, re.M)
    )
    for more in more.values()
  ]


def main():
  rows, names, completion, commands, commits = [], [], [], {}, {}
  for mpi in MPIS:
    if not (ROOT / 'build' / mpi / 'bin' / 'quadrille_requests_bench').exists():
      continue
    commits[mpi] = commit_of(ROOT / 'build' / mpi)
    for ranks in RANKS:
      where = {'mpi': mpi, 'ranks': ranks}
      text, commands[f'{mpi}-{ranks}'] = run(mpi, ranks, 'quadrille_requests_bench')
      rows += [where | row for row in api_rows(text)]
      text, commands[f'names-{mpi}-{ranks}'] = run(
        mpi, ranks, 'quadrille_taken_bench', 'build/bin/quadrille', 'run', '--'
      )
      names += [where | row for row in names_rows(text)]
      completion += [where | row for row in completion_rows(text)]
  store(STORED, {'cpu': cpu_name(), 'processors': os.cpu_count(), 'commits': commits, 'commands': commands},
        {'rows': rows, 'names': names, 'completion': completion})


if __name__ == '__main__':
  main()
