"""docs/results/between-nodes.md: Quadrille's choice between hosts that one machine plays, and TuNA; simulated.py has the rest."""

import math
import re
import statistics

import picture
import simulated
from page import (
  AT_THIS_SCALE,
  KIB,
  NO_MACHINE,
  NOT_MEASURED,
  RESULTS,
  Claim,
  Page,
  by_size,
  judged,
  load,
  mean,
  measured_on,
  middle,
  near,
  ratios_text,
  reached,
  size_text,
  table,
  untold,
)

STORED = RESULTS / 'between-nodes'
MPIS = {'openmpi': 'Open MPI', 'mpich': 'MPICH'}
LAYOUTS, FLAT = ('4x4', '2x8', '4x8'), '16x1'
COLLECTIVES = ('alltoall', 'alltoallv', 'allgather', 'allgatherv')


def ratio(row):
  return statistics.median(ratios(row))


def ratios(row):
  return [ours / theirs for ours, theirs in zip(row['us'], row['mpi_us'])]


class Layout:
  """The runs of one layout with one MPI: Quadrille's choice, and on hosts of one rank also two forced algorithms."""

  def __init__(self, mpi, name):
    self.mpi, self.name = mpi, name
    self.data = load(STORED / f'chosen-{mpi}-{name}.json')
    self.rows = self.data['rows']
    assert not any(row['errors'] for row in self.rows), f'{mpi}, {name}: wrong bytes'

  def chosen(self, collectives, least=0, most=math.inf, algorithm='default'):
    return [
      row
      for row in self.rows
      if row['collective'] in collectives and row['algorithm'] == algorithm and least <= row['bytes'] <= most
    ]


def is_noise(row):
  """Whether the MPI serves both calls and the runs disagree on the slower one."""
  here = ratios(row)
  return row['by'] == ['mpi'] and (len(here) == 1 or min(here) <= 1 <= max(here))


def short(served_by):
  kept = re.sub(r',(exchange=spread-out|group=1048576|order=row|piece=\d+|radix=2|stride=5)', '', served_by)
  return kept.replace('leaders:leaders=', 'leaders, ')


# ---- Aims ----

# (collectives, least size, most size, aim of each MPI): geometric means over the layouts
AIMS = [(['alltoall'], 8, KIB, {'openmpi': 0.25, 'mpich': 0.5}), (['alltoall'], 8 * KIB, 8 * KIB, {'openmpi': 0.6}),
        (['alltoallv'], 8, KIB, {'openmpi': 0.3, 'mpich': 0.55}),
        (['allgather', 'allgatherv'], 8, KIB, {'openmpi': 0.5, 'mpich': 0.5})]
MOST = 1.05
# With one rank per host: the largest size of the aim for Open MPI, and the largest size at which mn-co must be faster than spread-out.
FLAT_AIMS, FLAT_MN_CO = [('alltoallv', 256, 0.7), ('alltoall', 512, 1.0)], 200


def sizes_text(least, most):
  return size_text(most) if least == most else f'{size_text(least)} to {size_text(most)}'


def aim_rows(layouts):
  for collectives, least, most, aims in AIMS:
    for mpi, aim in aims.items():
      values = [ratio(row) for layout in layouts if layout.mpi == mpi for row in layout.chosen(collectives, least, most)]
      yield [f'{" and ".join(collectives)}, {sizes_text(least, most)}, {MPIS[mpi]}', f'at most {aim}',
             f'{near(mean(values), aim)} ({min(values):.2f} to {max(values):.2f})', reached(mean(values) <= aim)]


def row_of_most(mpi, layouts):
  """Whether a row is above the limit. A row no farther above than the noise is within the noise."""
  rows = [(layout.name, row) for layout in layouts for row in layout.chosen(COLLECTIVES)]
  noise = [ratio(row) for _, row in rows if is_noise(row)]
  above = [(name, row) for name, row in rows if not is_noise(row) and ratio(row) > MOST]
  said = '; '.join(f'{row["collective"]}, {size_text(row["bytes"])}, {name}: {near(ratio(row), max([MOST, *noise]))} by '
                   f'{" / ".join(map(short, row["by"]))}' for name, row in above)
  within = bool(above) and bool(noise) and max(ratio(row) for _, row in above) <= max(noise)
  span = f'; noise {ratios_text(noise)}' if noise else ''
  return [
    f'no row slower, {MPIS[mpi]}',
    f'at most {MOST}',
    (said or 'none') + span,
    'within the noise' if within else reached(not above),
  ]


