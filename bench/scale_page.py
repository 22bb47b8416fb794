#!/usr/bin/env python3
"""Simulates 256 nodes of 128 ranks, judges the simulation by times that were measured, and writes the page of results.

    bench/scale_page.py fit         # docs/results/scale/fit.json: constants of the test bed, and what was not fitted
    bench/scale_page.py simulate    # docs/results/scale/NETWORK-COLLECTIVE.json, by build/openmpi/bin/quadrille-lab; or some of them,
                                    # by their names: simulate hdr-alltoall
    bench/scale_page.py write       # docs/results/scale.md, from what is stored there
    bench/scale_page.py check       # is it that page?
"""
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import stored_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'lab'))
from programs.common import A_QUARTER  # noqa: E402  pylint: disable=wrong-import-position

STORED = ROOT / 'docs' / 'results' / 'scale'
PAGE = ROOT / 'docs' / 'results' / 'scale.md'
HOSTS = ROOT / 'docs' / 'results' / 'hosts'
LAB = ROOT / 'build' / 'openmpi' / 'bin' / 'quadrille-lab'

# ---- The judgement ----

# Layouts that were measured (hosts, ranks on each), and the algorithms whose times are fitted. The others are judged.
BEDS = {'openmpi-16x1': (16, 1), 'openmpi-4x4': (4, 4)}
FITTED = {'two-phase-bruck:radix=2', 'spread-out', 'two-phase-bruck:radix=16', 'leaders:leaders=1', 'tuna-hierarchical:radix=2'}
# What may be fitted, from where on, in nanoseconds. One machine with two processors plays all hosts.
START = {'latency': 20000, 'overhead': 8000, 'overhead_byte': 0.3, 'near_latency': 500, 'near_overhead': 5000, 'near_byte': 0.3,
         'copied_block': 300, 'copied_byte': 0.2, 'shared_block': 300, 'shared_byte': 0.3, 'fence': 5000, 'turn': 3000,
         'eager': 65536, 'near_eager': 4096}
# Between hosts there is a bridge in the kernel of one machine: what takes longer is a wait for processors.
MOST = {'latency': 30000}
# Other places to start from: where waits cost more, and messages less.
STARTS = [{}, {'turn': 20000, 'overhead': 3000}, {'turn': 10000, 'overhead': 5000, 'latency': 1000, 'near_overhead': 2000},
          {'turn': 15000, 'overhead': 8000, 'latency': 30000}]
KEPT_FIXED = {'eager', 'near_eager'}
BED = {'processors': 2, 'one_machine': 1, 'gap': 0, 'gap_byte': 0}


def measured():
  """{layout: {(algorithm, bytes): us}}, the median over the runs."""
  found = {}
  for layout in BEDS:
    times = {}
    for path in sorted((HOSTS / 'tuna').glob(f'{layout}-*.json')):
      for row in json.loads(path.read_text())['rows']:
        times.setdefault((row['algorithm'], row['bytes']), []).append(row['quadrille_us'])
    found[layout] = {key: statistics.median(runs) for key, runs in times.items()}
  return found


def as_it_was(algorithm):
  """When these times were measured, data of up to 1024 bytes travelled with their sizes; now more do."""
  carried = algorithm.split(':')[0] in ('two-phase-bruck', 'mn-co', 'tuna-hierarchical')
  return f'{algorithm}{"," if ":" in algorithm else ":"}eager=1024' if carried else algorithm


def simulated(network, layout, algorithms, sizes, folder):
  hosts, here = BEDS[layout]
  names = {as_it_was(one): one for one in algorithms}
  (folder / 'network.json').write_text(json.dumps(network))
  subprocess.run([LAB, 'simulate', 'alltoallv', '--distribution', 'uniform', '--ranks', str(hosts * here), '--per-node', str(here),
                  '--sizes', ','.join(map(str, sizes)), '--no-rivals', '--network', folder / 'network.json', '--json',
                  folder / 'out.json', '--algorithms', ','.join(names)], check=True, stdout=subprocess.DEVNULL)
  rows = json.loads((folder / 'out.json').read_text())['rows']
  return {(names[row['name']], int(row['bytes'])): row['us'] for row in rows if 'us' in row}


def all_simulated(network, data, only, folder):
  found = {}
  for layout, times in data.items():
    algorithms = sorted({name for name, _ in times if only is None or name in only})
    sizes = sorted({size for _, size in times})
    found[layout] = simulated(network, layout, algorithms, sizes, folder)
  return found


