"""Beside the papers: what Quadrille does by itself, or by an algorithm that is asked for, against the MPI, by `quadrille bench`: small
all-to-alls, all calls inside a node, neighbours, blocks of different sizes over messages; and the copies alone at 64 ranks."""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import typing

from programs.common import (Application, beyond, in_turns, launch, lines_of, number_of, processors, runs_of, speedups, spread, time_text)
from programs.hint import bindings_of_mpis, mpis_at_hand

MPIS = ('Open MPI 4.1', 'MPICH')
# What a table of this machine says must not count.
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
  """What the benchmark keeps of one run."""
  _, launcher, settings, tool = mpi
  with tempfile.NamedTemporaryFile(suffix='.json') as file:
    words = [tool, 'bench', *case.command(), '--json', file.name]
    launch('', case.ranks, words, settings | SETTINGS, launcher, bound=case.ranks <= processors())
    rows = json.loads(pathlib.Path(file.name).read_text())['rows']
  assert not any(row['errors'] for row in rows), rows
  return rows


def line_of(row):
  return 'Quadrille' if row['algorithm'] == ASKED_FOR_NOTHING else row['algorithm']


def rows_of_runs(runs):
  """The MPI's rows, and one of each algorithm, of the rows of several runs, which have the same order."""
  found = []
  for same in zip(*runs):
    size = same[0]['bytes']
    if not any(row['line'] == 'MPI' and row['bytes'] == size for row in found):
      found.append({'line': 'MPI', 'bytes': size, **spread([row['mpi_us'] * 1e-6 for row in same])})
    by = list(dict.fromkeys(row['served_by'] for row in same))
    found.append({'line': line_of(same[0]), 'bytes': size, **spread([row['quadrille_us'] * 1e-6 for row in same]), 'by': by})
  return found


def shown(case):
  """The command line, for a page."""
  bound = ' --bind-to core' if case.ranks <= processors() else ''
  settings = ' '.join(f'{name}={value}' for name, value in SETTINGS.items())
  return f'{settings} mpirun -n {case.ranks}{bound} quadrille bench {" ".join(case.command())}'


def measure_cases(options, cases):
  panels, mpis = [], {mpi[0]: mpi for mpi in mpis_at_hand(options.build) if mpi[0].startswith(MPIS)}
  for case in cases:
    options.say(f'{case.title}, {case.ranks} ranks')
    turns = in_turns(mpis, options.runs, lambda name: rows_of_run(case, mpis[name]))  # pylint: disable=cell-var-from-loop
    panels += [{'title': f'{case.title}, {case.ranks} ranks, {name}', 'x': 'bytes', 'y': 'µs a call', 'rows': rows_of_runs(runs),
                'ranks': case.ranks, 'mpi': name, 'command': shown(case)} for name, runs in turns.items()]
  return (f'Each MPI is measured with Quadrille on it: {", ".join(mpis)}. In each run both take turns in the same processes, with the same '
          'data; a time is that of the slowest rank, the median of the batches of calls, and each table has the command line of a run. A '
          'ratio is that of the two times of one run: below 1 Quadrille is faster. Ranks with a processor each are bound to it. Where ranks '
          'share processors Quadrille asks MPICH to let others run while it waits, and so makes the column of the MPI faster, too '
          '([why](../troubleshooting.md)).', panels)


# ---- Pages ----

SERVED = 'served by'


def ratios(panel, line):
  """{bytes: that line's time over the MPI's, in each run}"""
  ours, theirs = runs_of(panel, line), runs_of(panel, 'MPI')
  return {size: [mine / other for mine, other in zip(ours[size], theirs[size])] for size in ours}


def means(panel, line):
  """Over all sizes, of each run."""
  return speedups(panel, 'MPI', line)


def cells_of(panel, with_names):
  """Of each size, and of each line but the MPI's."""
  mpi = {row['bytes']: row for row in panel['rows'] if row['line'] == 'MPI'}
  of_runs = {line: ratios(panel, line) for line in lines_of(panel)}
  return [[str(row['bytes']), *([row['line']] if with_names else []), time_text(mpi[row['bytes']]), time_text(row),
           number_of(of_runs[row['line']][row['bytes']]), ' / '.join(row['by'])] for row in panel['rows'] if row['line'] != 'MPI']


def aligned(head, rows):
  """Numbers to the right; who served a call is a name, stands last, and begins where its head does."""
  widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
  lines = [[cell.ljust(width) if name == SERVED else cell.rjust(width) for name, cell, width in zip(head, row, widths)]
           for row in [head, *rows]]
  return ''.join(f'{"  ".join(line).rstrip()}\n' for line in lines)


