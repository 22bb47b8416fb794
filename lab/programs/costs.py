"""The costs of Quadrille outside of the calls: the program's `malloc` and `free`, set-up, and the recording for
`quadrille report`."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import typing

from programs.beside import SETTINGS
from programs.common import in_turns, launch, processors, product_of

NS = 1e-9


# ---- malloc and free ----

ITS_HEAP = 'Quadrille, its heap'
HEAPS = {'libc': {}, 'Quadrille, no heap': {'LD_PRELOAD': 'libquadrille_mpi.so'},
         ITS_HEAP: {'LD_PRELOAD': 'libquadrille_mpi.so', 'QUADRILLE_HEAP': 'early'}}
BLOCKS_AT_A_TIME = (1, 32)


def heap_run(options, settings):
  """[(bytes, ns one at a time, ns of 32 at a time)]"""
  environment = {name: value for name, value in os.environ.items() if name not in HEAPS[ITS_HEAP]} | settings
  if 'LD_PRELOAD' in settings:
    environment['LD_PRELOAD'] = f'{product_of(options.build)}/lib/{settings["LD_PRELOAD"]}'
  said = subprocess.run(
    [f'{product_of(options.build)}/bin/quadrille_heap_bench'], env=environment, check=True, capture_output=True, text=True
  ).stdout
  return [(int(size), *map(float, times)) for size, *times in (line.split() for line in said.splitlines())]


def measure_heap(options):
  options.say('malloc and free')
  turns = in_turns(HEAPS, options.runs, lambda line: heap_run(options, HEAPS[line]))
  return {'settings': HEAPS}, [
      {'blocks': blocks, 'heap': line, 'bytes': same[0][0], 'ns': [one[place] for one in same]}
      for place, blocks in enumerate(BLOCKS_AT_A_TIME, start=1) for line, runs in turns.items() for same in zip(*runs)]


# ---- Set-up ----

UNDER = {'MPI': False, 'Quadrille': True}
# The calls of a new communicator that are forwarded to the MPI, the call that sets it up, and some later ones. The first call
# pays for the MPI's own set-up.
FIRST, BEFORE, AT, NEXT, AFTER = 1, range(2, 11), 11, 12, range(13, 21)


def setup_run(options, ranks, under):
  said = launch(options.build, ranks, ['quadrille_setup_cost'], SETTINGS, bound=ranks <= processors(), under=under)
  us = {name.strip(): float(value) for name, _, value in (line.rpartition(' ') for line in said.splitlines())}
  return {
    'MPI_Init': us['init'],
    'the first call on MPI_COMM_WORLD': us['world'],
    f'call {FIRST} on a new communicator': us[f'call {FIRST}'],
    f'a call from {BEFORE[0]} to {BEFORE[-1]} on a new communicator': statistics.median(
      us[f'call {call}'] for call in BEFORE
    ),
    f'call {AT} on a new communicator': us[f'call {AT}'],
    f'call {NEXT} on a new communicator': us[f'call {NEXT}'],
    f'a call from {AFTER[0]} to {AFTER[-1]} on a new communicator': statistics.median(
      us[f'call {call}'] for call in AFTER
    ),
  }


def measure_setup(options):
  rows = []
  for ranks in options.counts:
    options.say(f'set-up, {ranks} ranks')
    turns = in_turns(UNDER, options.runs, lambda line: setup_run(options, ranks, UNDER[line]))  # pylint: disable=cell-var-from-loop
    rows += [
      {'what': what, 'line': line, 'ranks': ranks, 'us': [run[what] for run in runs]}
      for line, runs in turns.items()
      for what in runs[0]
    ]
  order = list(dict.fromkeys(row['what'] for row in rows))
  return {}, sorted(rows, key=lambda row: order.index(row['what']))


# ---- Recording ----


class Program(typing.NamedTuple):
  name: str
  words: tuple


PROGRAMS = [
  Program('calls of 8 bytes alone', ('quadrille_small_calls', '8', '201', '1000')),
  Program('ft', ('ft', '--class', 'W')),
  Program('closure', ('closure', '--generate', 'chains:200,200')),
  Program('fft2d', ('fft2d', '--mesh', '1024')),
  Program('heat2d', ('heat2d', '--size', '32x32', '--iterations', '100000')),
]


def recorded(options, ranks, program):
  """(seconds of the run, seconds of recording, number of calls) of one run, on the rank with the longest recording."""
  with tempfile.TemporaryDirectory() as folder:
    data, page = pathlib.Path(folder) / 'data.json', pathlib.Path(folder) / 'page.html'
    mpirun = [f'{product_of(options.build)}/bin/quadrille', 'report', '--no-replay', '--data', str(data), '--output', str(page), '--',
              shutil.which('mpirun.openmpi') or 'mpirun']
    launch(options.build, ranks, program.words, SETTINGS, mpirun, bound=ranks <= processors())
    said = json.loads(data.read_text())
  rank = max(range(said['ranks']), key=lambda one: said['recording'][one])
  calls = round(sum(one['calls'] for one in said['calls']))
  return said['seconds'][rank], said['recording'][rank], calls


def measure_recording(options):
  rows = []
  for ranks in options.counts:
    turns = in_turns(PROGRAMS, options.runs, lambda program: recorded(options, ranks, program))  # pylint: disable=cell-var-from-loop
    rows += [{'program': program.name, 'ranks': ranks, 'command': ' '.join(program.words), 'calls': runs[0][2],
              'ns': [recording / calls / NS for _, recording, calls in runs], 'seconds': [seconds for seconds, *_ in runs],
              'percent': [100 * recording / seconds for seconds, recording, _ in runs]} for program, runs in turns.items()]
  return {}, rows