def distance(data, there):
  """The mean of squares of logarithms of simulated over measured."""
  errors = [math.log(us / data[layout][key]) ** 2 for layout, times in there.items() for key, us in times.items()]
  return sum(errors) / len(errors)


def climb(network, data, folder):
  """One constant after the other, up and down, by smaller and smaller factors."""
  best, step = distance(data, all_simulated(network, data, FITTED, folder)), 4.0
  while step > 1.05:
    better = False
    for constant in START:
      if constant in KEPT_FIXED:
        continue
      for factor in (step, 1 / step):
        tried = {**network, constant: min(network[constant] * factor, MOST.get(constant, math.inf))}
        now = distance(data, all_simulated(tried, data, FITTED, folder))
        if now < best * 0.998:
          best, network, better = now, tried, True
    if not better:
      step = math.sqrt(step)
  return best, network


def fit():
  data = measured()
  with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    found = []
    for other in STARTS:
      found.append(climb({**BED, **START, **other}, data, folder))
      print(f'from {other}: {math.sqrt(found[-1][0]):.3f}', flush=True)
    network = min(found, key=lambda one: one[0])[1]
    network = {key: float(f'{value:.4g}') for key, value in network.items()}
    there = all_simulated(network, data, None, folder)
  rows = [{'layout': layout, 'algorithm': key[0], 'bytes': key[1], 'measured_us': round(data[layout][key], 3),
           'simulated_us': round(us, 3), 'fitted': key[0] in FITTED}
          for layout, times in there.items() for key, us in sorted(times.items(), key=lambda one: (one[0][1], one[0][0]))]
  STORED.mkdir(exist_ok=True)
  text = ',\n  '.join(json.dumps(row) for row in rows)
  (STORED / 'fit.json').write_text(
      '{' + f'"command": "bench/scale_page.py fit", "measured": {json.dumps([f"docs/results/hosts/tuna/{one}-*.json" for one in BEDS])},\n'
      f' "network": {json.dumps(network)},\n "rows": [\n  {text}]' + '}\n')


# ---- The simulation ----

RANKS, HERE = 32768, 128
OURS = {
    'alltoall': ['leaders:leaders=1', 'leaders:leaders=8', 'leaders:leaders=128', 'tuna-hierarchical:radix=8',
                 'tuna-hierarchical:radix=128', 'zero-rotation-bruck:radix=2', 'zero-rotation-bruck:radix=8',
                 'zero-rotation-bruck:radix=32', 'single-copy'],
    'alltoallv': ['leaders:leaders=1', 'two-phase-bruck:radix=2', 'two-phase-bruck:radix=8', 'two-phase-bruck:radix=32',
                  'tuna-hierarchical:radix=2', 'tuna-hierarchical:radix=8', 'tuna-hierarchical:radix=128', 'sloav', 'single-copy'],
    'allgather': ['leaders:leaders=1', 'leaders:leaders=8', 'leaders:leaders=128', 'bruck:radix=2', 'bruck:radix=8',
                  'recursive-doubling', 'ring'],
}
SIZES = {'alltoall': '8,64,256,512,1K,4K', 'alltoallv': '8,64,256,512,1K,4K', 'allgather': '8,64,512,4K'}
# All collectives on the first, the all-to-all on the others.
NETWORKS = ['slingshot', 'slingshot:fast', 'slingshot:slow', 'hdr']
CASES = [(NETWORKS[0], collective) for collective in OURS] + [(network, 'alltoall') for network in NETWORKS[1:]]


def path_of(network, collective):
  return STORED / f'{network.replace(":", "-")}-{collective}.json'


def words_of(network, collective):
  # What takes longest, and on any network as long as what Open MPI sends at once, is left out of the ranges.
  ours = [one for one in OURS[collective] if network == NETWORKS[0] or one != 'single-copy']
  uneven = ['--distribution', 'uniform'] if collective == 'alltoallv' else []
  return ['simulate', collective, *uneven, '--ranks', str(RANKS), '--per-node', str(HERE), '--sizes', SIZES[collective], '--network',
          network, '--algorithms', ','.join(ours)]


