"""docs/results/gpu.md: one GPU that all ranks share (h100-*.json), and figure 6 of Namugwanya et al. (gpu-6-*.json)."""

import sys

from page import (KIB, MEASURED, MIB, NO_MACHINE, NOT_MEASURED, RESULTS, ROOT, Claim, Page, load, mean, middle, names,
                  percent, ratios_text, size_text, span, table, untold, us_text)

sys.path.insert(0, str(ROOT / 'bench' / 'gpu'))
import verdicts  # noqa: E402  pylint: disable=wrong-import-position

STORED = RESULTS / 'gpu'
RANKS = (2, 4, 8)
PAPER = 'Namugwanya et al., figure {}'


def stored(name):
  return load(STORED / f'h100-{name}.json')


class Report:
  """The data from bench/gpu/gpu_report.py."""

  def __init__(self, name):
    self.found = stored(name)
    self.steps = self.found['steps']

  def names(self, beginning):
    return [name for name in self.steps if name.startswith(beginning)]

  def rows(self, beginning, ranks=None, **wanted):
    return [row for name in self.names(beginning) if ranks in (None, self.steps[name]['ranks'])
            for row in verdicts.rows_of(self.steps, name) if all(row[key] == value for key, value in wanted.items())]

  def us(self, beginning, whose='quadrille', **wanted):
    return [row[f'{whose}_us'] for row in self.rows(beginning, **wanted)]

  def device(self, name):
    return self.steps[name]['header']['device']

  def times(self, name):
    """{algorithm: {bytes: row}}"""
    found = {}
    for row in verdicts.rows_of(self.steps, name):
      found.setdefault(row['algorithm'], {})[row['bytes']] = row
    return found


# ---- Calls ----


def small_rows(report, mpi):
  for name in report.names('small-'):
    call, ranks = name.split('-')[1:]
    chosen = report.rows(name, algorithm='default')
    yield [mpi, call, ranks, span([row['mpi_us'] for row in chosen]), span([row['quadrille_us'] for row in chosen]),
           ratios_text([row['ratio'] for row in chosen], 3), span(report.us(name, algorithm='ipc-pull'))]


def fill_small(it, report, other):
  for ranks in RANKS:
    it.numbers(**{f'pull_{ranks}': span(report.us('small-', ranks=ranks, algorithm='ipc-pull'))})
  mpi = {row['bytes']: row['mpi_us'] for row in report.rows('small-alltoall-8', algorithm='default')}
  crashed = [step for name, step in report.steps.items() if name.startswith('way-') and step['status']]
  failed = other.steps['paper-alltoallv-4']
  it.numbers(
    mpi=report.steps['check-alltoall-4']['header']['mpi'].replace(' v', ' '),
    intel=other.steps['small-alltoallv-4']['header']['mpi'],
    crash=names(sorted({str(step['status']) for step in crashed})),
    ways=len(report.names('way-')),
    crashed=len(crashed),
    mpi_4k=us_text(mpi[4 * KIB]),
    mpi_less=span([us for size, us in mpi.items() if size < 4 * KIB]),
    failed=f'{failed["seconds"]:.0f}',
    small_table=table(
      ['MPI', 'call', 'ranks', 'MPI, us', 'Quadrille, us', 'ratio', '`ipc-pull` without leaders, us'],
      [*small_rows(report, 'Open MPI'), *small_rows(other, 'Intel MPI')],
    ),
  )
  it.holds(
    'Only `pairwise` of Alltoallv survives',
    {name for name in report.names('way-') if report.steps[name]['status'] == 0}
    == {f'way-alltoallv-2-{ranks}' for ranks in RANKS},
  )
  it.holds('Alltoall is compared with the MPI over the host', {'host'} == {
      report.device(name)['mpi_memory'] for beginning in ('small-alltoall-', 'large-') for name in report.names(beginning)})
  it.holds(
    '`ipc-pull` with one leader serves all calls of these tables',
    {
      row.get('served_by')
      for row in [
        *report.rows('small-', algorithm='default'),
        *report.rows('large-', algorithm='default'),
        *other.rows('small-', algorithm='default'),
      ]
    }
    == {'ipc-pull:leader=1'},
  )


