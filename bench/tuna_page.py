#!/usr/bin/env python3
"""Measures Bruck of any radix and its hierarchical form between hosts, and writes the page of results.

    bench/tuna_page.py measure 3    # so many runs of all layouts with each build, into docs/results/hosts/tuna, or
                                    # --stored FOLDER; what is there by the same program is not measured again
    bench/tuna_page.py write        # docs/results/tuna.md, from what is stored there
    bench/tuna_page.py check        # is the page what is stored?
"""
import json
import math
import re
import statistics

import played_hosts
import stored_page
from played_hosts import MPIS, ROOT, size_text

STORED = ROOT / 'docs' / 'results' / 'hosts' / 'tuna'
PAGE = ROOT / 'docs' / 'results' / 'tuna.md'
COALESCED = ['tuna-hierarchical:radix={}'.format(r) for r in (2, 4)]
STAGGERED = ['tuna-hierarchical:radix=4,exchange=staggered', 'tuna-hierarchical:radix=4,exchange=staggered,burst=4']
FLAT = ['two-phase-bruck:radix={}'.format(r) for r in (2, 4, 16)]
LEADERS = ['leaders:leaders=1', 'leaders:leaders=4']
# Hosts, ranks on each, algorithms.
LAYOUTS = {
    'openmpi-4x4': (4, 4, [*COALESCED, *STAGGERED, *FLAT, *LEADERS, 'mn-co']),
    'mpich-4x4': (4, 4, [*COALESCED, *STAGGERED, *FLAT, *LEADERS, 'mn-co']),
    'openmpi-2x8': (2, 8, ['tuna-hierarchical:radix=2', 'tuna-hierarchical:radix=3', 'tuna-hierarchical:radix=8',
                           'tuna-hierarchical:radix=8,exchange=staggered', *FLAT, 'leaders:leaders=1', 'leaders:leaders=8']),
    'openmpi-16x1': (16, 1, [*FLAT, 'two-phase-bruck:radix=8', 'spread-out', 'mn-co']),
    'mpich-16x1': (16, 1, [*FLAT, 'two-phase-bruck:radix=8', 'spread-out', 'mn-co']),
}
SIZES = '8,64,512,1K,8K,64K'
KEPT = ['bytes', 'algorithm', 'mpi_us', 'quadrille_us', 'quadrille_min_us', 'quadrille_p90_us', 'pair_ratio', 'batches',
        'errors']


def words_of(layout):
  hosts, here, algorithms = LAYOUTS[layout]
  blocked = ['--blocked'] if here > 1 else []
  # A list of algorithms is split at commas that a name follows.
  return (['--hosts', str(hosts), '--ranks', str(hosts * here), *blocked, '--mpi', layout.split('-')[0]],
          ['bench', 'alltoallv', '--distribution', 'uniform', '--sizes', SIZES, '--algorithms', ','.join(algorithms)])


def lacking(folder, runs, only=''):
  """(run, layout) of what is not measured yet by these programs."""
  done = played_hosts.Runs(folder)
  return [(run, layout) for run in range(1, int(runs) + 1) for layout in LAYOUTS
          if only in layout and played_hosts.is_built(mpi_of(layout))
          and not done.is_done(layout, run, played_hosts.commit_of(ROOT / 'build' / mpi_of(layout)))]


def mpi_of(layout):
  return layout.split('-')[0]


def measure(folder, runs='1', only=''):
  """So many runs of the layouts whose names have `only` in them."""
  stored = played_hosts.Runs(folder)
  for run, layout in lacking(folder, runs, only):
    mpi = mpi_of(layout)
    before, after = words_of(layout)
    command = played_hosts.shown(before, mpi, after)
    print(f'run {run}: {command}', flush=True)
    whole = played_hosts.results_of(mpi, before, after)
    stored.store(layout, run, {'command': command, **played_hosts.circumstances(mpi, whole['header'])}, whole['rows'], KEPT)


# --- The page ---


def short(algorithm):
  return algorithm.replace('tuna-hierarchical', 'tuna').replace('two-phase-bruck', 'two-phase').replace(
      'exchange=staggered', 'staggered').replace('leaders:leaders=', 'leaders:')