def simulate():
  STORED.mkdir(exist_ok=True)
  only = sys.argv[2:]
  for network, collective in CASES:
    if only and path_of(network, collective).stem not in only:
      continue
    words = words_of(network, collective)
    print('quadrille-lab ' + ' '.join(words), flush=True)
    with tempfile.TemporaryDirectory() as folder:
      subprocess.run([LAB, *words, '--json', f'{folder}/out.json'], check=True)
      whole = json.loads(pathlib.Path(folder, 'out.json').read_text())
    rows = ',\n  '.join(json.dumps(row) for row in whole.pop('rows'))
    head = json.dumps({'command': 'quadrille-lab ' + ' '.join(words), **whole})[1:-1]
    path_of(network, collective).write_text('{' + head + ',\n "rows": [\n  ' + rows + ']}\n')


# ---- The page ----

RIVALS = {'openmpi': 'Open MPI', 'mpich': 'MPICH'}
TARGET = 3
SMALL = 1024


def stored(network, collective):
  return json.loads(path_of(network, collective).read_text())


def us_text(us):
  return f'{us:,.0f}' if us >= 100 else f'{us:.1f}'


def size_text(size):
  return f'{size // 1024} KiB' if size >= 1024 else f'{size} B'


def table(head, rows):
  return ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)] + ['| ' + ' | '.join(row) + ' |' for row in rows] + ['']


class Case:
  """What was simulated of a collective on a network."""

  def __init__(self, network, collective):
    self.whole = stored(network, collective)
    self.rows = {(row['name'], int(row['bytes'])): row for row in self.whole['rows']}
    self.names = list(dict.fromkeys(row['name'] for row in self.whole['rows']))
    self.sizes = sorted({int(row['bytes']) for row in self.whole['rows']})
    self.ours = [name for name in self.names if name not in RIVALS]

  def us(self, name, size):
    return self.rows[(name, size)].get('us', math.inf)

  def best(self, names, size):
    return min(names, key=lambda name: self.us(name, size))

  def rival(self, size):
    return self.best(list(RIVALS), size)

  def gain(self, names, size):
    """How many times as fast as the faster rival the best of these is."""
    return self.us(self.rival(size), size) / self.us(self.best(names, size), size)


def gains(case, names, most=math.inf):
  return ', '.join(f'{size_text(size)}: {case.gain(names, size):.2f}' for size in case.sizes if size <= most)


def target_rows():
  rows = []
  for network, collective in CASES:
    case = Case(network, collective)
    for size in case.sizes:
      if size > SMALL:
        continue
      rival, ours = case.rival(size), case.best(case.ours, size)
      gain = case.gain(case.ours, size)
      rows.append([network, collective, size_text(size), f'{RIVALS[rival]}: {case.rows[(rival, size)]["rival_says"].split(";")[0]}',
                   us_text(case.us(rival, size)), f'`{ours}`', us_text(case.us(ours, size)), f'{gain:.2f}',
                   'yes' if gain >= TARGET else 'no'])
  return rows


def rank_correlation(one, other):
  ranks = lambda values: {key: rank for rank, (key, _) in enumerate(sorted(values.items(), key=lambda item: item[1]))}
  a, b = ranks(one), ranks(other)
  count = len(a)
  return 1 - 6 * sum((a[key] - b[key]) ** 2 for key in a) / (count * (count * count - 1))


def judged():
  whole = json.loads((STORED / 'fit.json').read_text())
  rows, said = whole['rows'], []
  for fitted in (True, False):
    errors = [abs(row['simulated_us'] / row['measured_us'] - 1) for row in rows if row['fitted'] == fitted]
    said.append(f'{"Fitted" if fitted else "Not fitted"}: {sum(error <= 0.25 for error in errors)} of {len(errors)} times within 25%, '
                f'median error {100 * statistics.median(errors):.0f}%, largest {100 * max(errors):.0f}%.')
  orders = []
  for layout in BEDS:
    for size in sorted({row['bytes'] for row in rows if row['layout'] == layout}):
      here = [row for row in rows if row['layout'] == layout and row['bytes'] == size]
      orders.append(rank_correlation({row['algorithm']: row['measured_us'] for row in here},
                                     {row['algorithm']: row['simulated_us'] for row in here}))
  said.append(f'Order of all algorithms at a size: rank correlation {statistics.median(orders):.2f} in the median, '
              f'{min(orders):.2f} at worst, of {len(orders)} sizes and layouts.')
  lines = [f'- {one}' for one in said] + ['']
  for layout, (hosts, here) in BEDS.items():
    sizes = sorted({row['bytes'] for row in rows if row['layout'] == layout})
    names = sorted({(not row['fitted'], row['algorithm']) for row in rows if row['layout'] == layout})
    found = {(row['algorithm'], row['bytes']): row for row in rows if row['layout'] == layout}
    cells = lambda name: [f'{found[(name, size)]["simulated_us"] / found[(name, size)]["measured_us"]:.2f}'
                          if (name, size) in found else '-' for size in sizes]
    lines += [f'{hosts} hosts of {here}, simulated over measured:', '']
    lines += table(['', *map(size_text, sizes)], [[f'`{name}`' + ('' if judged_too else ' (fitted)'), *cells(name)]
                                                  for judged_too, name in names])
  lines += ['Fitted constants, in nanoseconds: ' + ', '.join(f'`{key}` {value:g}' for key, value in whole['network'].items()) + '.', '']
  return lines


