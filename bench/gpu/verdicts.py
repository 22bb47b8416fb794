"""The page of a report: the aims on a GPU and the verdicts on them, from the stored data alone."""

import math
import re

UNTOLD = 'cannot be told'


def geometric_mean(values):
  return math.exp(sum(math.log(v) for v in values) / len(values))


def is_what_it_says(row):
  """False if the machine refused pipelining: the times are then those of staging as a whole."""
  return not row['algorithm'].startswith('pipelined') or row.get('path', 'in chunks') == 'in chunks'


def rows_of(steps, name):
  """The rows of a step that succeeded with right bytes."""
  step = steps.get(name, {})
  return [row for row in step.get('rows', []) if step.get('status') == 0 and row['errors'] == 0 and is_what_it_says(row)]


def fastest_way(steps, collective, ranks):
  """The number of the MPI's fastest algorithm with device memory; None if none was tried, or none succeeded."""
  times = {}
  for name in steps:
    found = re.fullmatch(rf'way-{collective}-(\d+)-{ranks}', name)
    rows = rows_of(steps, name) if found else []
    if rows and steps[name].get('header', {}).get('device', {}).get('mpi_memory') != 'host':
      times[int(found[1])] = geometric_mean([row['mpi_us'] for row in rows])
  return min(times, key=times.get) if times else None


def were_ways_tried(steps, collective, ranks):
  return any(re.fullmatch(rf'way-{collective}-\d+-{ranks}', name) for name in steps)


def is_standin(found):
  names = [found['probe'].get('device', {}).get('name', '')]
  names += [step.get('header', {}).get('device', {}).get('name', '') for step in found['steps'].values()]
  return any(name.startswith('Stand-in') for name in names)


def counts_own_blocks(row):
  """Corrects older data, which assume that each rank's own block crosses the bus. With pipelining it is copied in the device."""
  return row.get('ceiling_by') != 'bus, without own blocks'


def part_of_bus(row, ranks):
  """The part of the bus rate, measured before the step, that a call used."""
  stays = row['algorithm'].startswith('pipelined') and counts_own_blocks(row)
  return row['ceiling_part'] * ((ranks - 1) / ranks if stays else 1)


def bus_rate(row, ranks):
  """The bus rate before the step, in bytes per microsecond, both ways together."""
  return 2 * row['bytes'] * ranks * (ranks if counts_own_blocks(row) else ranks - 1) / row['ceiling_us']


def are_one(name, other, ranks):
  """Whether two algorithms differ in their strides alone, and in both a rank has messages with all partners in flight."""
  found = [re.fullmatch(r'(.*stride=)(\d+)', one) for one in (name, other)]
  return all(found) and found[0][1] == found[1][1] and min(int(one[2]) for one in found) >= ranks - 1


def table(head, lines):
  return ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)] + [
      '| ' + ' | '.join(str(cell) for cell in line) + ' |' for line in lines] + ['']