class Layout:
  """The runs of one layout: the ratio to the MPI's own in the same run, by size and algorithm."""

  def __init__(self, name):
    self.name = name
    files = sorted(STORED.glob(f'{name}-*.json'))
    self.runs = [json.loads(file.read_text()) for file in files]
    self.hosts, self.here, _ = LAYOUTS[name]
    self.sizes = list(dict.fromkeys(row['bytes'] for row in self.runs[0]['rows']))
    self.algorithms = list(dict.fromkeys(row['algorithm'] for row in self.runs[0]['rows']))
    if any(row['errors'] for run in self.runs for row in run['rows']):
      raise SystemExit(f'{name}: wrong bytes')

  def values(self, size, algorithm):
    return [row['pair_ratio'] for run in self.runs for row in run['rows']
            if row['bytes'] == size and row['algorithm'] == algorithm]

  def ratio(self, size, algorithm):
    return statistics.median(self.values(size, algorithm))

  def best(self, size, algorithms):
    """The algorithm with the least ratio, and all whose runs overlap with its."""
    first = min(algorithms, key=lambda a: self.ratio(size, a))
    most = max(self.values(size, first))
    return first, [a for a in algorithms if min(self.values(size, a)) <= most]

  def mpi_us(self, size):
    return statistics.median([row['mpi_us'] for run in self.runs for row in run['rows'] if row['bytes'] == size])

  def title(self):
    return f'{MPIS[self.name.split("-")[0]]}, {self.hosts} hosts of {self.here} rank{"s" if self.here > 1 else ""}'


def radix_of(algorithm):
  return int(re.search(r'radix=(\d+)', algorithm).group(1))


def flat_radices(layout):
  """Best radix by size, '64: 2 (or 4)', in brackets those whose runs overlap with the best one's; and what to say of it."""
  flat = sorted((a for a in layout.algorithms if a.startswith('two-phase')), key=radix_of)
  root = math.isqrt(layout.hosts * layout.here)
  said, radices = [], []
  for size in layout.sizes:
    first, near = layout.best(size, flat)
    radices.append([radix_of(a) for a in near])
    others = ' or '.join(str(radix_of(a)) for a in near if a != first)
    said.append(f'{size_text(size)}: {radix_of(first)}' + (f' (or {others})' if others else ''))
  ends = radix_of(flat[0]) in radices[0] and radix_of(flat[-1]) in radices[-1]
  middle = [size_text(size) for size, near in zip(layout.sizes[1:-1], radices[1:-1]) if root in near]
  # Does the radix ever have to fall as blocks grow?
  least, falls = 0, []
  for size, near in zip(layout.sizes, radices):
    rest = [r for r in near if r >= least]
    if not rest:
      falls.append(size_text(size))
    least = min(rest or near)
  if not ends:
    return said, 'disagrees'
  parts = [f'agrees at both ends; {root} at {" and ".join(middle)}' if middle else f'agrees at both ends; {root} nowhere']
  if falls:
    parts.append(f'falls again at {" and ".join(falls)}')
  return said, '; '.join(parts)


def compared(layout, one, others):
  """By size: the ratio of `one` to the best of `others`."""
  return [(size, layout.ratio(size, one) / min(layout.ratio(size, o) for o in others)) for size in layout.sizes]


def listed(pairs):
  return ', '.join(f'{size_text(size)}: {value:.2f}' for size, value in pairs)


def verdicts(layouts):
  lines = ['| claim | here | |', '|---|---|---|']
  for layout in layouts:
    if layout.here == 1:
      said, agrees = flat_radices(layout)
      lines.append('| flat: a small radix for small blocks, about sqrt(P) for middle ones, near P for large | '
                   f'{layout.title()}: best radix {"; ".join(said)} | {agrees} |')
  several = [layout for layout in layouts if layout.here > 1]
  for layout in several:
    coalesced = [a for a in layout.algorithms if a.startswith('tuna') and 'staggered' not in a]
    flat = [a for a in layout.algorithms if a.startswith('two-phase')]
    first = min(coalesced, key=lambda a: math.prod(layout.ratio(s, a) for s in layout.sizes))
    pairs = compared(layout, first, flat)
    small = [value for size, value in pairs if size <= 8192]
    lines.append(f'| hierarchical faster than flat | {layout.title()}: time of {short(first)} to that of the best two-phase: '
                 f'{listed(pairs)} | {"agrees up to 8 KiB" if max(small) < 1 else "disagrees"}'
                 f'{"" if pairs[-1][1] < 1 or max(small) >= 1 else ", not at 64 KiB"} |')
  for layout in several:
    staggered = [a for a in layout.algorithms if 'staggered' in a]
    coalesced = [staggered[0].split(',')[0]]
    pairs = compared(layout, coalesced[0], staggered)
    small = [value for size, value in pairs if size <= 8192]
    lines.append(f'| coalesced and staggered: fewer messages are better while blocks are small | {layout.title()}: time of '
                 f'coalesced to staggered: {listed(pairs)} | {"agrees" if max(small) < 1 else "disagrees"} |')
  for layout in several:
    inside = sorted((a for a in layout.algorithms if a.startswith('tuna') and 'staggered' not in a), key=radix_of)
    said = [f'{size_text(size)}: {radix_of(layout.best(size, inside)[0])}' for size in layout.sizes]
    best = [radix_of(layout.best(size, inside)[0]) for size in layout.sizes]
    as_the_node = f'disagrees: as large as the node for {"all" if set(best) == {layout.here} else "the smallest"}'
    lines.append(f'| inside the node: the radix rises with the block | {layout.title()}: best of '
                 f'{", ".join(str(radix_of(a)) for a in inside)}: {"; ".join(said)} | '
                 f'{"agrees" if best[0] < best[-1] else as_the_node if best[0] == layout.here else "disagrees"} |')
  lines.append('| up to 42 and 138 times as fast as the vendor\'s MPI (Polaris, Fugaku) | 16 ranks of one machine | cannot be '
               'tested here |')
  lines.append('| working memory for P - 1 - m blocks instead of P | proved of all P to 300 and all radices '
               '(`tests/plan/tuna_test.cpp`) | agrees |')
  return lines