# Of figure 12(b): the block here that is below 64 bytes, and the paper's number against an MPI that has no leaders.
TOPOLOGY_AWARE = (8, 3.81)


def of_leaders(gain):
  """The verdict on leaders against an MPI without; a number agrees up to a quarter more or less."""
  size, paper = TOPOLOGY_AWARE
  word = 'agrees' if paper / A_QUARTER <= gain <= paper * A_QUARTER else 'disagrees'
  return (f'{word} with the second at {size} B: {gain:.2f}, by another exchange among the leaders and on another number of nodes; the '
          'first needs an MPI with leaders, and there is none here')


def claims():
  alltoall, uneven = Case(NETWORKS[0], 'alltoall'), Case(NETWORKS[0], 'alltoallv')
  leaders = [name for name in alltoall.ours if name.startswith('leaders')]
  several = {size: alltoall.best(leaders, size).split('=')[1] for size in alltoall.sizes if size <= SMALL}
  flat = [name for name in uneven.ours if name.startswith('two-phase')]
  tuna = [name for name in uneven.ours if name.startswith('tuna')]
  by_size = lambda names: ', '.join(f'{size_text(size)}: {uneven.best(names, size).split("=")[1]}' for size in uneven.sizes)
  over = lambda first, names: ', '.join(f'{size_text(size)}: {uneven.us(first, size) / uneven.us(uneven.best(names, size), size):.2f}'
                                        for size in uneven.sizes)
  return table(['claim', 'here', ''], [
      ['Topology-aware MN-CO, which has leaders, is 1.88 times as fast as MVAPICH2 with leaders below 64 bytes, and 3.81 times as '
       'fast as without, 128 nodes of 24 (Li, Zhang and Hoefler, section 4.1.3, figure 12(b))',
       f'best `leaders` over the faster rival, which has none, alltoall: {gains(alltoall, leaders, TOPOLOGY_AWARE[0])}',
       of_leaders(alltoall.gain(leaders, TOPOLOGY_AWARE[0]))],
      ['Several leaders are best for small blocks, up to 3 times the system\'s MPI, on 32 nodes of 112 (Kinkead et al.)',
       'best number of 1, 8, 128: ' + ', '.join(f'{size_text(size)}: {count}' for size, count in several.items()),
       'the number hardly matters here: all pack the same bytes, and share one adapter'],
      ['Two-phase Bruck is ahead of spread-out for small blocks at 32,768 ranks (Fan et al., HPDC 2022)',
       f'time of Open MPI\'s, which is spread-out, over radix 2: {over("openmpi", flat[:1])}',
       'agrees for the smallest blocks alone; with 128 ranks a node it passes its bytes on through one adapter'],
      ['The radix rises with the block (TuNA, HPDC 2025)', f'best of {", ".join(n.split("=")[1] for n in flat)}: {by_size(flat)}',
       'at this number of ranks a large radix is best at all sizes'],
      ['Hierarchical TuNA is up to 42 and 138 times as fast as the vendor\'s MPI (Polaris, Fugaku)',
       f'over the faster rival, alltoallv: {gains(uneven, tuna)}',
       'not so much: in the simulation direct messages do not disturb each other'],
  ])


