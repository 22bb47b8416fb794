#!/usr/bin/env python3
"""Lets memory run out at one request of Quadrille after the other, each in a run of its own.

  lack_of_memory.py --library lack_of_memory.so [--preload libquadrille_mpi.so] -- mpirun -n 2 program check

A run may succeed, or end by MPI's error handler. No exception may leave a door, nothing may crash or hang. A few
requests are drawn; QUADRILLE_TEST_LACKS=n draws n, or takes all of them if there are not more. QUADRILLE_TEST_SEED
is that of the draw (default 1).
"""

import argparse
import os
import random
import re
import subprocess
import sys

CRASHES = re.compile(r'terminate called|Segmentation fault|signal 11|SIGSEGV|signal 6|SIGABRT|Aborted|Bus error|'
                     r'glibc detected|free\(\): |malloc\(\): |corrupted')


def run(arguments, rank, at):
  """The status and output of a run; status None: it hangs."""
  preload = ':'.join(filter(None, [arguments.library, arguments.preload]))
  *launch, program, check = arguments.command
  command = ['timeout', '-k', '5', '60', *launch, 'env', f'LD_PRELOAD={preload}', f'FAIL_RANK={rank}', f'FAIL_AT={at}',
             program, check]
  done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                        errors='replace', check=False)
  return (None if done.returncode in (124, 137) else done.returncode), done.stdout


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--library', required=True)
  parser.add_argument('--preload')
  parser.add_argument('--ranks', type=int, default=2)
  parser.add_argument('command', nargs='+')
  arguments = parser.parse_args()

  seed = int(os.environ.get('QUADRILLE_TEST_SEED') or 1)
  draw = random.Random(seed)
  cases = []
  for rank in range(arguments.ranks):
    status, output = run(arguments, rank, -1)
    found = re.search(r'requests: (\d+)', output)
    if status != 0 or not found or int(found[1]) < 100:
      sys.exit(f'nothing is seen of what Quadrille asks for on rank {rank}:\n{output}')
    cases += [(rank, at) for at in range(int(found[1]))]
  wanted = int(os.environ.get('QUADRILLE_TEST_LACKS') or 8)
  drawn = draw.sample(cases, min(wanted, len(cases)))
  print(f'{len(drawn)} of {len(cases)} requests, drawn by QUADRILLE_TEST_SEED={seed}', flush=True)
  ended = bad = 0
  for rank, at in drawn:
    status, output = run(arguments, rank, at)
    if status is not None and not CRASHES.search(output):
      ended += status != 0
    else:
      bad += 1
      print(f'FAIL_RANK={rank} FAIL_AT={at}: {"it hangs" if status is None else "it crashed"}\n{output}', flush=True)
  print(f'{len(drawn) - ended - bad} runs went on, {ended} ended by an error, {bad} hang or crash')
  return 1 if bad else 0


if __name__ == '__main__':
  sys.exit(main())
