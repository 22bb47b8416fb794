#!/usr/bin/env python3
"""Measures collectives as programs call them: whole processes, natively and under `quadrille run` in turns.

    bench/program_calls.py                                       # heap and private memory, touched, two ranks
    bench/program_calls.py --mpi intel --ranks 8 --memory heap static --touch untouched touched
    bench/program_calls.py --collective alltoallv neighbors-6 --form nonblocking --out build/program_calls.json

A row for each size has the microseconds of the MPI and of Quadrille, as medians over the turns, for a call and for a step (the call,
and the program's writing and reading of the buffers). A ratio below 1 means that Quadrille is faster. `native` compares the MPI with
itself in the same turns: the noise floor. --out writes JSON, one line per row.
"""
import argparse
import datetime
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'lab'))
from programs.stored import load, store  # noqa: E402

SETTINGS = ('mpi', 'ranks', 'collective', 'form', 'memory', 'touch', 'bytes')
SIZES = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1048576, 4194304]


def command_of(mpi, ranks):
  """(build of its ABI's programs, launcher, environment) for an installed MPI. Two ranks have a processor each."""
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', PRTE_ALLOW_RUN_AS_ROOT='1',
                     PRTE_ALLOW_RUN_AS_ROOT_CONFIRM='1')
  two = ranks <= 2
  if mpi == 'openmpi':
    return 'openmpi', ['mpirun.openmpi', '-n', str(ranks), *(['--bind-to', 'core'] if two else ['--oversubscribe'])], environment
  folder = ROOT / 'build' / {'openmpi-5': 'venv-openmpi5', 'mpich': 'venv', 'intel': 'venv-intel'}[mpi]
  environment['LD_LIBRARY_PATH'] = str(folder / 'lib')
  if mpi == 'openmpi-5':
    binding = ['--bind-to', 'core'] if two else ['--map-by', ':OVERSUBSCRIBE', '--bind-to', 'none']
    return 'openmpi', [str(folder / 'bin/mpirun'), '-n', str(ranks), *binding], environment
  if mpi == 'intel':
    environment |= {'I_MPI_ROOT': str(folder), 'FI_PROVIDER_PATH': str(next(folder.rglob('prov'), ''))}
  return 'mpich', [str(folder / 'bin/mpiexec'), '-n', str(ranks), *(['-bind-to', 'core'] if two and mpi == 'mpich' else [])], environment


def run(command, environment):
  """{bytes: (microseconds of a call, microseconds of a step)}"""
  answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
  if answer.returncode != 0:
    sys.exit(f'{" ".join(command)}: exit status {answer.returncode}\n{answer.stderr}')
  rows = [line.split() for line in answer.stdout.splitlines()]
  return {int(row[0]): (float(row[1]), float(row[2])) for row in rows if len(row) == 3}


def measure(arguments, collective, form, memory, touch):
  """The rows of one setting: a dictionary for each size."""
  programs, launcher, environment = command_of(arguments.mpi, arguments.ranks)
  build = ROOT / 'build'
  program = [*launcher, str(build / programs / 'bin' / 'quadrille_program_calls'), collective, form, memory, touch, str(arguments.seconds),
             *map(str, arguments.sizes)]
  ways = {'native': program, 'again': program, 'quadrille': [str(build / 'bin' / 'quadrille'), 'run', '--', *program]}
  runs = {way: [] for way in ways}
  for turn in range(arguments.turns):
    for step in range(len(ways)):
      way = list(ways)[(turn + step) % len(ways)]
      runs[way].append(run(ways[way], environment))
  rows = []
  for size in arguments.sizes:
    what = 1 if touch == 'touched' else 0
    ratios = [ours[size][what] / native[size][what] for ours, native in zip(runs['quadrille'], runs['native'])]
    noise = [again[size][what] / native[size][what] for again, native in zip(runs['again'], runs['native'])]
    row = dict(zip(SETTINGS, (arguments.mpi, arguments.ranks, collective, form, memory, touch, size)))
    for way, name in (('native', 'mpi'), ('quadrille', 'quadrille')):
      row |= {f'{name}_call_us': statistics.median(run[size][0] for run in runs[way]),
              f'{name}_step_us': statistics.median(run[size][1] for run in runs[way])}
    row |= {'ratios': ratios, 'native': noise}
    rows.append(row)
    print(f'{arguments.mpi:9} {arguments.ranks:3} {collective:12} {form:11} {memory:6} {touch:9} {size:8} '
          f'{row["mpi_step_us"]:10.4g} {row["quadrille_step_us"]:10.4g}   {statistics.median(ratios):.2f} '
          f'({min(ratios):.2f}..{max(ratios):.2f})   native {statistics.median(noise):.2f} ({min(noise):.2f}..{max(noise):.2f})',
          flush=True)
  medians = [statistics.median(row['ratios']) for row in rows]
  print(f'  geometric mean {math.exp(statistics.mean(map(math.log, medians))):.2f}, worst {max(medians):.2f}', flush=True)
  return rows


def facts():
  cpu = next((line.partition(':')[2].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')), 'unknown')
  commit = subprocess.run(['git', '-C', str(ROOT), 'rev-parse', '--short=12', 'HEAD'], capture_output=True, text=True)
  return {'cpu': cpu, 'processors': os.cpu_count(), 'date': datetime.date.today().isoformat(), 'commit': commit.stdout.strip()}


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--mpi', choices=['openmpi', 'openmpi-5', 'mpich', 'intel'], default='openmpi')
  parser.add_argument('--ranks', type=int, default=2)
  parser.add_argument('--collective', nargs='+', default=['alltoall'])
  parser.add_argument('--form', nargs='+', default=['blocking'])
  parser.add_argument('--memory', nargs='+', default=['heap', 'static'])
  parser.add_argument('--touch', nargs='+', default=['touched'])
  parser.add_argument('--sizes', nargs='+', type=int, default=SIZES)
  parser.add_argument('--turns', type=int, default=5)
  parser.add_argument('--seconds', type=float, default=0.05, help='seconds for each size')
  parser.add_argument('--out', type=pathlib.Path, help='file to which the rows are added')
  arguments = parser.parse_args()
  rows = [row for collective in arguments.collective for form in arguments.form for memory in arguments.memory
          for touch in arguments.touch for row in measure(arguments, collective, form, memory, touch)]
  if arguments.out:
    add(arguments.out, rows)


def add(path, rows):
  """Adds rows to the file; rows of the same settings are replaced."""
  there = load(path) if path.exists() else {'commands': [], 'rows': []}

  def key(row):
    return [row[name] for name in SETTINGS]
  new = [key(row) for row in rows]
  kept = [row for row in there['rows'] if key(row) not in new]
  command = ' '.join(['bench/program_calls.py', *sys.argv[1:]])
  store(path, facts() | {'commands': list(dict.fromkeys([*there['commands'], command]))}, kept + rows)


if __name__ == '__main__':
  main()
