"""What Quadrille costs beside the calls themselves: `malloc` and `free` of a program under it, set-up, and what `quadrille report`
takes to record."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import typing

from programs.beside import SETTINGS, aligned, line_of_text, no_claims
from programs.common import Application, bindings, in_turns, launch, lines_of, number_of, processors, spread

NS = 1e-9
US = 1e-6


# ---- malloc and free ----

ITS_HEAP = 'Quadrille, its heap'
HEAPS = {'libc': {}, 'Quadrille, no heap': {'LD_PRELOAD': 'libquadrille_mpi.so'},
         ITS_HEAP: {'LD_PRELOAD': 'libquadrille_mpi.so', 'QUADRILLE_HEAP': 'early'}}
BLOCKS_AT_A_TIME = (1, 32)


def heap_run(options, settings):
  """[(bytes, ns one at a time, ns of 32 at a time)]"""
  environment = {name: value for name, value in os.environ.items() if name not in HEAPS[ITS_HEAP]} | settings
  if 'LD_PRELOAD' in settings:
    environment['LD_PRELOAD'] = f'{options.build}/lib/{settings["LD_PRELOAD"]}'
  said = subprocess.run([f'{options.build}/bin/quadrille_heap_bench'], env=environment, check=True, capture_output=True, text=True).stdout
  return [(int(size), *map(float, times)) for size, *times in (line.split() for line in said.splitlines())]


def settings_text(settings):
  return f'`{" ".join(f"{name}={value}" for name, value in settings.items())}`' if settings else 'nothing set'


def measure_heap(options):
  options.say('malloc and free')
  turns = in_turns(HEAPS, options.runs, lambda line: heap_run(options, HEAPS[line]))
  panels = []
  for place, blocks in enumerate(BLOCKS_AT_A_TIME, start=1):
    rows = [{'line': line, 'bytes': same[0][0], **spread([one[place] * NS for one in same]), 'ns': [one[place] for one in same]}
            for line, runs in turns.items() for same in zip(*runs)]
    panels.append({'title': f'{blocks} block{"s" if blocks > 1 else ""} at a time', 'x': 'bytes', 'y': 'µs of malloc, one touch and free',
                   'rows': rows})
  return ('`quadrille_heap_bench` takes, touches and frees blocks, one at a time, or 32 and then all of them are freed; of 100 passes the '
          'fastest counts. The kinds of memory take turns, run by run: '
          + '; '.join(f'{line} with {settings_text(settings)}' for line, settings in HEAPS.items()) + '.', panels)


def heap_table(panel):
  cells = {(row['line'], row['bytes']): number_of(row['ns'], 1) for row in panel['rows']}
  sizes = sorted({row['bytes'] for row in panel['rows']})
  rows = [[str(size), *(cells[line, size] for line in lines_of(panel))] for size in sizes]
  return f'## {panel["title"].capitalize()}\n\nns a block:\n\n```\n{aligned(["bytes", *lines_of(panel)], rows)}```\n\n'


# ---- Set-up ----

UNDER = {'MPI': False, 'Quadrille': True}
# The calls of a new communicator that go to the MPI, the one that sets it up, and some of those after it. The first one pays
# what the MPI does once.
FIRST, BEFORE, AT, NEXT, AFTER = 1, range(2, 11), 11, 12, range(13, 21)


def setup_run(options, ranks, under):
  said = launch(options.build, ranks, ['quadrille_setup_cost'], SETTINGS, bound=ranks <= processors(), under=under)
  us = {name.strip(): float(value) for name, _, value in (line.rpartition(' ') for line in said.splitlines())}
  return {'MPI_Init': us['init'], 'the first call on MPI_COMM_WORLD': us['world'],
          f'call {FIRST} on a new communicator': us[f'call {FIRST}'],
          f'a call from {BEFORE[0]} to {BEFORE[-1]} on a new communicator': statistics.median(us[f'call {call}'] for call in BEFORE),
          f'call {AT} on a new communicator': us[f'call {AT}'],
          f'call {NEXT} on a new communicator': us[f'call {NEXT}'],
          f'a call from {AFTER[0]} to {AFTER[-1]} on a new communicator': statistics.median(us[f'call {call}'] for call in AFTER)}


def measure_setup(options):
  panels = {}
  for ranks in options.counts:
    options.say(f'set-up, {ranks} ranks')
    turns = in_turns(UNDER, options.runs, lambda line: setup_run(options, ranks, UNDER[line]))  # pylint: disable=cell-var-from-loop
    for line, runs in turns.items():
      for what in runs[0]:
        panel = panels.setdefault(what, {'title': what, 'x': 'ranks', 'y': 'µs', 'rows': []})
        panel['rows'].append({'line': line, 'ranks': ranks, **spread([run[what] * US for run in runs])})
  return ('`quadrille_setup_cost` times `MPI_Init`, and the first 20 calls of `MPI_Alltoall` with blocks of 8 bytes on each of 50 copies '
          'of `MPI_COMM_WORLD`; the ranks meet before each call, and a time is that of the slowest rank. `MPI_Init` and the first call on '
          '`MPI_COMM_WORLD` happen once a run; of a call on the copies the median of these is taken, and of several calls the median of '
          'those. `MPI` and `Quadrille` (`quadrille run`) take turns, run by run.', list(panels.values()))


# ---- Recording ----


class Program(typing.NamedTuple):
  name: str
  words: tuple


PROGRAMS = [Program('calls of 8 bytes alone', ('quadrille_small_calls', '8', '201', '1000')), Program('ft', ('ft', '--class', 'W')),
            Program('closure', ('closure', '--generate', 'chains:200,200')), Program('fft2d', ('fft2d', '--mesh', '1024')),
            Program('heat2d', ('heat2d', '--size', '32x32', '--iterations', '100000'))]


def recorded(options, ranks, program):
  """Of one run, on the rank that recorded longest: (seconds it ran, seconds recording took, calls it made)."""
  with tempfile.TemporaryDirectory() as folder:
    data, page = pathlib.Path(folder) / 'data.json', pathlib.Path(folder) / 'page.html'
    mpirun = [f'{options.build}/bin/quadrille', 'report', '--no-replay', '--data', str(data), '--output', str(page), '--',
              shutil.which('mpirun.openmpi') or 'mpirun']
    launch(options.build, ranks, program.words, SETTINGS, mpirun, bound=ranks <= processors())
    said = json.loads(data.read_text())
  rank = max(range(said['ranks']), key=lambda one: said['recording'][one])
  calls = round(sum(one['calls'] for one in said['calls']))
  return said['seconds'][rank], said['recording'][rank], calls


def measure_recording(options):
  panels = []
  for ranks in options.counts:
    turns = in_turns(PROGRAMS, options.runs, lambda program: recorded(options, ranks, program))  # pylint: disable=cell-var-from-loop
    rows = [{'line': program.name, 'ranks': ranks, **spread([recording / calls for _, recording, calls in runs]),
             'ns': [round(recording / calls / NS, 1) for _, recording, calls in runs], 'calls': runs[0][2],
             'command': ' '.join(program.words), 'seconds': [round(seconds, 4) for seconds, *_ in runs],
             'percent': [round(100 * recording / seconds, 4) for seconds, recording, _ in runs]}
            for program, runs in turns.items()]
    panels.append({'title': f'{ranks} ranks', 'x': 'ranks', 'y': 'µs a call', 'rows': rows})
  return ('Each program runs under `quadrille report --no-replay`, and the recorder times itself ('
          '[report.md](../report.md#what-it-costs)). The rank that recorded longest is shown, with the share of its time from `MPI_Init` to '
          '`MPI_Finalize`. The first calls of a kind, and the sites they come from, are in it.', panels)


def recording_table(panel):
  rows = [[row['line'], str(row['calls']), f'{statistics.median(row["seconds"]):.2f}', number_of(row['ns'], 0),
           number_of(row['percent'])] for row in panel['rows']]
  commands = ''.join(f'    {row["command"]}\n' for row in panel['rows'])
  return (f'## {panel["title"]}\n\n{commands}\n```\n'
          f'{aligned(["program", "calls", "s in all", "ns a call", "% of the time"], rows)}```\n\n')


# ---- Pages ----

ABOUT_HEAP = line_of_text("""
`Quadrille, no heap` is a program under Quadrille that does not call the MPI, whose `malloc` is passed on to libc;
`Quadrille, its heap` takes memory that the ranks of a node share ([the shared heap](../inside-a-node.md#the-shared-heap)).""")
ABOUT_SETUP = line_of_text("""
The first ten calls on a communicator go to the MPI, but on `MPI_COMM_WORLD`, which is set up in `MPI_Init`; the eleventh sets it up
([collectives](../collectives.md)).""")
ABOUT_RECORDING = 'A line is a program.'

APPLICATIONS = [
    Application('heap-cost', 'What memory costs', '', ABOUT_HEAP, measure_heap, no_claims, alone='one process without the MPI',
                bindings=lambda options: {}, table=heap_table),
    Application('setup-cost', 'What set-up costs', '', ABOUT_SETUP, measure_setup, no_claims, bindings=bindings),
    Application('recording-cost', 'What recording costs', '', ABOUT_RECORDING, measure_recording, no_claims, bindings=bindings,
                table=recording_table)]