def page():
  lines = ['# 256 nodes of 128 ranks, by simulation', '',
           '<!-- Written by bench/scale_page.py from docs/results/scale. -->', '',
           'Nobody here has such a machine. [`quadrille-lab simulate`](../simulate.md) runs the schedules of all 32,768 ranks through a '
           'network, message by message, and beside them what Open MPI 5 and MPICH choose by themselves. Constants of the networks '
           'have sources or are assumed (`quadrille-lab simulate --list-networks`); `:fast` and `:slow` take all of them at the ends of '
           'their ranges. Every number here is from the JSON in [scale](scale), which `bench/scale_page.py simulate` makes again.', '',
           '## The target: 3 times as fast as the faster rival, up to 1 KiB', '']
  rows = target_rows()
  reached = sum(row[-1] == 'yes' for row in rows)
  lines += [f'Reached in {reached} of {len(rows)} rows.', '']
  lines += table(['network', 'collective', 'block', 'faster rival', 'us', 'ours', 'us', 'times as fast', '3 times?'], rows)
  alltoall = Case(NETWORKS[0], 'alltoall')
  direct = alltoall.rows[('mpich', 1024)]
  packed = alltoall.rows[('leaders:leaders=1', 1024)]
  # One node was simulated, which stands for all.
  bytes_us = direct['bytes_between_nodes'] * alltoall.whole['network']['gap_byte'] / 1000
  lines += [
      'Where both rivals pass blocks on by Bruck of radix 2, each byte goes through the adapters several times, and what packs for '
      'nodes wins clearly. From 257 bytes on MPICH sends each block straight to its rank. In the simulation that is hard to '
      f'beat: it takes {us_text(direct["us"])} us for 1 KiB on `{NETWORKS[0]}`, and the bytes that must leave a node keep its adapter at '
      f'work for {us_text(bytes_us)}, whatever the algorithm. So none can be more than {direct["us"] / bytes_us:.2f} times as fast there: '
      'the target is out of reach of any. On real machines '
      'so many messages at once do worse than this ([MPICH issue 7601](https://github.com/pmodels/mpich/issues/7601)); the '
      'simulation does not know why, so it does not say so.', '',
      f'At this number of ranks a place of `leaders` holds {1024 / packed["turns"]:.0f} bytes: 1 KiB goes in {packed["turns"]:.0f} '
      'turns, which costs little, as each turn still sends large messages. Blocks of an Alltoallv have no turns: '
      + next(row['why_not'] for row in stored(NETWORKS[0], 'alltoallv')['rows'] if row['name'] == 'leaders:leaders=1' and 'why_not' in row)
      + ', so there `leaders` is of no use here.', '',
      '## Beside the papers', '']
  lines += claims()
  for network, collective in CASES:
    case = Case(network, collective)
    uneven = ' (sizes uniform in 0 to the block, taken for their mean)' if collective == 'alltoallv' else ''
    lines += [f'## {collective}, `{network}`{uneven}', '', '    ' + case.whole['command'], '', 'Microseconds:', '']
    cells = lambda name: [us_text(case.us(name, size)) if math.isfinite(case.us(name, size)) else '-' for size in case.sizes]
    said = lambda name, size: case.rows[(name, size)].get('rival_says', '').split(';')[0]
    lines += table(['', *map(size_text, case.sizes)],
                   [[RIVALS[name], *(f'{cell} ({said(name, size)})' for cell, size in zip(cells(name), case.sizes))]
                    if name in RIVALS else [f'`{name}`', *cells(name)] for name in case.names])
    lines += [f'![The same as curves](scale/{path_of(network, collective).stem}.svg)', '']
  lines += ['## How good the simulation is', '',
            'Its constants were fitted to times of some algorithms on the [test bed](hosts.md) (`bench/scale_page.py fit`), '
            'where one machine of two processors plays the hosts, and the others were judged. The aim is the same order, and times '
            'within 25%. When these times were measured, data of up to 1,024 bytes travelled with their sizes, not 16 KiB as now: '
            'they are simulated as they were.', '']
  lines += judged()
  lines += ['The aim is not reached for all. What is off most: Bruck and `mn-co` of middle and large blocks, most of which take longer than '
            'simulated, and `tuna-hierarchical`, which takes less. Some constants are not told from each other by these times: a byte of a message '
            'inside a node is not free, as fitted here. On that test bed time is a matter of who gets one of two processors, and of '
            'blocks of different sizes, which the simulation takes for their mean. It says nothing of a fast network, and one '
            'adapter for 128 ranks was measured nowhere.', '']
  return '\n'.join(lines)


def write():
  PAGE.write_text(page())


def check():
  """For the tests: the page is what its JSON gives."""
  stored_page.check(PAGE, page(), STORED, 'bench/scale_page.py write')


if __name__ == '__main__':
  {'fit': fit, 'simulate': simulate, 'write': write, 'check': check}[sys.argv[1]]()
