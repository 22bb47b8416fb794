#!/usr/bin/env python3
"""Measures calls that are forwarded to the MPI or that create a communicator: natively, with QUADRILLE=off and under
Quadrille, in turns. Prints the minimum time of a call, CPU time and context switches, and their ratios to native.

    bench/small_calls.py graph -n 4               # create a graph of neighbours, call once, free it
    bench/small_calls.py self pass ialltoall -n 2 # a communicator of one rank; forwarded calls
    bench/small_calls.py 4096 8192 -n 2           # buffers at the start of a page
    bench/small_calls.py 8 ask --driver build/lib/standin-cuda/libcuda.so.1
                                                  # also with a GPU driver loaded; `ask` is the driver's own cost

small_calls.cpp lists the calls. `pass` and `ialltoall` are forwarded to the MPI.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAYS = ['native', 'off', 'quadrille']
DRIVER = 'driver'  # like 'quadrille', and the program has loaded a driver


def launcher_of(build):
  cache = (build / 'CMakeCache.txt').read_text()
  return re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', cache, re.MULTILINE).group(1)


def run(way, call, arguments, build):
  """The numbers of one run, per call: nanoseconds, CPU microseconds, context switches."""
  command = [launcher_of(build), '-n', str(arguments.n), str(build / 'bin' / 'quadrille_small_calls'), call,
             str(arguments.batches), str(arguments.calls)]
  if way == DRIVER or call == 'ask':
    command.append(str(pathlib.Path(arguments.driver).resolve()))
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                     OMPI_MCA_rmaps_base_oversubscribe='1')
  if way != 'native':
    command = [str(build.parent / 'bin' / 'quadrille'), 'run', '--', *command]
  if way == 'off':
    environment['QUADRILLE'] = 'off'
  if call == 'pass':
    environment['QUADRILLE_ALGORITHM'] = 'alltoall=mpi'
  answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
  if answer.returncode != 0:
    sys.exit(f'{" ".join(command)}: exit status {answer.returncode}\n{answer.stderr}')
  return [float(word) for word in answer.stdout.split()[-3:]]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('calls_named', nargs='+', metavar='CALL')
  parser.add_argument('-n', type=int, default=2, help='ranks')
  parser.add_argument('--build', default='build/openmpi')
  parser.add_argument('--turns', type=int, default=9)
  parser.add_argument('--batches', type=int, default=50)
  parser.add_argument('--calls', type=int, default=1000, help='calls in a batch')
  parser.add_argument('--driver', help="library of CUDA's driver, or of a stand-in")
  arguments = parser.parse_args()
  build = ROOT / arguments.build
  ways = WAYS + [DRIVER] if arguments.driver else WAYS
  for call in arguments.calls_named:
    all_runs = {way: [] for way in ways}
    for turn in range(arguments.turns):
      for step in range(len(ways)):
        way = ways[(turn + step) % len(ways)]
        all_runs[way].append(run(way, call, arguments, build))
    print(f'{call}, {arguments.n} ranks, {arguments.turns} runs each')
    for way in ways:
      numbers = list(zip(*all_runs[way]))
      least = min(numbers[0])
      ratios = [ours[0] / native[0] for ours, native in zip(all_runs[way], all_runs['native'])]
      print(f'  {way:10} least {least:10.1f} ns ({least / min(r[0] for r in all_runs["native"]):5.2f} of native, '
            f'median of pairs {statistics.median(ratios):5.2f})   CPU {statistics.median(numbers[1]):8.3f} us   '
            f'switches {statistics.median(numbers[2]):7.4f}')


main()