def flat_rows(layout):
  for collective, most, aim in FLAT_AIMS:
    worst = max(layout.chosen([collective], most=most), key=ratio)
    noise = is_noise(worst)
    verdict = 'within the noise' if noise and ratio(worst) > aim >= 1 else reached(ratio(worst) <= aim)
    yield [f'{collective}, up to {most} B, one rank a host, Open MPI', f'at most {aim} at every size',
           f'{near(ratio(worst), aim)} at most' + (' by mpi, with runs on both sides of 1' if noise else ''), verdict]
  for collective in ('alltoall', 'alltoallv'):
    forced = zip(*(layout.chosen([collective], most=FLAT_MN_CO, algorithm=name) for name in ('mn-co', 'spread-out')))
    behind = [one['bytes'] for one, other in forced if ratio(one) >= ratio(other)]
    yield [f'{collective}, up to {FLAT_MN_CO} B, one rank a host, {MPIS[layout.mpi]}', '`mn-co` ahead of `spread-out`',
           f'behind at {behind} B' if behind else 'ahead at every size', reached(not behind)]


# ---- Beside the papers ----

LI = 'Li, Zhang and Hoefler, figure 12({})'
FAN = 'Fan et al. (HPDC 2022), figure 6'


def gains(rows):
  """The MPI's time over ours in each run, by the geometric mean over the rows."""
  return [mean([row['mpi_us'][run] / row['us'][run] for row in rows]) for run in range(len(rows[0]['us']))] if rows else []


def straight_leaders(layouts):
  """The gain in each run below 64 bytes, in rows with leaders that send directly."""
  rows = [row for layout in layouts for row in layout.chosen(['alltoall'], most=63)]
  rows = [row for row in rows if all(re.match(r'leaders:.*exchange=spread-out', by) for by in row['by'])]
  return gains(rows)


def claims_of_chosen(layouts, flat):
  for layout in flat:
    said = f'{MPIS[layout.mpi]}, 16 hosts of one rank'
    small, larger = (
      gains(layout.chosen(['alltoall'], 1, KIB - 1, 'mn-co')),
      gains(layout.chosen(['alltoall'], KIB, KIB, 'mn-co')),
    )
    yield Claim(LI.format('a'), 'MN-CO without leaders over MVAPICH2 below 1 KiB, 256 nodes of one rank', '2.23',
                f'{middle(small)}: `mn-co`, {said}', judged('2.23', small), AT_THIS_SCALE)
    yield Claim(LI.format('a'), 'it is worse for larger blocks', 'below 1', f'{middle(larger)}: `mn-co`, {said}, 1 KiB',
                judged('below 1', larger), AT_THIS_SCALE)
    ours = [row for row in layout.chosen(['alltoallv']) if all(by.startswith('two-phase-bruck') for by in row['by'])]
    yield Claim(
      FAN,
      'two-phase Bruck ahead of the MPI up to N = 1,024 and not above, 256 to 4,096 ranks',
      'above 1',
      f'{middle(gains(ours))}: our form, which sends sizes with small data, {said}, N = {ours[0]["bytes"]} to {ours[-1]["bytes"]}',
      untold(NOT_MEASURED, "neither the paper's form nor N above 1,024"),
    )
  for mpi, name in MPIS.items():
    here = straight_leaders([layout for layout in layouts if layout.mpi == mpi])
    yield Claim(
      LI.format('b'),
      'MN-CO with leaders over MVAPICH2 without below 64 bytes, 128 nodes of 24',
      '3.81',
      f'{middle(here)}: leaders that send straight to each other, {name}, 8 B',
      untold(NOT_MEASURED, 'MN-CO with leaders'),
    )
    yield Claim(
      LI.format('b'), 'the same over MVAPICH2 with leaders', '1.88', '-', untold(NOT_MEASURED, f'{name} has no leaders')
    )
  leaders = [by for layout in layouts for row in layout.chosen(['alltoall'], most=8 * KIB - 1)
             for by in (row['by'] * 3 if len(row['by']) == 1 else row['by']) if by.startswith('leaders')]
  one = sum('leaders=1' in re.split('[:,]', by) for by in leaders)
  yield Claim(
    'Kinkead et al.',
    "several leaders are best for small blocks, up to 3 times the system's MPI, 32 nodes of 112 cores",
    '3',
    f'one leader is chosen in {one} of {len(leaders)} cases below 8 KiB',
    untold(NOT_MEASURED, 'one and several side by side'),
  )


# ---- TuNA ----

TUNA = ('openmpi-4x4', 'mpich-4x4', 'openmpi-2x8', 'openmpi-16x1', 'mpich-16x1')
FAN_TUNA = 'TuNA (HPDC 2025)'


