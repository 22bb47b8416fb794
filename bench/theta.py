#!/usr/bin/env python3
"""Fits constants of the network `theta` to some of the numbers that Fan et al. (HPDC 2022) publish for Theta, and judges the network by
the others. docs/results/between-nodes.md (lab/pages) shows both.

    bench/theta.py fit LAB     # docs/results/between-nodes/theta.json, by build/bin/quadrille-lab; some minutes
    bench/theta.py judge LAB   # adds the NUMBERS that the stored data lack, with the stored fit; seconds

lab/simulate/network.cpp has the same constants; tests/lab/bruck_simulated_test.cpp compares both.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'lab'))
from programs.stored import nested_text  # noqa: E402  pylint: disable=wrong-import-position

STORED = ROOT / 'docs' / 'results' / 'between-nodes' / 'theta.json'
HERE = 64  # ranks per node, as in the paper

# ---- The paper's numbers ----

# Our schedules for the paper's lines; its Cray MPI descends from MPICH, which uses this one for Alltoallv.
LINES = {'two-phase': 'two-phase-bruck:radix=2,eager=0', 'padded': 'padded-bruck:radix=2', 'MPI': 'waitall-stride:stride=32'}


def milliseconds(line, ranks, size, ms, fitted=False):
  return {'what': f'{line}, {ranks:,} ranks, N = {size}: ms', 'lines': [line], 'ranks': ranks, 'bytes': size,
          'paper': [ms, ms], 'fitted': fitted}


def faster(fast, slow, ranks, size, percent, fitted=False):
  """Both readings of "x% faster": x% more work in the same time, or x% less time."""
  return {'what': f'{slow} over {fast}, {ranks:,} ranks, N = {size}', 'lines': [fast, slow], 'ranks': ranks, 'bytes': size,
          'paper': [round(1 + percent / 100, 4), round(1 / (1 - percent / 100), 4)], 'fitted': fitted}


def as_fast(fast, slow, ranks, size, fitted=False):
  return {**faster(fast, slow, ranks, size, 0, fitted), 'paper': [1, 1]}


def border(fast, slow, ranks, size):
  """One line is faster than the other up to this size, but not at twice the size."""
  return [{**faster(fast, slow, ranks, bytes, 0), 'paper': paper} for bytes, paper in ((size, [1, None]), (2 * size, [None, 1]))]


# (ranks, largest N at which two-phase is faster than the MPI): figure 9.
BORDERS = [(256, 1024), (512, 1024), (1024, 1024), (2048, 1024), (4096, 1024), (8192, 512), (16384, 256), (32768, 128)]
# The paper's times of an Alltoallv, and its comparisons (section 4.1): in percent, and that both are equal at N = 1,024.
NUMBERS = [milliseconds('two-phase', 128, 64, 0.47, True), milliseconds('two-phase', 4096, 512, 91.6, True),
           faster('two-phase', 'MPI', 512, 256, 50.1, True), faster('two-phase', 'MPI', 8192, 64, 39.8, True),
           as_fast('two-phase', 'MPI', 4096, 1024, True),
           milliseconds('two-phase', 8192, 64, 34.2), milliseconds('padded', 4096, 512, 202.9),
           faster('two-phase', 'MPI', 1024, 256, 38.5), faster('two-phase', 'MPI', 2048, 256, 35.8),
           faster('two-phase', 'MPI', 4096, 256, 30.8), faster('padded', 'two-phase', 1024, 16, 28.7),
           faster('padded', 'MPI', 1024, 16, 60.0),
           # With 4,096 ranks, N = 1,024 is fitted.
           *(one for ranks, size in BORDERS for one in border('two-phase', 'MPI', ranks, size) if (ranks, one['bytes']) != (4096, 1024)),
           *(one for ranks in (128, 256) for one in border('padded', 'two-phase', ranks, 128))]

# ---- The fit ----

# The fitted constants with their initial values in nanoseconds, and the fixed ones. A message costs a core the same inside and outside
# of a node.
WAYS = {
    'one price for a byte': {
        'start': {'overhead': 3500, 'gap_byte': 0.3, 'copied_block': 150, 'copied_byte': 2},
        'fixed': {'overhead_byte': 0, 'eager': 8192}},
    'a price for bytes of short messages': {
        'start': {'overhead': 1600, 'overhead_byte': 40, 'copied_block': 90, 'copied_byte': 5.5},
        'fixed': {'gap_byte': 0.1, 'eager': 1024}},
}
# The largest factor from the initial values: the costs of copies and messages on a core are known within this factor.
FARTHEST = 3
CHOSEN = 'a price for bytes of short messages'


def whole(network):
  return {**network, 'near_overhead': network['overhead']}


class Simulation:
  def __init__(self, lab, folder):
    self.lab, self.folder = lab, folder
    self.assumed = self.run('theta', 'MPI', 2, 8)['network']

  def run(self, network, line, ranks, size):
    folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
    if not isinstance(network, str):
      (folder / 'network.json').write_text(json.dumps(network))
      network = folder / 'network.json'
    words = ['--agree'] if line == 'two-phase' else []
    subprocess.run([self.lab, 'simulate', 'alltoallv', '--distribution', 'uniform', '--ranks', str(ranks), '--per-node',
                    str(min(HERE, ranks)), '--sizes', str(size), '--no-rivals', *words, '--network', network,
                    '--algorithms', LINES[line], '--json', folder / 'out.json'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads((folder / 'out.json').read_text())

  def numbers(self, network, wanted):
    """The simulated value for each of the paper's numbers."""
    points = {(line, one['ranks'], one['bytes']) for one in wanted for line in one['lines']}
    # The longest simulations first.
    points = sorted(points, key=lambda point: (point[0] != 'MPI', -point[1], point[0], point[2]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
      us = dict(zip(points, pool.map(lambda point: self.run(network, *point)['rows'][0]['us'], points)))
    all_us = [[us[(line, one['ranks'], one['bytes'])] for line in one['lines']] for one in wanted]
    return [some[1] / some[0] if len(some) > 1 else some[0] / 1000 for some in all_us]


def factor_of(paper, number):
  """The distance of a number from the nearest reading; 1 between both."""
  low, high = paper
  if low is not None and number < low:
    return low / number
  return max(1, number / high) if high is not None else 1


def distance(wanted, found):
  """The mean square of the logarithms."""
  return sum(math.log(factor_of(one['paper'], number)) ** 2 for one, number in zip(wanted, found)) / len(wanted)


def climb(simulation, way):
  """Varies one constant after the other, up and down, by decreasing factors."""
  fitted = [one for one in NUMBERS if one['fitted']]
  network = {key: value for key, value in {**simulation.assumed, **way['fixed'], **way['start']}.items() if key != 'name'}
  best, step = distance(fitted, simulation.numbers(whole(network), fitted)), 1.3
  while step > 1.03:
    better = False
    for constant in way['start']:
      for factor in (step, 1 / step):
        value = min(max(network[constant] * factor, way['start'][constant] / FARTHEST), way['start'][constant] * FARTHEST)
        tried = {**network, constant: value}
        now = distance(fitted, simulation.numbers(whole(tried), fitted))
        if now < best * 0.998:
          best, network, better = now, tried, True
          break
    print(f'{step:.3f} {math.sqrt(best):.4f}', {key: float(f'{network[key]:.3g}') for key in way['start']}, flush=True)
    if not better:
      step = math.sqrt(step)
  return whole({key: float(f'{value:.3g}') if key in way['start'] else value for key, value in network.items()})


def row_of(one, number):
  return {'what': one['what'], 'paper': one['paper'], 'simulated': float(f'{number:.4g}'), 'fitted': one['fitted']}


def store(ways):
  head = {'command': 'bench/theta.py fit build/bin/quadrille-lab', 'chosen': CHOSEN}
  STORED.write_text(nested_text(head, 'ways', ways), encoding='utf-8')


def fit(lab):
  ways = []
  with tempfile.TemporaryDirectory() as name:
    simulation = Simulation(lab, pathlib.Path(name))
    for title, way in WAYS.items():
      network = climb(simulation, way)
      found = simulation.numbers(network, NUMBERS)
      rows = [row_of(one, number) for one, number in zip(NUMBERS, found)]
      ways.append({'way': title, 'fitted': list(way['start']), 'network': network, 'rows': rows})
  store(ways)


def judge(lab):
  ways = json.loads(STORED.read_text())['ways']
  with tempfile.TemporaryDirectory() as name:
    simulation = Simulation(lab, pathlib.Path(name))
    for way in ways:
      rows = {row['what']: row for row in way['rows']}
      lacking = [one for one in NUMBERS if one['what'] not in rows]
      rows |= {one['what']: row_of(one, number) for one, number in zip(lacking, simulation.numbers(way['network'], lacking))}
      way['rows'] = [rows[one['what']] for one in NUMBERS]
  store(ways)


if __name__ == '__main__':
  {'fit': fit, 'judge': judge}[sys.argv[1]](*sys.argv[2:])
