"""Parts of docs/results/between-nodes.md: the cost model compared with calls to which it was not fitted, 256 simulated nodes of 128
ranks, and the network `theta`."""

import math
import re
import statistics

from page import (KIB, NO_OTHER_WAY, NOT_MEASURED, RESULTS, SIMULATED, Claim, by_size, load, names, percent, size_text, table,
                  untold)
from theta import factor_of

STORED = RESULTS / 'between-nodes'

# ---- The cost model ----

MARGIN = 1.1  # the gain that the model must expect to replace the MPI's own algorithm


def ranks_of(values):
  order = sorted(range(len(values)), key=lambda i: values[i])
  return [order.index(i) for i in range(len(values))]


def correlation(a, b):
  """Spearman's correlation."""
  x, y = ranks_of(a), ranks_of(b)
  middle_rank = (len(x) - 1) / 2
  spread = sum((v - middle_rank) ** 2 for v in x)
  return sum((p - middle_rank) * (q - middle_rank) for p, q in zip(x, y)) / spread if spread else 1.0


def model_cases(rows):
  """{(collective, bytes): {algorithm: (measured, predicted)}}, the MPI's own among them."""
  cases, mpi = {}, {}
  for row in rows:
    key = row['collective'], row['bytes']
    case = cases.setdefault(key, {})
    mpi.setdefault(key, []).append(row['mpi_us'])
    if row['algorithm'] == 'default':
      case['mpi'] = (0, row['predicted_mpi_us'])
    elif row['by'].split(':')[0] == row['algorithm'].split(':')[0] and 'predicted_us' in row:
      case[row['algorithm']] = (row['us'], row['predicted_us'])
  for key, case in cases.items():
    case['mpi'] = (statistics.median(mpi[key]), case['mpi'][1])
  return cases


def fill_model(it):
  data = load(STORED / 'model.json')
  errors, correlations, regrets = [], [], []
  cases = model_cases(data['rows'])
  for case in cases.values():
    actual, model = [us for us, _ in case.values()], [us for _, us in case.values()]
    correlations.append(correlation(actual, model))
    regrets.append(actual[model.index(min(model))] / min(actual))
    errors += [abs(predicted / us - 1) for name, (us, predicted) in case.items() if name != 'mpi']
  chosen = [row for row in data['rows'] if row['algorithm'] == 'default']
  slow = [row for row in chosen if row['us'] / row['mpi_us'] > MARGIN]
  fit_errors = [int(number) for number in re.findall(r'median error (\d+)%', ' '.join(data['said']))]
  it.numbers(
    model_nodes=data['nodes'],
    model_here=data['ranks'] // data['nodes'],
    model_fit=fit_errors[0],
    model_fit_mpi=fit_errors[1],
    model_times=len(errors),
    model_cases=len(cases),
    model_error=percent(statistics.median(errors)),
    model_order=f'{statistics.median(correlations):.2f}',
    model_order_worst=f'{min(correlations):.2f}',
    model_regret=f'{statistics.median(regrets):.2f}',
    model_regret_worst=f'{max(regrets):.2f}',
    model_good=sum(regret <= 1.25 for regret in regrets),
    model_margin=percent(MARGIN - 1),
    model_slow=names(f'{row["collective"]} of {row["bytes"]} B ({row["us"] / row["mpi_us"]:.2f})' for row in slow),
    model_table=table(
      ['call', *dict.fromkeys(f'{row["bytes"]} B' for row in chosen)],
      [
        [name, *(f'{row["us"] / row["mpi_us"]:.2f}' for row in chosen if row['collective'] == name)]
        for name in dict.fromkeys(row['collective'] for row in chosen)
      ],
    ),
  )
  it.holds(
    'The model chooses `leaders` with one leader for all of them',
    all(row['by'].startswith('leaders:leaders=1,') for row in chosen),
  )
  it.holds('the model names a short list well, and does not replace trials',
           statistics.median(correlations) > 0.7 and max(regrets) > 1.2)


# ---- 256 nodes of 128 ranks ----

RIVALS = {'openmpi': 'Open MPI', 'mpich': 'MPICH'}
CASES = [('slingshot', 'alltoall'), ('slingshot', 'alltoallv'), ('slingshot', 'allgather'), ('slingshot:fast', 'alltoall'),
         ('slingshot:slow', 'alltoall'), ('hdr', 'alltoall')]
TARGET, SMALL = 3, KIB
# For these blocks the simulation mainly prices copies, and no measurement supports this price.
UNSUPPORTED, UNPRICED = 8, 'the price of a copied block is assumed'


