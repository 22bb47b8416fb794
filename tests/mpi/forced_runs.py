#!/usr/bin/env python3
"""Forces every algorithm of the registry under the preload library and looks whether it was obeyed.

  forced_runs.py --quadrille build/bin/quadrille --preload libquadrille_mpi.so -- \\
                 mpirun -n 3 ./quadrille_dropin_checks finalize end

The program must call each of the five collectives CALLS times. One run forces one algorithm for each
collective. QUADRILLE_EXPLAIN must name exactly these, with their parameters and the reason "forced",
and the summary must count every call as served, or as passed where the MPI's own was forced. That of an MPI that takes a
device's memory is not obeyed: QUADRILLE_MPI_DEVICE does not say so.
"""

import argparse
import json
import os
import re
import subprocess
import sys

CALLS = 40  # of finalize_check.cpp, for each collective
ALONE = 21  # nonblocking calls on communicators of which no blocking call is made: not where something is forced
COLLECTIVES = ['alltoall', 'alltoallv', 'alltoallw', 'allgather', 'allgatherv']


def forms(quadrille):
  """For each collective, its algorithms as QUADRILLE_ALGORITHM takes them. Parameters are not the
  standard ones, so that a default would be noticed."""
  answer = subprocess.run([quadrille, 'list', '--json'], check=True, capture_output=True, text=True)
  found = {collective: [] for collective in COLLECTIVES}
  for algorithm in json.loads(answer.stdout):
    values = []
    for parameter in algorithm['parameters']:
      value = min(max(3, parameter['least']), parameter['most'])
      value = parameter['names'][value] if 'names' in parameter else value
      values.append(f'{parameter["name"]}={value}')
    text = algorithm['name'] + (':' + ','.join(values) if values else '')
    for collective in set(algorithm['collectives']) & set(COLLECTIVES):
      found[collective].append(text)
  return found


def is_expected(algorithm, line):
  if algorithm == 'cuda-aware-mpi':
    return line.startswith('mpi: the forced cuda-aware-mpi cannot serve it:') and 'device memory' in line
  return line == f'{algorithm}: forced'


def goes_to_the_mpi(algorithm):
  """On one node the pipeline does without what is inside it."""
  return algorithm in ('mpi', 'cuda-aware-mpi') or (algorithm.startswith('copy-to-cpu') and algorithm.endswith('inner=mpi'))


def problems_of(forced, report):
  problems = []
  for collective, algorithm in forced.items():
    lines = re.findall(rf'^quadrille: {collective} on .*? -> (.*)$', report, re.M)
    if not lines:
      problems.append(f'{collective}: nothing was explained')
    problems += [f'{collective}: forced was {algorithm}, but: {line}'
                 for line in lines if not is_expected(algorithm, line) and not line.startswith('mpi: nonblocking;')]
  passed = CALLS * sum(map(goes_to_the_mpi, forced.values()))
  ranks = 3  # each counts its own
  summary = (f'{ranks * (CALLS * len(forced) - passed)} calls served, '
             f'{ranks * (passed + ALONE)} forwarded to the MPI')
  if f'quadrille: summary: {summary}' not in report:
    problems.append(f'the summary is not "{summary}"')
  return problems


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--quadrille', required=True)
  parser.add_argument('--preload', required=True)
  parser.add_argument('command', nargs='+', help='launcher, its options, program and arguments')
  arguments = parser.parse_args()
  *launch, program, check, ending = arguments.command

  choices = forms(arguments.quadrille)
  failed = False
  for turn in range(max(len(names) for names in choices.values())):
    forced = {collective: names[turn % len(names)] for collective, names in choices.items()}
    text = ';'.join(f'{collective}={name}' for collective, name in forced.items())
    environment = dict(os.environ, QUADRILLE_EXPLAIN='1', QUADRILLE_ALGORITHM=text)
    command = [*launch, 'env', f'LD_PRELOAD={arguments.preload}', program, check, ending]
    answer = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False,
                            capture_output=True, text=True, errors='replace', timeout=120)
    problems = problems_of(forced, answer.stderr)
    if answer.returncode != 0:
      problems.append(f'exit status {answer.returncode}')
    print(f'{"failed" if problems else "obeyed"}: {text}')
    if problems:
      failed = True
      print('  ' + '\n  '.join(problems))
      print(f'--- standard error\n{answer.stderr}')
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