def table(panel):
  ours = [line for line in lines_of(panel) if line != 'MPI']
  several = len(ours) > 1
  head = ['bytes', *(['algorithm'] if several else []), 'MPI', 'its time' if several else 'Quadrille', 'ratio', SERVED]
  said = []
  for line in ours:
    largest = max(statistics.median(one) for one in ratios(panel, line).values())
    said.append(f'{line} {number_of(means(panel, line))}, at one size at most {largest:.2f}')
  return (f'## {panel["title"]}\n\n    {panel["command"]}\n\n{panel["y"]}:\n\n```\n{aligned(head, cells_of(panel, several))}```\n\n'
          f'Ratio, geometric mean over the sizes: {"; ".join(said)}.\n\n')


def no_claims(_):
  return []


# ---- What is measured ----

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
  cases = [Case(call, call, ranks, '8,64,512,4K,16K,64K', NEIGHBOURHOOD) for call in NEIGHBOUR_CALLS for ranks in options.counts]
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
  return ['bench', '--copy-phase', *STARTS[start], '--ranks', str(ranks), '--sizes', COPY_SIZES, '--orders', ','.join(ORDERS), '--threads',
          str(processors())]


def copies_of_run(options, ranks, distance, start):
  """[(order, bytes, seconds)] of one run."""
  with tempfile.NamedTemporaryFile(suffix='.json') as file:
    command = [f'{options.build}/bin/quadrille-lab', *copy_words(ranks, start), '--json', file.name]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | DISTANCES[distance])
    rows = json.loads(pathlib.Path(file.name).read_text())['rows']
  assert all(row['errors'] == 0 for row in rows), rows
  return [(row['order'], row['bytes'], row['us'] * 1e-6) for row in rows]


def measure_copies(options):
  panels = []
  for ranks in options.counts:
    cases = [(distance, start) for distance in DISTANCES for start in STARTS]
    options.say(f'copies of {ranks} ranks')
    turns = in_turns(cases, options.runs, lambda case: copies_of_run(options, ranks, *case))  # pylint: disable=cell-var-from-loop
    for (distance, start), runs in turns.items():
      rows = [{'line': same[0][0], 'bytes': same[0][1], **spread([seconds for _, _, seconds in same])} for same in zip(*runs)]
      before = ''.join(f'{name}={value} ' for name, value in DISTANCES[distance].items())
      panels.append({'title': f'{ranks} ranks, {distance}, {start}', 'x': 'bytes', 'y': 'µs of the copies', 'rows': rows, 'ranks': ranks,
                     'command': f'{before}quadrille-lab {" ".join(copy_words(ranks, start))}'})
  return ('In each run the orders take turns, and so do the kinds of heaps and caches. With cold caches each rank begins with caches that '
          'hold nothing but its own buffers, as if it had a processor of its own; with warm ones the same copies are repeated, and a '
          'thread keeps what its other ranks loaded.', panels)


def copy_table(panel):
  """Without the ratios, which are among the claims."""
  sizes = sorted({row['bytes'] for row in panel['rows']})
  cells = {(row['line'], row['bytes']): time_text(row) for row in panel['rows']}
  rows = [[str(size), *(cells[line, size] for line in lines_of(panel))] for size in sizes]
  return (f'## {panel["title"]}\n\n    {panel["command"]}\n\n{panel["y"]}:\n\n```\n'
          f'{aligned(["bytes", *lines_of(panel)], rows)}```\n\n')


def copy_claims(data):
  sizes = (('8 to 512 B', lambda size: size <= 512), ('1 to 4 KiB', lambda size: size > 512))
  return [beyond(f'{panel["title"]}, {named}: time of rows over that of {order}', speedups(panel, order, 'row', where=where))
          for panel in data['panels'] for order in ORDERS[1:] for named, where in sizes]


# ---- For the front page ----

FRONT = (8, 64, 512)
FRONT_HEAD = f'{"bytes":>10} {"algorithm":<12} {"served by":<15} {"mpi us":>8} {"quadr. us":>11} {"ratio":>6} ... errors'


def front_rows(data):
  """Some columns of the benchmark's table, as the medians of the runs of Open MPI have them."""
  panel = next(one for one in data['panels'] if one['mpi'].startswith('Open MPI'))
  mpi, of_runs = {row['bytes']: row['us'] for row in panel['rows'] if row['line'] == 'MPI'}, ratios(panel, 'Quadrille')
  rows = {row['bytes']: row for row in panel['rows'] if row['line'] == 'Quadrille'}
  return [f'{size:>10} {ASKED_FOR_NOTHING:<12} {rows[size]["by"][0]:<15} {mpi[size]:>8.2f} {rows[size]["us"]:>11.2f} '
          f'{statistics.median(of_runs[size]):>6.2f} {"0":>10}' for size in FRONT]