class Case:
  """The simulated times of a collective on a network."""

  def __init__(self, network, collective):
    self.network, self.collective = network, collective
    self.data = load(STORED / f'scale-{network.replace(":", "-")}-{collective}.json')
    self.rows = {(row['name'], row['bytes']): row for row in self.data['rows']}
    self.sizes = sorted({size for _, size in self.rows})
    self.ours = [name for name in dict.fromkeys(name for name, _ in self.rows) if name not in RIVALS]

  def us(self, name, size):
    return self.rows[name, size].get('us', math.inf)

  def best(self, some, size):
    return min(some, key=lambda name: self.us(name, size))

  def rival(self, size):
    return self.best(list(RIVALS), size)

  def gain(self, some, size):
    """The speedup of the best of these over the faster rival."""
    return self.us(self.rival(size), size) / self.us(self.best(some, size), size)


def target_rows(cases):
  for case in cases:
    for size in (size for size in case.sizes if size <= SMALL):
      rival, ours = case.rival(size), case.best(case.ours, size)
      gain = case.gain(case.ours, size)
      said = case.rows[rival, size]['rival_says'].split(';')[0]
      verdict = untold(NOT_MEASURED, UNPRICED) if size == UNSUPPORTED else 'reached' if gain >= TARGET else 'not reached'
      yield [case.network, f'{case.collective}, {size_text(size)}', f'{RIVALS[rival]}, {said}: {case.us(rival, size):,.0f}',
             f'`{ours}`: {case.us(ours, size):,.0f}', f'{gain:.2f}', verdict]


def claims():
  alltoall, uneven = Case(*CASES[0]), Case(*CASES[1])
  leaders = [name for name in alltoall.ours if name.startswith('leaders')]
  flat = [name for name in uneven.ours if name.startswith('two-phase')]
  tuna = [name for name in uneven.ours if name.startswith('tuna')]
  wide = [size for size in uneven.sizes if size != UNSUPPORTED]
  counts = {size: alltoall.best(leaders, size).split('=')[1] for size in alltoall.sizes if UNSUPPORTED < size <= SMALL}
  gains = [(size, uneven.gain(tuna, size)) for size in wide]
  over = [(size, uneven.us('openmpi', size) / uneven.us(flat[0], size)) for size in wide]
  radices = ', '.join(f'{size_text(size)}: {uneven.best(flat, size).split("=")[1]}' for size in wide)
  li = 'Li, Zhang and Hoefler, figure 12(b)'
  yield Claim(
    li,
    'topology-aware MN-CO over MVAPICH2 with leaders below 64 bytes, 128 nodes of 24',
    '1.88',
    '-',
    untold(NOT_MEASURED, 'no rival with leaders is simulated'),
    SIMULATED,
  )
  yield Claim(
    li,
    'the same over MVAPICH2 without leaders',
    '3.81',
    f'{alltoall.gain(leaders, UNSUPPORTED):.2f}: `leaders`, 8 B',
    untold(NOT_MEASURED, UNPRICED),
    SIMULATED,
  )
  yield Claim(
    'Kinkead et al.',
    "several leaders are best for small blocks, up to 3 times the system's MPI, 32 nodes of 112 cores",
    '3',
    'best of 1, 8, 128: ' + ', '.join(f'{size_text(size)}: {count}' for size, count in counts.items()),
    untold(NO_OTHER_WAY, 'all pack the same bytes and share one adapter'),
    SIMULATED,
  )
  yield Claim(
    'Fan et al. (HPDC 2022)',
    'two-phase Bruck ahead of spread-out for small blocks, 32,768 ranks',
    'above 1',
    f'our form, which sends sizes with small data: {by_size(over)}',
    untold(NOT_MEASURED, "the paper's form"),
    SIMULATED,
  )
  yield Claim('TuNA (HPDC 2025)', 'the radix rises with the block', '-', f'best of 2, 8, 32: {radices}',
              untold(NOT_MEASURED, 'larger radices'), SIMULATED)
  yield Claim(
    'TuNA (HPDC 2025)',
    "hierarchical TuNA up to 42 and 138 times as fast as the vendor's MPI (Polaris, Fugaku)",
    '42, 138',
    f'over the faster rival: {by_size(gains)}',
    untold(NO_OTHER_WAY, 'simulated direct messages do not disturb each other'),
    SIMULATED,
  )


NEAR = 0.25


def rank_correlation(one, other):
  ranks = lambda values: {key: rank for rank, (key, _) in enumerate(sorted(values.items(), key=lambda item: item[1]))}  # noqa: E731
  a, b = ranks(one), ranks(other)
  count = len(a)
  return 1 - 6 * sum((a[key] - b[key]) ** 2 for key in a) / (count * (count * count - 1))


def fill_bed(it):
  """The accuracy of the simulation: compared with the times of hosts that one machine plays."""
  data = load(STORED / 'scale-fit.json')
  rows = data['rows']
  for name, fitted in (('fitted', True), ('judged', False)):
    errors = [abs(row['simulated_us'] / row['measured_us'] - 1) for row in rows if row['fitted'] == fitted]
    it.numbers(**{f'bed_{name}': len(errors), f'bed_{name}_near': sum(error <= NEAR for error in errors),
                  f'bed_{name}_error': percent(statistics.median(errors)), f'bed_{name}_worst': percent(max(errors))})
  orders = []
  for layout, size in dict.fromkeys((row['layout'], row['bytes']) for row in rows):
    here = [row for row in rows if (row['layout'], row['bytes']) == (layout, size)]
    orders.append(rank_correlation({row['algorithm']: row['measured_us'] for row in here},
                                   {row['algorithm']: row['simulated_us'] for row in here}))
  it.numbers(
    bed_near=percent(NEAR),
    bed_order=f'{statistics.median(orders):.2f}',
    bed_order_worst=f'{min(orders):.2f}',
    bed_orders=len(orders),
    bed_block=f'{data["network"]["copied_block"]:.0f}',
  )


