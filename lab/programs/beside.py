"""Measurements that repeat no figure of a paper: Quadrille's choice, or a forced algorithm, against the MPI, by `quadrille bench`. They cover small
all-to-alls, all calls inside a node, neighbours, uneven blocks as messages, and the copies alone at 64 ranks.

A measurement returns its head and its rows."""

import json
import os
import pathlib
import subprocess
import tempfile
import typing

from programs.common import in_turns, launch, processors, product_of
from programs.hint import bindings_of_mpis, mpis_at_hand

MPIS = ('Open MPI 4.1', 'MPICH')
# Ignore a tuning table of this machine.
SETTINGS = {'QUADRILLE_TUNING': 'none'}
ASKED_FOR_NOTHING = 'default'


class Case(typing.NamedTuple):
  """One command line of the benchmark."""
  title: str
  collective: str
  ranks: int
  sizes: str
  words: list = []
  algorithms: tuple = (ASKED_FOR_NOTHING,)

  def command(self):
    return [self.collective, *self.words, '--sizes', self.sizes, *self.asked_for(), '--no-ceiling']

  def asked_for(self):
    return [] if self.algorithms == (ASKED_FOR_NOTHING,) else ['--algorithms', ','.join(self.algorithms)]


# ---- Measuring ----


def rows_of_run(case, mpi):
  """The rows of one run of the benchmark."""
  _, launcher, settings, build = mpi
  with tempfile.NamedTemporaryFile(suffix='.json') as file:
    words = [f'{product_of(build)}/bin/quadrille', 'bench', *case.command(), '--json', file.name]
    launch(build, case.ranks, words, settings | SETTINGS, launcher, bound=case.ranks <= processors())
    rows = json.loads(pathlib.Path(file.name).read_text())['rows']
  assert not any(row['errors'] for row in rows), rows
  return rows


def rows_of_runs(case, mpi, runs):
  """One row for each algorithm and size, from the rows of several runs in the same order. `by` has one name if all runs agree."""
  found = []
  for same in zip(*runs):
    by = [row['served_by'] for row in same]
    found.append({'case': name_of(case), 'mpi': mpi, 'algorithm': same[0]['algorithm'], 'bytes': same[0]['bytes'],
                  'mpi_us': [row['mpi_us'] for row in same], 'us': [row['quadrille_us'] for row in same],
                  'by': by if len(set(by)) > 1 else by[:1], 'batches': [row['batches'] for row in same],
                  'errors': sum(row['errors'] for row in same)})
  return found


def name_of(case):
  return f'{case.title}, {case.ranks} ranks'


def shown(case):
  """The command line that the page shows."""
  bound = ' --bind-to core' if case.ranks <= processors() else ''
  settings = ' '.join(f'{name}={value}' for name, value in SETTINGS.items())
  return f'{settings} mpirun -n {case.ranks}{bound} quadrille bench {" ".join(case.command())}'


def measure_cases(options, cases):
  rows, mpis = [], {mpi[0]: mpi for mpi in mpis_at_hand(options.build) if mpi[0].startswith(MPIS)}
  for case in cases:
    options.say(name_of(case))
    turns = in_turns(mpis, options.runs, lambda name: rows_of_run(case, mpis[name]))  # pylint: disable=cell-var-from-loop
    for name, runs in turns.items():
      rows += rows_of_runs(case, name, runs)
  return {'commands': {name_of(case): shown(case) for case in cases}}, rows


# ---- The measurements ----

UNIFORM = ['--distribution', 'uniform']


def measure_small(options):
  return measure_cases(options, [Case('alltoall', 'alltoall', ranks, '8:512') for ranks in options.counts])


def measure_node(options):
  """Alltoall up to 1 MiB is measured with the figures of HINT."""
  calls = {'alltoallv': UNIFORM, 'allgather': [], 'allgatherv': UNIFORM}
  cases = [Case(call, call, ranks, '8,128,2K,32K,512K', words) for call, words in calls.items() for ranks in options.counts]
  return measure_cases(options, [Case('alltoall', 'alltoall', 2, '2M,4M'), *cases])


NEIGHBOURHOOD = ['--neighborhood', 'moore:3,1']
NEIGHBOUR_CALLS = ('neighbor_alltoall', 'neighbor_allgather')
FEWEST_FOR_MESSAGES = 8


def measure_neighbours(options):
  cases = [
    Case(call, call, ranks, '8,64,512,4K,16K,64K', NEIGHBOURHOOD)
    for call in NEIGHBOUR_CALLS
    for ranks in options.counts
  ]
  combined = [Case(f'{call}, messages only', call, ranks, '1,8,64', ['--no-node', *NEIGHBOURHOOD], ('torus', 'torus-direct'))
              for call in NEIGHBOUR_CALLS for ranks in options.counts if ranks >= FEWEST_FOR_MESSAGES]
  return measure_cases(options, cases + combined)


UNEVEN = ('spread-out', 'two-phase-bruck:radix=2', 'two-phase-bruck:radix=4', 'two-phase-bruck:radix=8', 'sloav')


def measure_uneven(options):
  words = ['--no-node', *UNIFORM]
  return measure_cases(options, [Case('alltoallv', 'alltoallv', ranks, '16:2K', words, UNEVEN) for ranks in options.counts])


# ---- The copies alone ----

ORDERS = ('row', 'column', 'morton', 'hilbert')
COPY_SIZES = '8:4K'
FAR = 64 << 30
DISTANCES = {'heaps 64 GiB apart': {'QUADRILLE_HEAP_BYTES': str(FAR)}, 'heaps as far apart as the memory is large': {}}
STARTS = {'cold caches': ['--cold'], 'warm caches': []}


def copy_words(ranks, start):
  return [
    'bench',
    '--copy-phase',
    *STARTS[start],
    '--ranks',
    str(ranks),
    '--sizes',
    COPY_SIZES,
    '--orders',
    ','.join(ORDERS),
    '--threads',
    str(processors()),
  ]


def copies_of_run(options, ranks, distance, start):
  """[(order, bytes, seconds)] of one run."""
  with tempfile.NamedTemporaryFile(suffix='.json') as file:
    command = [f'{product_of(options.build)}/bin/quadrille-lab', *copy_words(ranks, start), '--json', file.name]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | DISTANCES[distance])
    rows = json.loads(pathlib.Path(file.name).read_text())['rows']
  assert all(row['errors'] == 0 for row in rows), rows
  return [(row['order'], row['bytes'], row['us'] * 1e-6) for row in rows]


def measure_copies(options):
  rows, commands = [], {}
  for ranks in options.counts:
    cases = [(distance, start) for distance in DISTANCES for start in STARTS]
    options.say(f'copies of {ranks} ranks')
    turns = in_turns(cases, options.runs, lambda case: copies_of_run(options, ranks, *case))  # pylint: disable=cell-var-from-loop
    for (distance, start), runs in turns.items():
      case = f'{ranks} ranks, {distance}, {start}'
      before = ''.join(f'{name}={value} ' for name, value in DISTANCES[distance].items())
      commands[case] = f'{before}quadrille-lab {" ".join(copy_words(ranks, start))}'
      rows += [
        {
          'case': case,
          'order': same[0][0],
          'bytes': same[0][1],
          'us': [seconds * 1e6 for _, _, seconds in same],
          'errors': 0,
        }
        for same in zip(*runs)
      ]
  return {'commands': commands}, rows


def on_mpis(options):
  return bindings_of_mpis(options, MPIS)
