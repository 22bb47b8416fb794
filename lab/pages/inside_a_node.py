"""docs/results/inside-a-node.md: calls, neighbours and uneven data compared with the MPI, orders of copies alone, the costs of set-up,
memory and recording, and programs."""

import re
import statistics

import picture
from page import KIB, RESULTS, ROOT, Page, load, mean, measured_on, middle, names, ratios_text, size_text, table

STORED = RESULTS / 'inside-a-node'


def stored(name):
  return load(STORED / f'{name}.json')


# ---- Calls compared with the MPI ----


def ratios(row):
  return [ours / theirs for ours, theirs in zip(row['us'], row['mpi_us'])]


def ratio(row):
  return statistics.median(ratios(row))


def means(rows):
  """The geometric mean over the sizes in each run."""
  return [mean([ratios(row)[run] for row in rows]) for run in range(len(rows[0]['us']))]


def groups(rows, *keys):
  found = {}
  for row in rows:
    found.setdefault(tuple(row[key] for key in keys), []).append(row)
  return found


def sizes_of(rows):
  sizes = [row['bytes'] for row in rows]
  return f'{size_text(min(sizes))} to {size_text(max(sizes))}'


def served(rows):
  return ', '.join(f'`{by}`' for by in dict.fromkeys(re.split('[:,]', by)[0] for row in rows for by in row['by']))


def chosen_table(*files):
  """Quadrille's choice: a row for each call, number of ranks and MPI."""
  lines = []
  for rows in (data['rows'] for data in files):
    for (case, mpi, algorithm), some in groups(rows, 'case', 'mpi', 'algorithm').items():
      if algorithm == 'default':
        lines.append([case, mpi, sizes_of(some), middle(means(some)), f'{max(map(ratio, some)):.2f}', served(some)])
  return table(['call', 'MPI', 'blocks', 'mean ratio', 'largest', 'served by'], lines)


def forced_table(data):
  """Forced algorithms: the mean and the largest ratio with each MPI."""
  found = groups([row for row in data['rows'] if row['algorithm'] != 'default'], 'case', 'algorithm')
  mpis = list(dict.fromkeys(row['mpi'] for row in data['rows']))
  lines = []
  for (case, algorithm), some in found.items():
    of = [[row for row in some if row['mpi'] == mpi] for mpi in mpis]
    lines.append([case, f'`{algorithm}`', *(f'{middle(means(rows))}, at most {max(map(ratio, rows)):.2f}' for rows in of)])
  return table(['call', 'algorithm', *mpis], lines)


def front_rows(data):
  """Columns of the benchmark that README may quote: the medians of the runs with Open MPI."""
  for row in data['rows']:
    if row['mpi'].startswith('Open MPI') and row['bytes'] in (8, 64, 512):
      yield (f'{row["bytes"]:>10} {"default":<12} {row["by"][0]:<15} {statistics.median(row["mpi_us"]):>8.2f} '
             f'{statistics.median(row["us"]):>11.2f} {ratio(row):>6.2f} {"0":>10}').strip()


def drawn(data):
  """The ratios of the calls on 2 and 8 ranks, by block size."""
  panels = {}
  for (case, mpi), rows in groups(
    [row for row in data['rows'] if not row['case'].startswith('alltoall,')], 'case', 'mpi'
  ).items():
    panels.setdefault(mpi, {})[case] = [(row['bytes'], ratio(row)) for row in rows]
  sizes = sorted({row['bytes'] for row in data['rows'] if row['bytes'] < 1 << 20})
  return picture.ratios_by_size("time over the MPI's", panels, sizes, [1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1])