def fill_paper_sizes(it, report):
  mpi = {row['bytes']: row['mpi_us'] for row in report.rows('paper-', ranks=8, algorithm='default')}
  ours = {row['bytes']: row['quadrille_us'] for row in report.rows('paper-', ranks=4, algorithm='default')}
  for ranks in RANKS:
    chosen = report.rows('paper-', ranks=ranks, algorithm='default')
    it.numbers(**{f'gain_{ranks}': f'{1 / mean([row["ratio"] for row in chosen]):.0f}'})
  it.numbers(paper_sizes=f'{size_text(min(mpi))} to {size_text(max(mpi))}', mpi_512k=f'{mpi[512 * KIB] / 1000:.1f}',
             mpi_2m=f'{mpi[2 * MIB] / 1000:.1f}', ours_512k=us_text(ours[512 * KIB]))
  it.holds('longer than blocks of 2 MiB', ours[512 * KIB] > ours[2 * MIB])


def fill_large(it, report):
  lines = []
  for name in report.names('large-'):
    row, ranks = report.rows(name, algorithm='default')[0], report.steps[name]['ranks']
    rate = row['bytes'] * ranks ** 2 / row['quadrille_us'] * 1e-3
    lines.append(
      [
        size_text(row['bytes'] * ranks**2),
        ranks,
        size_text(row['bytes']),
        us_text(row['mpi_us']),
        us_text(row['quadrille_us']),
        f'{rate:,.0f}',
        f'{rate / report.device(name)["ceilings"]["device_copy_GBps"]:.2f}',
      ]
    )
  it.numbers(
    large_table=table(['in all', 'ranks', 'block', 'MPI, us', 'Quadrille, us', 'GB/s', 'part of one copy'], lines),
    copy_bytes=names(
      sorted({size_text(report.device(name)['ceilings']['copy_bytes']) for name in report.names('large-')})
    ),
  )


def fill_staged(it, report):
  rows = [(report.steps[name]['ranks'], row) for name in report.names('staged-') for row in report.rows(name)]
  best = max(verdicts.bus_rate(row, ranks) for ranks, row in rows)
  parts = {(ranks, row['algorithm'].split(':')[0]): [] for ranks, row in rows}
  for ranks, row in rows:
    parts[ranks, row['algorithm'].split(':')[0]].append(
      (verdicts.part_of_bus(row, ranks) * verdicts.bus_rate(row, ranks) / best, row['ratio'])
    )
  of = {name: [one for (_, algorithm), some in parts.items() for one in some if algorithm == name]
        for name in ('pipelined-copy-to-cpu', 'copy-to-cpu')}
  late = [row['quadrille_p99_us'] / row['quadrille_us'] for _, row in rows if row['algorithm'] == 'pipelined-copy-to-cpu']
  it.numbers(
    piped_part=ratios_text([part for part, _ in of['pipelined-copy-to-cpu']]),
    piped_ratio=ratios_text([ratio for _, ratio in of['pipelined-copy-to-cpu']]),
    whole_part=ratios_text([part for part, _ in of['copy-to-cpu']]),
    whole_ratio=ratios_text([ratio for _, ratio in of['copy-to-cpu']]),
    late=ratios_text(late, 1),
  )


def fill_chunks(it):
  data = stored('chunks')
  runs = {}
  for row in data['rows']:
    runs.setdefault(row['run'], []).append(row)
  smaller, gains = [], []
  for run in list(runs)[:3]:
    us = {(row['bytes'], row['chunk'], row['depth']): row['us'] for row in runs[run]}
    least = 64 * MIB if runs[run][0]['ranks'] == 2 else 2 * MIB
    for size in {size for size, _, _ in us if size >= least}:
      usual = us[size, 2 * MIB, 4]
      smaller.append(us[size, 512 * KIB, 4] / usual)
      gains += [1 - us[size, chunk * MIB, 4] / usual for chunk in (4, 8)]
  again = [row for row in runs[3] if row['chunk'] == 2 * MIB]
  apart = [
    max(of) / min(of) - 1
    for of in ([row['us'] for row in again if row['bytes'] == size] for size in {row['bytes'] for row in again})
  ]
  it.numbers(chunks_512k=ratios_text(smaller), chunks_gain=percent(max(gains), 1), depths_apart=percent(max(apart), 1),
             least_depth=min(row['depth'] for row in again), most_depth=max(row['depth'] for row in again))
  it.holds('Blocks of 128 KiB are faster over the MPI', all(
      row['mpi_us'] < row['us'] for run in list(runs)[:3] for row in runs[run] if row['bytes'] == 128 * KIB))
  it.code('So 2 MiB is the default', 'src/plan/chunks.hpp', 'least_suiting_chunk, 2 * MiB)')


