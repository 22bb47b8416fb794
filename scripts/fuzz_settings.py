"""What scripts/fuzz.py draws for a seed: ranks, settings of Quadrille, arguments of the program."""

import json
import random
import subprocess

# Known defects of the MPIs, which are not ours to find. A name is an argument of --skip (tests/fuzz/communicators.hpp);
# the program then leaves out of a call that the MPI itself may carry out what is named.
_EVERYWHERE = {
    'pairs': 'the two neighbours of a periodic dimension of 1 or 2 processes are mixed up',
    'gatherv-types': 'MPI_Allgatherv chooses its algorithm by what one rank alone knows: other types, other algorithm',
    'lone-w': 'MPI_Alltoallw of one rank ignores the displacements',
    'empty-types': 'types without data against a count of zero: some ranks take part and others do not',
    'gaps': 'types with gaps: the MPI writes into the gaps, or outside of the buffer',
    'uneven-types': 'different types on the ranks: they choose different algorithms',
}
DEFECTS = {
    'openmpi': {**_EVERYWHERE,
                'nonblocking': 'nonblocking collectives hang and crash, alone and beside other calls'},
    'openmpi-5': {**_EVERYWHERE, 'started-in-place': 'MPI_Ialltoallw in place delivers other bytes',
                  'lone-started': 'MPI_Iallgather of one rank forgets where in a type the data begin'},
    'mpich': {**_EVERYWHERE, 'testall': 'MPI_Testall of a persistent collective says that its status has an error'},
    'intel-mpi-2021': {**_EVERYWHERE, 'persistent': 'MPI_Allgather_init: the second start delivers nothing',
                       'nonblocking': 'MPI_Iallgatherv hangs',
                       'inter': 'over shared memory nothing arrives on an intercommunicator if one of its groups has '
                                'more communicators than the other, which ours can bring about; MPI_Alltoallv there '
                                'delivers wrong bytes where some ranks send nothing'},
}

# Known defects of Quadrille itself: to be mended, then to be taken from this list.
OWN_DEFECTS = {}

# A tuning table that run_case() draws: this and its seed.
DRAWN_TABLE = 'drawn table '

# Settings that an MPI needs for reasons that have nothing to do with the calls.
MPI_SETTINGS = {
    # open-mpi/ompi issue 13918: MPI_Dist_graph_create shares tags with nonblocking collectives.
    'openmpi': {'OMPI_MCA_topo': '^treematch', 'OMPI_MCA_btl_base_warn_component_unused': '0'},
}


def algorithms(tool):
  """collective -> [(name, parameters)]"""
  listed = json.loads(subprocess.run([str(tool), 'list', '--json'], check=True, capture_output=True, text=True).stdout)
  by_collective = {}
  for algorithm in listed:
    for collective in algorithm['collectives']:
      if collective not in ('exchange', 'neighbor_allgatherw'):
        by_collective.setdefault(collective, []).append((algorithm['name'], algorithm['parameters']))
  return by_collective


def draw_value(draw, parameter):
  if 'names' in parameter:
    return draw.choice(parameter['names'])
  least, most = parameter['least'], parameter['most']
  return draw.choice([least, min(most, least + 1), min(most, least + draw.randrange(8)), parameter['standard'],
                      draw.randint(least, min(most, max(least, 64))), most])


def draw_algorithms(draw, by_collective):
  collectives = sorted(by_collective)
  chosen = []
  for collective in draw.sample(collectives, draw.randint(1, len(collectives))):
    name, parameters = draw.choice(by_collective[collective])
    values = [f'{p["name"]}={draw_value(draw, p)}' for p in parameters if draw.random() < 0.6]
    chosen.append(f'{collective}={name}' + (':' + ','.join(values) if values else ''))
  return ';'.join(chosen)


def draw_ways(draw):
  ways = ['heap', 'xpmem', 'cma', 'cma-read', 'cma-write', 'ring']
  return ','.join(draw.sample(ways, draw.randint(1, 4)))