def fill_calls(it):
  small, calls, neighbours, uneven = (stored(name) for name in ('small', 'calls', 'neighbours', 'uneven'))
  assert not any(row['errors'] for data in (small, calls, neighbours, uneven) for row in data['rows'])
  heads = (small, calls, neighbours, uneven)
  it.pictures['inside-a-node.svg'] = drawn(calls)
  means_of = {
    (mpi, algorithm): statistics.median(means(rows))
    for (mpi, algorithm), rows in groups(uneven['rows'], 'mpi', 'algorithm').items()
  }
  reach, distance = map(int, re.search(r'moore:(\d+),(\d+)', neighbours['commands']['neighbor_alltoall, 8 ranks']).groups())
  it.numbers(
    edges=(2 * distance + 1) ** reach - 1,
    measured=measured_on(heads),
    cpu=small['cpu'],
    processors=small['processors'],
    kernel=small['kernel'],
    caches=' / '.join(small['caches']),
    clock=small['clock'],
    runs=small['runs'],
    chosen=chosen_table(small, calls),
    command=calls['commands']['alltoallv, 8 ranks'],
    neighbours=chosen_table(neighbours),
    combined=forced_table(neighbours),
    neighbours_command=neighbours['commands']['neighbor_alltoall, 8 ranks'],
    uneven=forced_table(uneven),
    uneven_command=next(iter(uneven['commands'].values())),
  )
  it.holds(
    'On MPICH two-phase Bruck is ahead of the MPI in the mean, on Open MPI it is not',
    all(
      (value < 1) == mpi.startswith('MPICH')
      for (mpi, algorithm), value in means_of.items()
      if algorithm.startswith('two-phase')
    ),
  )
  it.holds('No row of these tables is slower than the MPI', all(
      ratio(row) <= 1 for data in (small, calls, neighbours) for row in data['rows'] if row['algorithm'] == 'default'))
  text = (ROOT / 'README.md').read_text(encoding='utf-8')
  rows = [line.strip() for line in text.splitlines() if re.match(r' +\d+ default ', line)]
  assert set(rows) <= set(front_rows(small)), 'README has rows of the benchmark that small.json does not have'


# ---- The copies alone ----


def fill_copies(it):
  data = stored('copy-phase')
  parts = {'8 to 512 B': lambda size: size <= 512, '1 to 4 KiB': lambda size: size > 512}
  lines = []
  for (case,), some in groups(data['rows'], 'case').items():
    us = {(row['order'], row['bytes']): row['us'] for row in some}
    cells = []
    for order in ('column', 'morton', 'hilbert'):
      for inside in parts.values():
        of = [(us['row', size], us[order, size]) for one, size in us if one == order and inside(size)]
        cells.append(middle([mean([rows[run] / other[run] for rows, other in of]) for run in range(data['runs'])]))
    lines.append([case.removeprefix(f'{data["ranks"]} ranks, '), *cells])
  it.numbers(copy_ranks=data['ranks'], copy_command=next(iter(data['commands'].values())), copies=table(
      ['heaps, caches', *(f'{order}, {part}' for order in ('column', 'morton', 'hilbert') for part in parts)], lines))


# ---- The costs of Quadrille ----


def us_of(values):
  value = statistics.median(values)
  return f'{value / 1000:,.1f} ms' if value >= 1000 else f'{value:.0f} us' if value >= 100 else f'{value:.2f} us'


def fill_costs(it):
  heap, setup, recording = stored('heap-cost'), stored('setup-cost'), stored('recording-cost')
  ranks = list(dict.fromkeys(row['ranks'] for row in setup['rows']))
  of = {(row['what'], row['line'], row['ranks']): row['us'] for row in setup['rows']}
  lines = [[what, *(f'{us_of(of[what, "MPI", count])}, {us_of(of[what, "Quadrille", count])}' for count in ranks)]
           for what in dict.fromkeys(row['what'] for row in setup['rows'])]
  ns = {(row['blocks'], row['heap'], row['bytes']): statistics.median(row['ns']) for row in heap['rows']}
  heaps, blocks = (
    list(dict.fromkeys(row['heap'] for row in heap['rows'])),
    list(dict.fromkeys(row['blocks'] for row in heap['rows'])),
  )
  heap_lines = [[size_text(size), *(f'{ns[count, one, size]:,.1f}' for count in blocks for one in heaps)]
                for size in dict.fromkeys(row['bytes'] for row in heap['rows'])]
  records = {row['program']: row for row in recording['rows']}
  it.numbers(
    costs_measured=measured_on([heap, setup, recording]),
    costs_runs=names(sorted({str(one['runs']) for one in (heap, setup, recording)})),
    setup=table(['', *(f'{count} ranks' for count in ranks)], lines),
    heap=table(
      ['block', *(f'{one}, {count} block{"s" if count > 1 else ""}' for count in blocks for one in heaps)], heap_lines
    ),
    recording=table(
      ['program', 'calls', 'ns a call', '% of the time'],
      [[f'`{row["command"]}`', row['calls'], middle(row['ns'], 0), middle(row['percent'])] for row in records.values()],
    ),
  )
  large = [size for _, _, size in ns if size >= 16 * KIB]
  it.numbers(many=blocks[-1])
  it.code('on each of 50 copies', 'bench/setup_cost.cpp', ': 50,')
  it.code('100 passes', 'tests/heap/overhead.cpp', 'pass < 100;')
  it.holds(
    'A single block of 16 KiB and more costs more in the shared heap than in libc; {many} of them cost less',
    all(
      ns[1, heaps[2], size] > ns[1, heaps[0], size] and ns[32, heaps[2], size] < ns[32, heaps[0], size]
      for size in large
    ),
  )