def fill_buffers(it, report):
  of = 'copy-to-cpu:inner=waitany-stride,stride=5,buffers='
  found = {report.steps[name]['ranks']: report.times(name) for name in report.names('buffers-')}
  us = {
    ranks: {
      kind: {size: row['quadrille_us'] for size, row in times[of + kind].items()}
      for kind in ('kept', 'fresh', 'pageable')
    }
    for ranks, times in found.items()
  }
  means = [mean([one['fresh'][size] / kept for size, kept in one['kept'].items()]) for one in us.values()]

  def beside(kind, wanted):
    return [one[kind][size] / kept for one in us.values() for size, kept in one['kept'].items() if wanted(size)]

  large = [*beside('fresh', lambda size: size >= 512 * KIB), *beside('pageable', lambda size: size >= 512 * KIB)]
  mpi = {ranks: times[of + 'kept'][8 * MIB]['mpi_us'] for ranks, times in found.items()}
  it.numbers(
    kept_mean=ratios_text(means, 1),
    kept_large=ratios_text(large, 1),
    fresh_small=ratios_text(beside('fresh', lambda size: size <= 32 * KIB)),
    pageable_8k=ratios_text(beside('pageable', lambda size: size == 8 * KIB), 1),
    kept_8m=ratios_text([one['kept'][8 * MIB] / mpi[ranks] for ranks, one in us.items()], 1),
    other_8m=ratios_text(
      [one[kind][8 * MIB] / mpi[ranks] for ranks, one in us.items() for kind in ('fresh', 'pageable')], 1
    ),
  )
  it.holds('From 512 KiB on it is ahead at every size', min(large) > 1)


def fill_strides(it, report):
  us = {name: {size: row['quadrille_us'] for size, row in rows.items()} for name, rows in report.times('strides-4').items()}
  host = 'copy-to-cpu:inner=waitany-stride,stride='
  one, usual = us['waitany-stride:stride=1'], us['waitany-stride:stride=5']
  it.numbers(one_at_a_time=ratios_text([one[size] / usual[size] for size in usual], 1),
             host_mean=f'{mean([us[host + "1"][size] / us[host + "5"][size] for size in us[host + "5"]]):.2f}')


# ---- The driver ----


def fill_copies(it):
  rows = stored('copies')['rows']
  small = [row['kernel'] for row in rows if row['run'] in 'ABC' and row['bytes'] <= 32 * KIB and 'kernel' in row]
  at_4k = [row for row in rows if row['run'] in 'ABC' and (row['ranks'], row['bytes']) == (8, 4 * KIB)]
  last = [row for row in rows if row['bytes'] * row['ranks'] ** 2 >= 256 * MIB]
  d_1m = {row['ranks']: row for row in rows if row['run'] == 'D' and row['bytes'] == MIB}
  graph = [row['graph'] for row in rows if (row['ranks'], row['bytes']) == (8, 4 * MIB)]
  copies = 8 ** 2
  it.numbers(
    copies_8=copies,
    kernel_small=f'{min(small):.0f} to {max(small):.0f}',
    graph_a_copy=ratios_text([row['graph'] / copies for row in at_4k if 'graph' in row]),
    batch_a_copy=ratios_text([row['batch'] / copies for row in at_4k if 'batch' in row], 1),
    graph_large=ratios_text([row['graph'] / row['plain'] for row in last]),
    kernel_large=ratios_text([(row['kernel'] / row['plain'] - 1) * 100 for row in last if row['run'] == 'D'], 0),
    d_1m=f'{us_text(d_1m[4]["kernel"])} and {us_text(d_1m[8]["kernel"])}',
    graph_1m=f'{us_text(d_1m[4]["graph"])} and {us_text(d_1m[8]["graph"])}',
    bc_1m=names(
      span([row['kernel'] for row in rows if row['run'] in 'BC' and (row['ranks'], row['bytes']) == (ranks, MIB)])
      for ranks in (4, 8)
    ),
    graph_rate=span([256 * MIB / us * 1e-3 for us in graph]),
  )
  it.code('From the eighth such call on', 'src/memory/device_batch.hpp', 'before_graph = 8;')
  it.code('its list has pieces of 16 KiB', 'src/memory/device_pieces.cpp', 'at_a_time = std::size_t{most_threads} * at_once * 16,')


