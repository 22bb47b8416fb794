#!/usr/bin/env python3
"""Measures the data of docs/results/inside-a-node.md that belong to no paper's figure. lab/pages writes the page from the data in
docs/results/inside-a-node.

  lab/beside.py run --build build/openmpi --out FOLDER [--only NAME] [--runs 3]   writes FOLDER/NAME.json, one row per line
  lab/beside.py list                                                              lists names and titles
"""

import argparse
import pathlib
import sys
import time
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from programs import beside, common, costs  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import store  # noqa: E402  pylint: disable=wrong-import-position


class Measurement(typing.NamedTuple):
  about: str
  ranks: str  # numbers of ranks, with commas
  measure: object  # (Options) -> (head, rows)
  bindings: object = common.bindings  # (Options) -> {ranks: their processors}


def unbound(_):
  return {}


MEASUREMENTS = {
    'small': Measurement('small all-to-alls', '2', beside.measure_small, beside.on_mpis),
    'calls': Measurement('all calls', '2,8', beside.measure_node, beside.on_mpis),
    'neighbours': Measurement('neighbour collectives', '2,8', beside.measure_neighbours, beside.on_mpis),
    'uneven': Measurement('Alltoallv over messages', '16', beside.measure_uneven, beside.on_mpis),
    'copy-phase': Measurement('orders of copies alone, in one process', '64', beside.measure_copies, unbound),
    'heap-cost': Measurement('malloc and free, in one process', '1', costs.measure_heap, unbound),
    'setup-cost': Measurement('MPI_Init, and first calls of a communicator', '2,4,8', costs.measure_setup),
    'recording-cost': Measurement('what `quadrille report` takes to record', '2', costs.measure_recording)}


def head_of(name, options, measurement):
  known = common.facts(options, measurement)
  where = {key: known[key] for key in ('ranks', 'processors', 'cpu', 'mpi', 'runs')} | known['facts']
  ranks = ','.join(map(str, options.counts))
  return {'command': f'lab/beside.py run --only {name} --ranks {ranks} --runs {options.runs}'} | where


def run(name, words):
  measurement, begin = MEASUREMENTS[name], time.monotonic()
  ranks = [int(count) for count in (words.ranks or measurement.ranks).split(',')]

  def say(text):
    print(f'[{time.monotonic() - begin:4.0f} s] {name}: {text}', file=sys.stderr, flush=True)

  options = common.Options(pathlib.Path(words.build).resolve(), ranks, words.runs, say)
  head = head_of(name, options, measurement)
  more, rows = measurement.measure(options)
  path = words.out / f'{name}.json'
  store(path, head | more, rows)
  print(f'{path} is written', flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['run', 'list'])
  parser.add_argument('--build', default='build/openmpi')
  parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('build/results/inside-a-node'))
  parser.add_argument('--ranks', help='numbers of ranks, with commas; default: those of each measurement')
  parser.add_argument('--runs', type=int, default=3)
  parser.add_argument('--only', choices=list(MEASUREMENTS))
  words = parser.parse_args()
  for name, one in MEASUREMENTS.items():
    if words.what == 'list':
      print(f'{name:14} {one.about}')
    elif words.only in (None, name):
      run(name, words)


if __name__ == '__main__':
  main()