# ---- What pages say ----


def line_of_text(text):
  return ' '.join(text.split())


ABOUT_SMALL = line_of_text("""
`Quadrille` is what it chooses by itself. Small blocks go through [inboxes](../inside-a-node.md#small-blocks-inboxes) in memory that
the ranks share.""")
ABOUT_NODE = line_of_text("""
`Quadrille` is what it chooses by itself, with nothing forced and no table; sizes of the v calls are uniform in 0 to the number of the
row. How blocks move: [inside a node](../inside-a-node.md). Alltoall of 256 B to 32 KiB is on [hint-12](hint-12.md), of 64 KiB to 1 MiB
on [hint-15](hint-15.md), of 8 to 512 B with 2 ranks on [alltoall-small](alltoall-small.md); the papers' orders of copies are on
[hint-6](hint-6.md), [hint-10](hint-10.md), [co-10](co-10.md) and [co-11](co-11.md); two builds beside each other on
[before-after](before-after.md). Large blocks are copied once, and no faster than the memory allows, for which the MPI waits as well.""")
ABOUT_NEIGHBOURS = line_of_text("""
26 neighbours on a torus of all ranks, so each rank has several edges to each other. The MPI has a communicator of
`MPI_Dist_graph_create_adjacent`, Quadrille one of `Quadrille_Iso_neighborhood_create`. `Quadrille` is what it chooses by itself. Tables
of messages only have `torus` and `torus-direct`, which [combine](../neighbours.md) blocks; inside a node they are not chosen by
themselves. The orders of copies between neighbours: [co-10-neighbors](co-10-neighbors.md) and [co-11-neighbors](co-11-neighbors.md).
Beside the paper of isomorphic neighbourhoods: [iso-2](iso-2.md), [iso-3](iso-3.md), [iso-4](iso-4.md), [iso-5](iso-5.md), over hosts
[iso-2](hosts/iso-2.md), [iso-3](hosts/iso-3.md), [iso-4](hosts/iso-4.md), [iso-5](hosts/iso-5.md); what it takes to make a communicator:
[iso-table-2](iso-table-2.md).""")
ABOUT_COPIES = line_of_text("""
The buffers of all ranks lie in one process. A line is an order of copies. All buffers begin on a page, and at the same place of each
heap. If heaps are a power of two apart, as on machines with much memory, their pages probably fall into the same sets of the TLB, as
the same blocks of page-aligned buffers do in the first cache; there are no counters on this machine to prove it. Rows touch all send
buffers in turn, a piece of a curve only some of them, so there a curve can win. Why columns are ahead of rows with some larger blocks
was not looked into.""")
ABOUT_UNEVEN = line_of_text("""
Each rank is taken for a node of its own, so all are messages, of sizes uniform in 0 to the number of the row. `sloav` is written from
the description in the paper of Fan et al., with sizes of 4 bytes and memory that is kept between calls. Its authors' program was not at
hand, so this one may be faster than theirs. Inside one machine a message costs little with some MPIs, and a round of Bruck waits for
ranks that share its processor; the tables say with which MPI and sizes Bruck is ahead. What models say at the paper's numbers of ranks: [maps](maps.md). Beside its figures, simulated
[bruck-6-simulated](bruck-6-simulated.md) and [bruck-9-simulated](bruck-9-simulated.md), and measured [bruck-6](bruck-6.md) and
[bruck-9](bruck-9.md); over hosts [tuna](tuna.md) and [between nodes](between-nodes.md).""")


def on_mpis(options):
  return bindings_of_mpis(options, MPIS)


APPLICATIONS = [
    Application('alltoall-small', 'Small all-to-alls on one node', '', ABOUT_SMALL, measure_small, no_claims, bindings=on_mpis,
                table=table),
    Application('inside-a-node', 'Inside a node', '', ABOUT_NODE, measure_node, no_claims, bindings=on_mpis, table=table),
    Application('neighbours', 'Neighbour collectives', '', ABOUT_NEIGHBOURS, measure_neighbours, no_claims, bindings=on_mpis, table=table),
    Application('copy-phase', 'The copy phase alone: orders of copies', '', ABOUT_COPIES, measure_copies, copy_claims,
                alone='the ranks are played by one process with as many threads as processors', bindings=lambda options: {},
                table=copy_table),
    Application('uneven-data', 'Uneven data: Alltoallv over messages', '', ABOUT_UNEVEN, measure_uneven, no_claims, bindings=on_mpis,
                table=table)]