def fill_layout(it, report):
  data = stored('layout')
  seen = data['seen']
  now = report.times(f'paper-alltoallv-{seen["ranks"]}')['default'][seen['block_MiB'] * MIB]['quadrille_us']
  rows = {(row['ranks'], row['block_MiB'], row['more_bytes']): row for row in data['rows'] if row['run'] == 0}
  more = {
    (ranks, block): [rows[ranks, block, 8 * KIB][by] / rows[ranks, block, 0][by] for by in ('graph', 'kernel')]
    for ranks, block, _ in rows
  }
  slow = [(8, 8), (8, 16)]
  longer = [rows[8, 8, 8 * KIB][by] - rows[8, 8, 0][by] for by in ('graph', 'kernel')]
  it.numbers(
    seen_us=us_text(seen['call_us']),
    seen_now=us_text(now),
    more_slow=ratios_text([one for point in slow for one in more[point]]),
    more_else=ratios_text([one for point, of in more.items() if point not in slow for one in of]),
  )
  it.holds(
    'The place of its buffers probably explains more than half of that',
    min(longer) > (seen['call_us'] - now) / 2 and (seen['ranks'], seen['block_MiB']) == (8, 8),
  )


def fill_waits(it):
  rows = {row['what']: row for row in stored('waits')['rows']}
  gap, copy, turn = (next(row['us'] for what, row in rows.items() if words in what)
                     for words in ('gap between two copies', 'a copy of a batch', 'behind another rank'))
  leaders = [row for what, row in rows.items() if what.startswith('leader,')]
  small, large = rows['chunks of 512 KiB over the host'], rows['chunks of 2048 KiB over the host']
  it.numbers(
    batch_gap=gap,
    batch_copy=copy,
    batch_idle=percent(gap / (gap + copy)),
    turn=turn,
    no_call=span([100 * row['no_call_part'] for row in leaders], lambda value: f'{value:.0f}'),
    busy_512k=percent(small['busy_part']),
    busy_2m=percent(large['busy_part']),
  )
  it.holds('each copy of 2 MiB is faster than four of 512 KiB', all(
      large[f'{way}_median_us'] < 4 * small[f'{way}_median_us'] for way in ('to_host', 'to_device')))


def fill_program(it):
  data = stored('fft2d')
  it.numbers(fft2d_size=data['size'].replace('x', 'by'), fft2d_ranks=data['ranks'], fft2d_table=table(
      ['staged by', 'command', 'there and back, ms', 'all-to-all in it, ms'],
      [[row['algorithm'], f'`{row["command"]}`', row['round_trip_ms'], row['alltoall_ms']] for row in data['rows']]))


def fill_one_gpu(it):
  report, other = Report('openmpi'), Report('intel')
  page = verdicts.Page(report.found)
  goals = [*page.right_bytes(), *page.small(), *page.large(), *page.paper(), *page.staged(),
           *page.compared('buffers-', 'kept', lambda one: 'buffers=kept' in one),
           *page.compared('strides-', '5', lambda one: one.endswith('stride=5'))]
  checks = [row for name in report.names('check-') for row in report.steps[name]['rows']]
  device = report.found['probe']['device']
  it.numbers(
    device=f'{device["devices"]} x {device["name"]}',
    driver=device['driver'],
    cpu=report.steps['check-alltoall-4']['header']['cpu'],
    processors=report.found['probe']['machine']['processors'],
    check_sizes=len({row['bytes'] for row in checks}),
    check_calls=len(report.names('check-')),
    goals_table=table(['what', 'aim', 'here', 'verdict'], goals),
    command=report.steps['small-alltoall-4']['command'],
  )
  it.holds(
    'without a wrong byte',
    not any(row['errors'] for step in [*report.steps.values(), *other.steps.values()] for row in step.get('rows', [])),
  )
  it.holds('All aims are reached but those of `copy-to-cpu`', all(
      ': copy-to-cpu' in name for name, _, _, verdict in goals if verdict == 'not reached'))
  it.holds('It has one GPU', device['devices'] == 1)
  fill_small(it, report, other)
  for part in (fill_paper_sizes, fill_large, fill_staged, fill_buffers, fill_strides, fill_layout):
    part(it, report)
  for part in (fill_chunks, fill_copies, fill_waits, fill_program):
    part(it)


