#!/usr/bin/env python3
"""Simulates 256 nodes of 128 ranks, and judges the simulation by measured times. Writes into docs/results/between-nodes; lab/pages
writes the page.

    bench/scale.py fit         # scale-fit.json: constants of the test bed, and the times that were not fitted
    bench/scale.py simulate    # scale-NETWORK-COLLECTIVE.json, by build/bin/quadrille-lab; names select some of them:
                               # simulate scale-hdr-alltoall
"""
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'lab'))
from programs.stored import load, store  # noqa: E402  pylint: disable=wrong-import-position

STORED = ROOT / 'docs' / 'results' / 'between-nodes'
LAB = ROOT / 'build' / 'bin' / 'quadrille-lab'

# ---- The judgement ----

# The measured layouts (hosts, ranks on each), and the algorithms to whose times the constants are fitted. The others judge the fit.
BEDS = {'openmpi-16x1': (16, 1), 'openmpi-4x4': (4, 4)}
FITTED = {'two-phase-bruck:radix=2', 'spread-out', 'two-phase-bruck:radix=16', 'leaders:leaders=1', 'tuna-hierarchical:radix=2'}
# The fitted constants and their initial values, in nanoseconds. One machine with two processors plays all hosts.
START = {'latency': 20000, 'overhead': 8000, 'overhead_byte': 0.3, 'near_latency': 500, 'near_overhead': 5000, 'near_byte': 0.3,
         'copied_block': 300, 'copied_byte': 0.2, 'shared_block': 300, 'shared_byte': 0.3, 'fence': 5000, 'turn': 3000,
         'eager': 65536, 'near_eager': 4096}
# A bridge in the kernel of one machine connects the hosts: longer times are waits for processors.
MOST = {'latency': 30000}
# Other initial values: more expensive waits, and cheaper messages.
STARTS = [{}, {'turn': 20000, 'overhead': 3000}, {'turn': 10000, 'overhead': 5000, 'latency': 1000, 'near_overhead': 2000},
          {'turn': 15000, 'overhead': 8000, 'latency': 30000}]
KEPT_FIXED = {'eager', 'near_eager'}
BED = {'processors': 2, 'one_machine': 1, 'gap': 0, 'gap_byte': 0}


def measured():
  """{layout: {(algorithm, bytes): us}}, the median over the runs."""
  found = {}
  for layout in BEDS:
    rows = load(STORED / f'tuna-{layout}.json')['rows']
    found[layout] = {(row['algorithm'], row['bytes']): statistics.median(row['us']) for row in rows}
  return found


def as_it_was(algorithm):
  """At the time of these measurements data of up to 1024 bytes were sent with their sizes; today the limit is larger."""
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
  """The mean square of the logarithms of simulated over measured."""
  errors = [math.log(us / data[layout][key]) ** 2 for layout, times in there.items() for key, us in times.items()]
  return sum(errors) / len(errors)


def climb(network, data, folder):
  """Varies one constant after the other, up and down, by decreasing factors."""
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
  store(STORED / 'scale-fit.json', {'command': 'bench/scale.py fit', 'measured': [f'docs/results/between-nodes/tuna-{one}.json' for one in BEDS],
                                    'network': network}, rows)


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
# All collectives on the first network, the all-to-all on the others.
NETWORKS = ['slingshot', 'slingshot:fast', 'slingshot:slow', 'hdr']
CASES = [(NETWORKS[0], collective) for collective in OURS] + [(network, 'alltoall') for network in NETWORKS[1:]]


def path_of(network, collective):
  return STORED / f'scale-{network.replace(":", "-")}-{collective}.json'


def words_of(network, collective):
  # Only the first network has `single-copy`: it is the slowest, and takes as long as Open MPI's concurrent messages on any network.
  ours = [one for one in OURS[collective] if network == NETWORKS[0] or one != 'single-copy']
  uneven = ['--distribution', 'uniform'] if collective == 'alltoallv' else []
  return ['simulate', collective, *uneven, '--ranks', str(RANKS), '--per-node', str(HERE), '--sizes', SIZES[collective], '--network',
          network, '--algorithms', ','.join(ours)]


KEPT = ['name', 'bytes', 'us', 'turns', 'rival_says', 'why_not', 'bytes_between_nodes', 'messages_between_nodes', 'copied_bytes']
DIGITS = 7  # of simulated times, which are equal on every machine


def simulate():
  only = sys.argv[2:]
  for network, collective in CASES:
    if only and path_of(network, collective).stem not in only:
      continue
    words = words_of(network, collective)
    print('quadrille-lab ' + ' '.join(words), flush=True)
    with tempfile.TemporaryDirectory() as folder:
      subprocess.run([LAB, *words, '--json', f'{folder}/out.json'], check=True)
      whole = load(f'{folder}/out.json')
    rows = [{key: int(row[key]) if key == 'bytes' else row[key] for key in KEPT if key in row} for row in whole.pop('rows')]
    store(path_of(network, collective), {'command': 'quadrille-lab ' + ' '.join(words), **whole}, rows, DIGITS)


if __name__ == '__main__':
  {'fit': fit, 'simulate': simulate}[sys.argv[1]]()