def table(layout):
  lines = ['| block | the MPI\'s own, us | ' + ' | '.join(f'`{short(a)}`' for a in layout.algorithms) + ' |',
           '|---|---|' + '---|' * len(layout.algorithms)]
  for size in layout.sizes:
    cells = []
    for algorithm in layout.algorithms:
      values = layout.values(size, algorithm)
      cells.append(f'{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})')
    lines.append(f'| {size_text(size)} | {layout.mpi_us(size):.0f} | ' + ' | '.join(cells) + ' |')
  return lines


def page():
  layouts = [Layout(name) for name in LAYOUTS if list(STORED.glob(f'{name}-*.json'))]
  some = layouts[0].runs[0]
  fewest, most = min(len(layout.runs) for layout in layouts), max(len(layout.runs) for layout in layouts)
  runs = str(fewest) if fewest == most else f'{fewest} to {most}'
  text = ['# Bruck of any radix between hosts: TuNA', '',
          'Alltoallv by `two-phase-bruck` of several radices, and by `tuna-hierarchical`: Bruck\'s algorithm inside each host, then one',
          'direct exchange between hosts (Fan, Domke, Ba and Kumar, "Parameterized algorithms for non-uniform all-to-all", HPDC 2025,',
          'arXiv 2411.02581). Sizes are uniform in 0 to the block. A number is our time over the MPI\'s own in the same run, by turns:',
          f'the median of {runs} runs, in brackets the least and the largest. Written by `bench/tuna_page.py` from the files in',
          '[hosts/tuna](hosts/tuna), which hold the command lines.', '',
          f'{played_hosts.when([run for layout in layouts for run in layout.runs])}. One machine ({some["processor"]}, {some["processors"]} processors) [plays the hosts](../../tests/cluster/hosts.py): all '
          'ranks share its processors, and a message between hosts goes by TCP over a bridge. So the number of '
          'messages counts for more here than on a fast network, and a wait for one burst before the next costs more, as other '
          'ranks have the processors meanwhile.', '',
          '## Beside the paper', '', *verdicts(layouts), '',
          'Two algorithms count as equal where their runs overlap. The bounds of the classes of blocks are not the paper\'s: they '
          'move with the network.', '',
          '## Beside leaders', '',
          'Ranks of a host can share memory, which the paper does not use. There one leader of a host sends fewer messages still, '
          'and nobody passes blocks on by messages. The time of the best `tuna-hierarchical` to that of the best `leaders`:', '']
  for layout in layouts:
    if layout.here > 1:
      tuna = [a for a in layout.algorithms if a.startswith('tuna')]
      leaders = [a for a in layout.algorithms if a.startswith('leaders')]
      pairs = [(s, min(layout.ratio(s, a) for a in tuna) / min(layout.ratio(s, a) for a in leaders)) for s in layout.sizes]
      text.append(f'- {layout.title()}: {listed(pairs)}')
  text += ['', 'Where the number is below 1 it is ahead of leaders. They are ahead of it, or as fast, at all other sizes, so the first calls '
           '[try](../tuning.md#trying) leaders and not this. Where ranks can share no memory there are no leaders: there it can be '
           'forced.', '']
  for layout in layouts:
    text += [f'## {layout.runs[0]["mpi"]}, {layout.hosts} hosts of {layout.here} rank{"s" if layout.here > 1 else ""}', '',
             f'    {layout.runs[0]["command"]}', '', *table(layout), '']
  return '\n'.join(text).rstrip() + '\n'


def write():
  PAGE.write_text(page())


def check():
  stored_page.check(PAGE, page(), STORED, 'bench/tuna_page.py write')


if __name__ == '__main__':
  played_hosts.main(__doc__, STORED, measure, write, check)