# ---- Figure 6 ----


def us_of(rows, point, label):
  for row in rows:
    if (row['ranks'], row['size']) == point and label in ('mpi', row['algorithm']):
      return row['mpi_us' if label == 'mpi' else 'quadrille_us']
  return None


def here_of(data, claim):
  """The number of a run, by the geometric mean; None if a point of the claim was not measured."""
  plot = data['plots'][claim['plot']]
  points = [
    (ranks, size)
    for ranks in plot['ranks_of_paper']
    if claim['ranks'][0] <= ranks <= claim['ranks'][1]
    for size in plot['sizes']
  ]
  sides = [[[us_of(plot['rows'], point, label) for label in claim[side]] for point in points] for side in ('slow', 'fast')]
  if any(us is None for side in sides for times in side for us in times):
    return None
  return mean([min(slow) / min(fast) for slow, fast in zip(*sides)])


def figure_claims(runs):
  for c, claim in enumerate(runs[0]['claims']):
    assert claim['compare'] == 'mean'
    here = [number for number in (here_of(data, data['claims'][c]) for data in runs) if number is not None]
    # Every run has also stored its own verdicts.
    said = [data['claims'][c]['here'] for data in runs if data['claims'][c]['here'] is not None]
    assert len(here) == len(said) and all(abs(one / other - 1) < 0.002 for one, other in zip(here, said)), claim['text']
    words = {claim['agrees_from'] <= one <= (claim['agrees_to'] or float('inf')) for one in here}
    verdict = (
      untold(NOT_MEASURED, f'with {claim["ranks"][1]} ranks')
      if not here
      else untold('the runs differ')
      if len(words) > 1
      else 'agrees'
      if True in words
      else 'disagrees'
    )
    if claim['text'].startswith('(not in the paper)'):
      verdict = 'no number to compare with'
    yield Claim(
      PAPER.format(6), claim['text'], claim['paper'], ', '.join(f'{one:.2f}' for one in here) or '-', verdict, MEASURED
    )


def fill_figures(it):
  runs = [load(path) for path in sorted(STORED.glob('gpu-6-*.json'))]
  lines = []
  labels = [line['label'] for line in runs[0]['plots'][0]['lines']]
  points = sorted(
    {(row['size'], row['ranks']) for data in runs for plot in data['plots'] for row in plot['rows']}, reverse=True
  )
  for size, ranks in points:
    of = [
      plot['rows']
      for data in runs
      for plot in data['plots']
      if any((row['size'], row['ranks']) == (size, ranks) for row in plot['rows'])
    ]
    lines.append(
      [
        size_text(size),
        ranks,
        *(middle([us_of(rows, (ranks, size), label) / 1000 for rows in of], 1) for label in labels),
      ]
    )
  measured = sorted({ranks for size, ranks in points if size == points[0][0]})
  it.numbers(figure_processors=names(sorted({str(data['processors']) for data in runs})), figure_most=size_text(points[0][0]),
             figure_ranks=names(map(str, measured)), figure_commands='\n'.join(f'    {command}' for command in dict.fromkeys(
                 data['command'] for data in runs)), figure_table=table(['a rank sends', 'ranks', *labels], lines))
  others = [
    Claim(PAPER.format(number), 'all claims: one rank a GPU', '-', '-', untold(NO_MACHINE))
    for number in range(1, 11)
    if number != 6
  ]
  it.claim_table('claims_table', [*figure_claims(runs), *others])


def page():
  it = Page('gpu')
  fill_one_gpu(it)
  fill_figures(it)
  return it