class TunaRuns:
  """Our time over the MPI's in the same run, by size and algorithm."""

  def __init__(self, name):
    self.data = load(STORED / f'tuna-{name}.json')
    self.mpi, self.hosts, self.here = MPIS[name.split('-')[0]], *map(int, name.split('-')[1].split('x'))
    self.sizes = list(dict.fromkeys(row['bytes'] for row in self.data['rows']))
    self.algorithms = list(dict.fromkeys(row['algorithm'] for row in self.data['rows']))
    self.of = {(row['bytes'], row['algorithm']): row['ratio'] for row in self.data['rows']}
    assert not any(row['errors'] for row in self.data['rows']), f'{name}: wrong bytes'

  def ratio(self, size, algorithm):
    return statistics.median(self.of[size, algorithm])

  def named(self, beginning, without='\n'):
    return [one for one in self.algorithms if one.startswith(beginning) and without not in one]

  def best(self, size, algorithms):
    """The algorithm with the smallest ratio, and all whose runs overlap with its runs."""
    first = min(algorithms, key=lambda one: self.ratio(size, one))
    most = max(self.of[size, first])
    return first, [one for one in algorithms if min(self.of[size, one]) <= most]

  def beside(self, some, others):
    """{size: the best of some over the best of others}."""
    return [
      (size, min(self.ratio(size, one) for one in some) / min(self.ratio(size, one) for one in others))
      for size in self.sizes
    ]

  def title(self):
    return f'{self.mpi}, {self.hosts} x {self.here}'


def radix_of(algorithm):
  return int(re.search(r'radix=(\d+)', algorithm)[1])


def flat_radices(layout):
  """The best radix by size, with those in brackets whose runs overlap with the best one's, and a verdict."""
  flat = sorted(layout.named('two-phase'), key=radix_of)
  root = math.isqrt(layout.hosts * layout.here)
  said, radices = [], []
  for size in layout.sizes:
    first, near_it = layout.best(size, flat)
    radices.append([radix_of(one) for one in near_it])
    others = ' or '.join(str(radix_of(one)) for one in near_it if one != first)
    said.append(f'{size_text(size)}: {radix_of(first)}' + (f' (or {others})' if others else ''))
  ends = radix_of(flat[0]) in radices[0] and radix_of(flat[-1]) in radices[-1]
  middle_sizes = [size_text(size) for size, near_it in zip(layout.sizes[1:-1], radices[1:-1]) if root in near_it]
  verdict = 'disagrees'
  if ends:
    verdict = (
      f'agrees at both ends; {root} at {" and ".join(middle_sizes)}'
      if middle_sizes
      else f'agrees at both ends; {root} nowhere'
    )
  return '; '.join(said), verdict


def hierarchical(layout):
  """The best coalesced algorithm compared with the best flat one."""
  coalesced = layout.named('tuna', without='staggered')
  first = min(coalesced, key=lambda one: math.prod(layout.ratio(size, one) for size in layout.sizes))
  pairs = layout.beside([first], layout.named('two-phase'))
  is_ahead = max(value for size, value in pairs if size <= 8 * KIB) < 1
  more = '' if pairs[-1][1] < 1 or not is_ahead else ', not at 64 KiB'
  return f'time beside flat: {by_size(pairs)}', ('agrees up to 8 KiB' if is_ahead else 'disagrees') + more


def coalesced_or_staggered(layout):
  staggered = [one for one in layout.algorithms if 'staggered' in one]
  pairs = layout.beside([staggered[0].split(',')[0]], staggered)
  return f'coalesced over staggered: {by_size(pairs)}', 'agrees' if max(
    value for size, value in pairs if size <= 8 * KIB
  ) < 1 else 'disagrees'


def radix_inside(layout):
  inside = sorted(layout.named('tuna', without='staggered'), key=radix_of)
  best = [radix_of(layout.best(size, inside)[0]) for size in layout.sizes]
  said = ', '.join(f'{size_text(size)}: {radix}' for size, radix in zip(layout.sizes, best))
  if best[0] < best[-1]:
    return said, 'agrees'
  as_the_node = f'disagrees: as large as the node for {"all" if set(best) == {layout.here} else "the smallest"}'
  return said, as_the_node if best[0] == layout.here else 'disagrees'


def claims_of_tuna(layouts):
  flat, several = ([one for one in layouts if (one.here == 1) == is_flat] for is_flat in (True, False))
  parts = [(flat, 'flat: a small radix for small blocks, about sqrt(P) for middle ones, near P for large', flat_radices),
           (several, 'hierarchical faster than flat', hierarchical),
           (several, 'coalesced and staggered: fewer messages are better while blocks are small', coalesced_or_staggered),
           (several, 'inside the node: the radix rises with the block', radix_inside)]
  for some, text, look in parts:
    for layout in some:
      said, verdict = look(layout)
      yield Claim(FAN_TUNA, text, '-', f'{layout.title()}: {said}', verdict, AT_THIS_SCALE)
  yield Claim(
    FAN_TUNA, "up to 42 and 138 times as fast as the vendor's MPI (Polaris, Fugaku)", '42, 138', '-', untold(NO_MACHINE)
  )
  yield Claim(FAN_TUNA, 'working memory for P - 1 - m blocks instead of P', '-',
              'proved for all P to 300 and all radices (`tests/plan/tuna_test.cpp`)', 'agrees', 'proved')