class Page:
  def __init__(self, found):
    self.found, self.steps, self.lines = found, found['steps'], []
    self.standin = is_standin(found)

  def verdict(self, holds):
    if self.standin:
      return f'{UNTOLD}: no machine: a stand-in of a driver'
    return 'reached' if holds else 'not reached'

  def names(self, beginning):
    return [name for name in self.steps if name.startswith(beginning)]

  # ---- The aims: lines of a table ----

  def right_bytes(self):
    names = self.names('check-')
    bad = [n for n in names if self.steps[n]['status'] != 0 or any(r['errors'] for r in self.steps[n].get('rows', []))]
    if names:
      yield ['right bytes by every algorithm', f'{len(names)} runs', ', '.join(bad) or 'no failure',
             'reached' if not bad else 'not reached']

  def small(self):
    for name in self.names('small-'):
      best = {}
      for row in rows_of(self.steps, name):
        best[row['bytes']] = min(best.get(row['bytes'], math.inf), row['ratio'])
      if best:
        said = ', '.join(f'{size} B: {ratio:.2f}' for size, ratio in sorted(best.items()))
        yield [f'{name}: time beside the MPI, best algorithm', 'at most 0.5', said, self.verdict(max(best.values()) <= 0.5)]

  def large(self):
    bare = self.found['probe'].get('blocks', {})
    for name in self.names('large-'):
      for row in rows_of(self.steps, name):
        ranks = self.steps[name]['ranks']
        rate = row['bytes'] * ranks * ranks / row['quadrille_us'] * 1e-3
        copy = self.steps[name].get('header', {}).get('device', {}).get('ceilings', {}).get('device_copy_GBps')
        of_bare = f', {rate / bare[f"{ranks} ranks"]:.2f} of bare copies of such blocks' if f'{ranks} ranks' in bare else ''
        if copy:
          yield [f'{name}: {row["algorithm"]}, blocks of {row["bytes"]} B', 'at least 0.85 of a copy in the device',
                 f'{rate:.0f} GB/s, {rate / copy:.2f} of it{of_bare}', self.verdict(rate >= 0.85 * copy)]

  def staged(self):
    """Compared with the best bus rate before any of these steps: each is measured by a few copies, which may be disturbed."""
    rows = [(name, self.steps[name]['ranks'], row) for name in self.names('staged-') for row in rows_of(self.steps, name)
            if row.get('ceiling_part') is not None]
    best = max((bus_rate(row, ranks) for _, ranks, row in rows), default=0)
    for name, ranks, row in rows:
      here = part_of_bus(row, ranks)
      part = here * bus_rate(row, ranks) / best
      yield [f'{name}: {row["algorithm"]}, blocks of {row["bytes"]} B', 'at least 0.85 of the bus',
             f'{part:.2f}, {here:.2f} of what it did before this step', self.verdict(part >= 0.85)]

  def paper(self):
    for name in self.names('paper-'):
      ratios = [row['ratio'] for row in rows_of(self.steps, name) if row['algorithm'] == 'default']
      if ratios:
        gain = 1 / geometric_mean(ratios)
        yield [f'{name}: as fast as the MPI, default', 'at least 1.5', f'{gain:.2f} times', self.verdict(gain >= 1.5)]

  def compared(self, beginning, expected, is_best):
    """The time of the other variants over that of the paper's best, by the geometric mean."""
    for name in self.names(beginning):
      times = {}
      for row in rows_of(self.steps, name):
        times.setdefault(row['algorithm'], {})[row['bytes']] = row['quadrille_us']
      for best in [one for one in times if is_best(one)]:
        pattern = re.compile(re.escape(best).replace(re.escape(expected), r'\w+'))
        for other in times:
          if other == best or not pattern.fullmatch(other):
            continue
          factor = geometric_mean([times[other][size] / times[best][size] for size in times[best] if size in times[other]])
          ranks = self.steps[name]['ranks']
          verdict = (f'{UNTOLD}: could not have come out otherwise: identical with {ranks - 1} partners' if are_one(best, other, ranks)
                     else self.verdict(factor > 1))
          yield [f'{name}: {other} beside {best}', 'above 1', f'{factor:.2f} times its time', verdict]

  # ---- Parts of the page ----

  def machine(self):
    device = self.found['probe'].get('device', {})
    system = self.found['probe'].get('machine', {})
    if 'name' in device:
      self.lines += [f'{device["devices"]} x {device["name"]}, driver {device["driver"]}, {system.get("processors", "?")} '
                     f'processors.', '']
    if self.standin:
      self.lines += ['This is a stand-in of a driver: no time says anything.', '']

  def probe(self):
    if not self.found['probe']:
      return
    rows = [[name, 'refused: ' + what['refused'] if 'refused' in what else
             ', '.join(f'{key} {value}' for key, value in what.items() if '\n' not in str(value))]
            for name, what in self.found['probe'].items()]
    self.lines += ['## What there is', ''] + table(['asked for', 'found'], rows)

  def ways(self):
    rows = []
    for name in self.names('way-'):
      rows_here = rows_of(self.steps, name)
      said = ', '.join(f'{row["bytes"]} B: {row["mpi_us"]:.1f} us' for row in rows_here)
      rows.append([name, said or f'ended with {self.steps[name]["status"]}'])
    if rows:
      self.lines += ["## The MPI's ways with such memory", ''] + table(['way', 'time of a call'], rows)

  def goals(self):
    rows = [*self.right_bytes(), *self.small(), *self.large(), *self.paper(), *self.staged(),
            *self.compared('buffers-', 'kept', lambda one: 'buffers=kept' in one),
            *self.compared('strides-', '5', lambda one: one.endswith('stride=5'))]
    if rows:
      self.lines += ['## To be reached', ''] + table(['what', 'figure', 'here', 'verdict'], rows)

  def failures(self):
    rows = [[name, step['status'], step['seconds'], '<br>'.join(step.get('said', [])).replace('|', '/')]
            for name, step in self.steps.items() if step['status'] != 0]
    if rows:
      self.lines += ['## What did not end well', ''] + table(['step', 'status', 'seconds', 'its last words'], rows)

  def commands(self):
    if self.steps:
      self.lines += ['## Commands', ''] + [f'    {step["command"]}' for step in self.steps.values()] + ['']


def page(found):
  """The page as Markdown."""
  one = Page(found)
  one.lines += ['# Report on GPUs', '']
  for part in (one.machine, one.goals, one.ways, one.probe, one.failures, one.commands):
    part()
  return '\n'.join(one.lines)