def draw_settings(draw, by_collective):
  """QUADRILLE_... of one seed."""
  settings = {}

  def now_and_then(chance, name, value):
    drawn = value()  # as many numbers in every case
    if draw.random() < chance:
      settings[name] = str(drawn)

  now_and_then(0.75, 'QUADRILLE_SETUP_AFTER', lambda: draw.choice([0, 0, 3]))
  now_and_then(0.5, 'QUADRILLE_EXPLAIN', lambda: 1)
  now_and_then(0.25, 'QUADRILLE_NODES', lambda: draw.choice(
      ['blocked:2', 'blocked:3', 'roundrobin:2', 'roundrobin:3', 'ragged:1,3', 'ragged:2,1',
       f'permuted:{draw.randrange(100)}']))
  now_and_then(0.35, 'QUADRILLE_REACH', lambda: draw_ways(draw))
  now_and_then(0.35, 'QUADRILLE_ALGORITHM', lambda: draw_algorithms(draw, by_collective))
  now_and_then(0.3, 'QUADRILLE_HEAP', lambda: draw.choice(['off', 'early']))
  now_and_then(0.25, 'QUADRILLE_HEAP_FROM', lambda: draw.choice(['1', '512', '4K', '64K', '1M']))
  now_and_then(0.15, 'QUADRILLE_HEAP_BYTES', lambda: draw.choice(['64K', '1M', '8M', '256M']))
  now_and_then(0.25, 'QUADRILLE_TRIALS', lambda: draw.choice(['on', 'on', 'learn', 'off']))
  now_and_then(0.2, 'QUADRILLE_INBOX', lambda: draw.choice([0, 1, 8, 48, 100, 1000, 4096, 1000000]))
  now_and_then(0.25, 'QUADRILLE_STREAM', lambda: draw.choice(['off', 'on', 1, 10000, 1000000]))
  now_and_then(0.1, 'QUADRILLE_CHECK', lambda: 1)
  now_and_then(0.1, 'QUADRILLE_TOPOLOGY', lambda: draw.choice(
      ['package:2 numa:1 core:4 pu:1', 'package:4 numa:1 core:2 pu:1']))
  now_and_then(0.1, 'QUADRILLE_MPI_WAITS', lambda: 'keep')
  now_and_then(0.7, 'QUADRILLE_TUNING', lambda: 'none')
  now_and_then(0.15, 'QUADRILLE_TUNING', lambda: f'{DRAWN_TABLE}{draw.randrange(10**9)}')
  now_and_then(0.15, 'QUADRILLE_PROGRESS', lambda: 'thread')
  now_and_then(0.2, 'QUADRILLE_HEAP_PAGES', lambda: draw.choice(['huge', 'small']))
  return settings


def serves_all(settings):
  """Is every blocking call of several ranks on one node Quadrille's own?"""
  forced = settings.get('QUADRILLE_ALGORITHM', '')
  # What is too large for the slots of a forced `inbox` goes to the MPI, and what a forced order of copies cannot serve,
  # because ranks do not map each other's heaps.
  if settings.get('QUADRILLE_HEAP') == 'off' and ('=hint-' in forced or '=sh-' in forced):
    return False
  return (settings.get('QUADRILLE_SETUP_AFTER') == '0' and 'QUADRILLE_NODES' not in settings
          and not settings.get('QUADRILLE_TUNING', '').startswith(DRAWN_TABLE)
          and 'QUADRILLE_REACH' not in settings and settings.get('QUADRILLE_INBOX') != '0'
          and '=mpi' not in forced and '=inbox' not in forced)


# MPIs whose progress engine calls Quadrille, so that it can serve requests (docs/requests.md).
WITH_PROGRESS_HOOK = ('openmpi', 'openmpi-5', 'mpich')


def serves_requests(mpi, settings, threads):
  """Is every request on a communicator that is ready for it Quadrille's own, where serves_all()?"""
  goes_on = mpi in WITH_PROGRESS_HOOK or (settings.get('QUADRILLE_PROGRESS') == 'thread' and threads)
  # A nonblocking call cannot look whether sizes are equal, nor make the memory of leaders.
  return goes_on and 'QUADRILLE_CHECK' not in settings and 'leaders' not in settings.get('QUADRILLE_ALGORITHM', '')


class Case:
  """One run of the program."""

  def __init__(self, mpi, seed, ranks, settings, arguments):
    self.mpi, self.seed, self.ranks, self.settings, self.arguments = mpi, seed, ranks, settings, arguments

  def words(self):
    """One line of tests/fuzz/kept_seeds.txt."""
    return json.dumps({'mpi': self.mpi, 'seed': self.seed, 'ranks': self.ranks, 'settings': self.settings,
                       'arguments': self.arguments})


def read_case(line):
  read = json.loads(line)
  return Case(read['mpi'], read['seed'], read['ranks'], read['settings'], read['arguments'])


def draw_case(mpi, seed, by_collective, steps, most_ranks):
  draw = random.Random(f'{mpi} {seed}')
  ranks = min(draw.choice([1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 7, 8, 9]), most_ranks)
  settings = draw_settings(draw, by_collective)
  arguments = ['--steps', str(steps)]
  if draw.random() < 0.2:
    arguments.append('--threads')
  if serves_all(settings):
    arguments.append('--served')
    if serves_requests(mpi, settings, '--threads' in arguments):
      arguments.append('--served-requests')
  arguments += ['--bytes', str(draw.choice([200_000, 1_000_000, 1_000_000, 4_000_000]))]
  return Case(mpi, seed, ranks, settings, arguments)