# ---- Programs ----


def fill_demo(it):
  data = stored('demo')
  pairs = {(row['program'], row['ranks'], row['mpi'].split()[0], row['figure']): [
      statistics.median(row['quadrille_s']) / statistics.median(row['native_s']), row] for row in data['rows']}
  mpis = list(dict.fromkeys(row['mpi'] for row in data['rows']))
  figures = ('round trip', 'all-to-all in it')
  lines = []
  for program, ranks in dict.fromkeys(
    (row['program'], row['ranks']) for row in data['rows'] if row['program'].startswith('fft3d')
  ):
    block = pairs[program, ranks, mpis[0].split()[0], figures[0]][1]['block']
    lines.append(
      [
        program,
        ranks,
        block,
        *(f'{pairs[program, ranks, mpi.split()[0], figure][0]:.2f}' for mpi in mpis for figure in figures),
      ]
    )
  hpcc = [value for (program, *_), (value, _) in pairs.items() if program.startswith('hpcc')]
  orders = [int(program.split('N=')[1]) for program, *_ in pairs if program.startswith('hpcc')]
  large = pairs['fft3d 128^3 slab', 2, 'MPICH', 'round trip'][1]
  large_pairs = [ours / theirs for theirs, ours in zip(large['native_s'], large['quadrille_s'])]
  it.numbers(
    demo_measured=measured_on([data]),
    demo_command=data['command'],
    demo_pairs=data['pairs'],
    hpcc=ratios_text(hpcc),
    hpcc_least=min(orders),
    hpcc_most=max(orders),
    demo=table(['program', 'ranks', 'block', *(f'{mpi}: {figure}' for mpi in mpis for figure in figures)], lines),
    demo_large=ratios_text(large_pairs),
  )
  it.holds('The largest mesh gains nothing on 2 ranks of MPICH', min(large_pairs) < 1 < statistics.median(large_pairs))


def fill_fft2d(it):
  files = [load(path) for path in sorted(STORED.glob('fft2d-*.json'))]
  lines = []
  for data in files:
    ways = {row['way']: row for row in data['rows']}
    cells = []
    for name in ('total_s', 'least_s', 'most_s'):
      cells.append(middle([ours / theirs for theirs, ours in zip(ways['mpi'][name], ways['quadrille'][name])]))
    lines.append([data['mpi'], data['ranks'], data['mesh'], f'{data["block_bytes"] / KIB / KIB:.0f} MiB',
                  f'{statistics.median(ways["mpi"]["total_s"]):.2f} s', *cells])
  it.numbers(
    fft2d_command=files[-2]['command'],
    fft2d_measured=measured_on(files),
    fft2d_turns=len(files[0]['rows'][0]['total_s']),
    fft2d=table(
      [
        'MPI',
        'ranks',
        'mesh',
        'block',
        'round trip of the MPI',
        'round trip',
        'all-to-all, rank that waits least',
        'most',
      ],
      lines,
    ),
  )


def page():
  it = Page('inside-a-node')
  for part in (fill_calls, fill_copies, fill_costs, fill_demo, fill_fft2d):
    part(it)
  return it