# ---- The page ----


def summary(layouts, flat):
  """The geometric means over the layouts, and over the sizes of a column."""
  columns = [(8, KIB), (8 * KIB, 8 * KIB), (64 * KIB, 64 * KIB), (256 * KIB, 256 * KIB)]
  rows = []
  for collective in COLLECTIVES:
    for mpi in MPIS:
      of = [
        [ratio(row) for layout in layouts if layout.mpi == mpi for row in layout.chosen([collective], *ends)]
        for ends in columns
      ]
      rows.append([collective, MPIS[mpi], *(f'{mean(values):.2f} ({ratios_text(values)})' for values in of)])
  flat_table = [
    [
      collective,
      MPIS[layout.mpi],
      *(
        ratios_text([ratio(row) for row in layout.chosen([collective], algorithm=name)])
        for name in ('default', 'mn-co', 'spread-out')
      ),
    ]
    for layout in flat
    for collective in ('alltoall', 'alltoallv')
  ]
  return (table(['call', 'MPI', *(sizes_text(*ends) for ends in columns)], rows),
          table(['call', 'MPI', 'chosen', '`mn-co`', '`spread-out`'], flat_table))


def drawn(layouts):
  """The geometric mean over the layouts, by block size."""
  panels = {}
  for mpi, name in MPIS.items():
    of = [layout for layout in layouts if layout.mpi == mpi]
    sizes = [row['bytes'] for row in of[0].chosen(['alltoall'])]
    panels[name] = {
      collective: [
        (size, mean([ratio(row) for layout in of for row in layout.chosen([collective], size, size)])) for size in sizes
      ]
      for collective in COLLECTIVES
    }
  return picture.ratios_by_size(
    "time over the MPI's", panels, [8, 64, 512, 8 * KIB, 64 * KIB, 256 * KIB], [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 1.25]
  )


def page():
  it = Page('between-nodes')
  layouts = [Layout(mpi, name) for mpi in MPIS for name in LAYOUTS]
  flat = [Layout(mpi, FLAT) for mpi in MPIS]
  tuna = [TunaRuns(name) for name in TUNA]
  some, heads = layouts[0].data, [layout.data for layout in [*layouts, *flat]]
  chosen_table, flat_table = summary(layouts, flat)
  several = [layout for layout in tuna if layout.here > 1]
  beside_leaders = {layout.title(): layout.beside(layout.named('tuna'), layout.named('leaders')) for layout in several}
  behind = [value for pairs in beside_leaders.values() for _, value in pairs if value < 1]
  it.numbers(
    measured=measured_on(heads),
    tuna_measured=measured_on([layout.data for layout in tuna]),
    processor=some['processor'],
    processors=some['processors'],
    runs=len(some['rows'][0]['us']),
    command=some['commands'][0],
    tuna_command=tuna[0].data['commands'][0],
    chosen_table=chosen_table,
    flat_table=flat_table,
    aims_table=table(
      ['what', 'aim', 'here', ''],
      [
        *aim_rows(layouts),
        *(row_of_most(mpi, [one for one in layouts if one.mpi == mpi]) for mpi in MPIS),
        *flat_rows(flat[0]),
      ],
    ),
    leaders_list='\n'.join(f'- {title}: {by_size(pairs)}' for title, pairs in beside_leaders.items()),
  )
  it.holds('`leaders` are ahead, or as fast, but in one case', len(behind) == 1 and behind[0] > 0.9)
  it.holds('Alltoallv of 64 KiB and more is made by the MPI itself', all(
      row['by'] == ['mpi'] for layout in layouts for row in layout.chosen(['alltoallv'], 64 * KIB)))
  small = [by for layout in layouts for row in layout.chosen(COLLECTIVES, most=8 * KIB) for by in row['by']]
  it.holds('Up to 8 KiB `leaders` serves nearly all rows', sum(by.startswith('leaders') for by in small) > 0.9 * len(small))
  it.claim_table('claims_table', [*claims_of_chosen(layouts, flat), *claims_of_tuna(tuna), *simulated.claims()])
  it.pictures['between-nodes.svg'] = drawn(layouts)
  simulated.fill(it)
  return it