def fill_scale(it):
  cases = [Case(*one) for one in CASES]
  rows = list(target_rows(cases))
  judged = [row for row in rows if row[-1] in ('reached', 'not reached')]
  alltoall, uneven = cases[0], cases[1]
  direct, packed = alltoall.rows['mpich', KIB], alltoall.rows['leaders:leaders=1', KIB]
  assumed = {case.data['network']['copied_block'] for case in cases if ':' not in case.network}
  # One node was simulated and represents all nodes.
  bytes_us = direct['bytes_between_nodes'] * alltoall.data['network']['gap_byte'] / 1000
  theta = next(way for way in load(STORED / 'theta.json')['ways'] if way['way'] == load(STORED / 'theta.json')['chosen'])
  it.numbers(
    scale_table=table(['network', 'call', 'faster rival, us', 'ours, us', 'times as fast', f'{TARGET} times?'], rows),
    scale_reached=sum(row[-1] == 'reached' for row in judged),
    scale_rows=len(judged),
    scale_target=TARGET,
    scale_block=names(f'{block:g}' for block in sorted(assumed)),
    theta_block=f'{theta["network"]["copied_block"]:.0f}',
    scale_direct=f'{direct["us"]:,.0f}',
    scale_bytes=f'{bytes_us:,.0f}',
    scale_bound=f'{direct["us"] / bytes_us:.2f}',
    scale_place=f'{KIB / packed["turns"]:.0f}',
    scale_turns=f'{packed["turns"]:.0f}',
    scale_why=next(
      row['why_not'] for row in uneven.data['rows'] if row['name'] == 'leaders:leaders=1' and 'why_not' in row
    ),
    scale_commands='\n'.join(f'    {case.data["command"]}' for case in cases[:1]),
    tuna_gain=f'{uneven.us("openmpi", 64) / uneven.us("tuna-hierarchical:radix=128", 64):.2f}',
  )


# ---- The network `theta` ----

RANGE = 1.25  # factor within which a simulated value counts as near the paper's


def factor(row):
  return factor_of(row['paper'], row['simulated'])


def way_row(way):
  cells = []
  for fitted in (True, False):
    factors = [factor(row) for row in way['rows'] if row['fitted'] == fitted]
    cells += [
      f'{sum(one <= RANGE for one in factors)} of {len(factors)}',
      f'{statistics.geometric_mean(factors):.2f}',
      f'{max(factors):.2f}',
    ]
  return [way['way'], ', '.join(f'`{name}` {way["network"][name]:g}' for name in way['fitted']), *cells]


def fill_theta(it):
  data = load(STORED / 'theta.json')
  chosen = next(way for way in data['ways'] if way['way'] == data['chosen'])
  judged = [row for row in chosen['rows'] if not row['fitted']]
  off = [row for row in judged if factor(row) > RANGE]
  two_phase = [row for row in judged if row['what'].startswith('MPI over two-phase')]
  borders = [row for row in two_phase if None in row['paper']]
  wrong = [row for row in borders if factor(row) > 1]
  late = next(row for row in judged if row['what'].startswith('two-phase, 8,192'))
  it.numbers(
    theta_fitted=len(chosen['rows']) - len(judged),
    theta_judged=len(judged),
    theta_near=len(judged) - len(off),
    theta_range=RANGE,
    theta_late=f'{late["simulated"] / late["paper"][0]:.2f}',
    theta_borders=len(borders),
    theta_right=len(borders) - len(wrong),
    theta_wrong='; '.join(row['what'].removeprefix('MPI over two-phase, ') for row in wrong),
    theta_wrong_most=f'{max(map(factor, wrong)):.2f}',
    theta_gain=f'{max(factor(row) for row in two_phase if None not in row["paper"]):.2f}',
    theta_off=len(off),
    theta_short=f'{chosen["network"]["eager"]:,g}',
    theta_byte=f'{chosen["network"]["overhead_byte"]:g}',
    theta_table=table(
      ['prices', 'fitted, ns', 'fitted within 1.25', 'mean', 'most', 'judged within 1.25', 'mean', 'most'],
      map(way_row, data['ways']),
    ),
  )
  it.holds('All are of padded Bruck with small blocks', all(row['what'].startswith('two-phase over padded') for row in off))


def fill(it):
  fill_model(it)
  fill_scale(it)
  fill_bed(it)
  fill_theta(it)


