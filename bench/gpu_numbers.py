"""The numbers in the words of docs/results/gpu.md: each is computed here from what is stored, and so is what else they claim.

Words have fields, as `{pull_2}`. Each part below says what its fields are, and which sentences hold. To write a number that is
neither a field nor in KNOWN is an error (typed()), and so is a sentence of which the data say otherwise (problems()).
"""

import re
import statistics

import gpu_stored as stored
from gpu_stored import copies_of, load, span, steps_of, times_of, us_text, verdicts

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30
RANKS = (2, 4, 8)
# Numbers that no data have: what the code says is looked up there.
OF_CODE = [('From the eighth such call on', 'src/memory/repeated_copies.hpp', 'before_graph = 8;'),
           ('Up to 1 GiB of pinned memory is kept', 'src/memory/staging.hpp', 'most_ever_kept = std::size_t{1} << 30;'),
           ('So 2 MiB is the default', 'src/plan/chunks.hpp', 'least_suiting_chunk, 2 * MiB)'),
           ('are expected to take 5 ms', 'tool/bench/by_turns.hpp', 'batch_seconds_on_devices = 5e-3;'),
           ('its list has pieces of 16 KiB', 'src/memory/device_pieces.cpp', 'at_a_time = most_threads * at_once * 16,'),
           ('So it is launched now, up to 66 MiB in all', 'src/memory/device_pieces.cpp', 'most_pieces = most_blocks;'),
           ('256 threads and up to 4,224 blocks', 'src/memory/device_pieces.cpp', 'most_threads = 256, most_blocks = 4224,')]
# What is no result: names, numbers of ranks and runs, sizes.
SEVERAL = r'\d+(?:(?:,| and| to) \d+)*'
KNOWN = [r'`[^`]*`', r'\]\([^)]*\)', r'\{\w+\}', 'H100', 'mpi4py', r'[Ff]igure \d\b', r'[Rr]uns? \d(?: and \d| to \d)?\b',
         rf'(?<![\d.,]){SEVERAL} (?:ranks|[KMG]iB|B)\b', r'\b(?:with|on) \d(?:(?:,| and) \d)*\b(?![.,]?\d| (?:to|us|ms|times|%))',
         r'\(2\)', 'strides of 5, 10 and 15', '99th percentile', 'parts above 1.00', 'that 16 does not divide',
         *(re.escape(words) for words, _, _ in OF_CODE)]


def typed(words):
  """Numbers that somebody typed, of which nobody knows whether they are so."""
  left = re.sub('|'.join(KNOWN), '_', ' '.join(words.split()))
  return re.findall(r'(?:\S+ ){0,3}\S*\d\S*', left)


def ratios(values, form='.2f'):
  values = list(values)
  least, largest = format(min(values), form), format(max(values), form)
  return least if least == largest else f'{least} to {largest}'


def percent(value, form='.0%'):
  return format(value, form).replace('%', ' %')


def both(first, second):
  return [*first, *second]


class Said:
  """What words may say: fields, and sentences that hold or do not."""

  def __init__(self):
    self.fields, self.claims, self.used = {}, [], set()

  def numbers(self, **fields):
    assert not fields.keys() & self.fields.keys()
    self.fields.update(fields)

  def claim(self, words, holds):
    self.claims.append((words, bool(holds)))

  def fill(self, words):
    self.used |= set(re.findall(r'\{(\w+)\}', words))
    return words.format_map(self.fields)

  def problems(self, page):
    """Of a page that is made of filled words."""
    page = ' '.join(page.split())
    claims = [(self.fill(words), holds) for words, holds in self.claims]
    found = [f'the data say otherwise: {words}' for words, holds in claims if not holds]
    found += [f'code says otherwise: {words} ({file}: {text})' for words, file, text in OF_CODE
              if text not in (stored.ROOT / file).read_text()]
    found += [f'is not said any more: {words}' for words in [*(words for words, _ in claims), *(words for words, _, _ in OF_CODE)]
              if words not in page]
    return found + [f'is in no words: {name}' for name in sorted(self.fields.keys() - self.used)]


def rows_of(report, beginning, **wanted):
  """Rows of all steps whose names begin so, with these values; `ranks` is the step's."""
  ranks = wanted.pop('ranks', None)
  return [row for name, step in steps_of(report, beginning) if ranks in (None, step['ranks'])
          for row in verdicts.rows_of(report['steps'], name) if all(row[key] == value for key, value in wanted.items())]


def us_of(rows, whose='quadrille'):
  return [row[f'{whose}_us'] for row in rows]


# ---- The parts of the page ----


def introduction(said, report, other):
  for ranks in RANKS:
    said.numbers(**{f'pull_{ranks}': span(us_of(rows_of(report, 'small-', ranks=ranks, algorithm='ipc-pull')))})
  steps = [*report['steps'].values(), *other['steps'].values()]
  older = [row for step in steps if step['run'] in (1, 2) for row in step.get('rows', []) if 'calls_per_batch' in row]
  said.numbers(fewest_calls=min(row['calls_per_batch'] for row in older), most_calls=max(row['calls_per_batch'] for row in older),
               older_batches=span([row['calls_per_batch'] * row['quadrille_us'] for row in older if row['calls_per_batch'] > 1]))
  said.claim('right bytes and the MPI\'s ways are of it', report['probe']['device']['devices'] == 1 and all(
      step['run'] == (1 if name.startswith(('check-', 'way-')) else 3) for name, step in report['steps'].items()))
  dates = {run: [step['header']['date'] for step in steps if step['run'] == run and 'header' in step] for run in (1, 2, 3)}
  said.claim('It was later than run 1, on a machine of the same kind.', min(dates[3]) > max(dates[1]) and 1 == len(
      {(step['header']['cpu'], step['header']['device']['name']) for step in steps if 'header' in step}))
  said.claim("Intel MPI's times are of it", {step['run'] for step in other['steps'].values()} == {2})


def goals(said, report):
  checks = [row for _, step in steps_of(report, 'check-') for row in step['rows']]
  said.numbers(collectives=len({row['collective'] for row in checks}), check_sizes=len({row['bytes'] for row in checks}),
               check_ranks=', '.join(str(ranks) for ranks in sorted({step['ranks'] for _, step in steps_of(report, 'check-')})),
               probe_rate=f'{report["probe"]["blocks"]["8 ranks"]:.0f}')
  graph = copies_of(load('copies'), 8, 4 * MiB, 'graph', 'ABCD')
  said.numbers(probe_graph=span(graph), probe_graph_rate=span([256 * MiB / us * 1e-3 for us in graph]))
  said.claim('`default`, `ipc-pull` with and without leaders, `pipelined-copy-to-cpu` and `copy-to-cpu`',
             {row['algorithm'] for row in checks} ==
             {'default', 'ipc-pull', 'ipc-pull:leader=1', 'pipelined-copy-to-cpu', 'copy-to-cpu'})
  said.claim('without a wrong byte', not any(row['errors'] for step in report['steps'].values() for row in step.get('rows', [])))
  page = verdicts.Page(report)
  lines = [*page.right_bytes(), *page.small(), *page.large(), *page.paper(), *page.staged()]
  failed = [line[0] for line in lines if line[3] != 'reached']
  said.claim('All that `default`, `ipc-pull:leader=1` and `pipelined-copy-to-cpu` were to reach is reached.',
             all(': copy-to-cpu' in name for name in failed))
  said.claim('does not reach its part of the bus', len(failed) == sum(': copy-to-cpu' in line[0] for line in page.staged()))


def ways(said, report):
  steps = dict(steps_of(report, 'way-'))
  said.numbers(crash=', '.join(sorted({str(step['status']) for step in steps.values() if step['status']})),
               mpi=report['steps']['check-alltoall-4']['header']['mpi'].replace(' v', ' '))
  said.claim('is a crash', all('signal 11' in ' '.join(step['said']) for step in steps.values() if step['status']))
  said.claim('just `pairwise` (2) of Alltoallv survives',
             {name for name, step in steps.items() if step['status'] == 0} == {f'way-alltoallv-2-{ranks}' for ranks in RANKS})
  said.claim('Alltoall is compared with the MPI over the host', {'host'} == {
      step['header']['device']['mpi_memory'] for name in ('small-alltoall-', 'large-') for _, step in steps_of(report, name)})
  said.claim('its times are those of the MPI in Alltoallv below', all(
      'alltoallv_algorithm=2' in step['command'] for beginning in ('small-alltoallv-', 'paper-', 'buffers-', 'strides-')
      for _, step in steps_of(report, beginning)))


def small_and_paper(said, report):
  mpi = {row['bytes']: row['mpi_us'] for row in rows_of(report, 'small-alltoall-8', algorithm='default')}
  said.numbers(mpi_4k=us_text(mpi[4 * KiB]), mpi_less=span([us for size, us in mpi.items() if size < 4 * KiB]))
  mpi = {row['bytes']: row['mpi_us'] for row in rows_of(report, 'paper-', ranks=8, algorithm='default')}
  to_peak = [us for size, us in sorted(mpi.items()) if size <= 512 * KiB]
  said.numbers(mpi_512k=f'{mpi[512 * KiB] / 1000:.1f}', mpi_2m=f'{mpi[2 * MiB] / 1000:.1f}')
  said.claim('rise to {mpi_512k} ms at 512 KiB and are {mpi_2m} ms at 2 MiB', to_peak == sorted(to_peak) == sorted(set(to_peak)))
  ours = {ranks: {row['bytes']: row['quadrille_us'] for row in rows_of(report, 'paper-', ranks=ranks, algorithm='default')}
          for ranks in RANKS}
  kernel = {ranks: copies_of(load('copies'), ranks, 512 * KiB, 'new 256x4224 16K', 'A') for ranks in RANKS}
  for ranks in (4, 8):
    said.numbers(**{f'ours_512k_{ranks}': us_text(ours[ranks][512 * KiB]), f'bare_512k_{ranks}': span(kernel[ranks])})
  said.claim('longer than blocks of 2 MiB, and', ours[4][512 * KiB] > ours[4][2 * MiB])


def large(said, report):
  of_copies = load('copies')
  of_call, of_graph, beside = [], [], []
  for ranks in RANKS:
    graph = copies_of(of_copies, ranks, 256 * MiB // ranks ** 2, 'graph', 'ABCD')
    call = us_of(rows_of(report, 'large-alltoall-', ranks=ranks))
    of_call, of_graph = of_call + call, of_graph + graph
    beside += [us - statistics.median(graph) for us in call]
  plain = [us for ranks in RANKS for us in copies_of(of_copies, ranks, GiB // ranks ** 2, 'plain', 'ABCD')]
  said.numbers(call_256m=span(of_call), graph_256m=span(of_graph), beside_256m=f'{min(beside):.0f} to {max(beside):.0f}',
               call_1g=span(us_of(rows_of(report, 'large-1GiB-'))),
               plain_1g=span(plain))
  steps = steps_of(report, 'large-')
  said.claim('is measured with buffers of 64 MiB',
             {step['header']['device']['ceilings']['copy_bytes'] for _, step in steps} == {64 * MiB})
  said.claim('256 MiB in all, run 3.', {row['bytes'] * step['ranks'] ** 2 for name, step in steps_of(report, 'large-alltoall-')
                                        for row in step['rows']} == {256 * MiB})
  said.claim('1 GiB in all, run 3:', {row['bytes'] * step['ranks'] ** 2 for name, step in steps_of(report, 'large-1GiB-')
                                      for row in step['rows']} == {GiB})
  rate = max(step['header']['device']['ceilings']['device_copy_GBps'] for _, step in steps)
  said.claim('A copy of 1 GiB is faster', max(plain) < GiB / rate * 1e-3)


def staged(said, report):
  found = {step['ranks']: times_of(report, name)['pipelined-copy-to-cpu'] for name, step in steps_of(report, 'staged-')}
  late = {ranks: row['quadrille_p99_us'] / row['quadrille_us'] for ranks, of in found.items() for row in of.values()}
  said.numbers(**{f'late_{ranks}': f'{late[ranks]:.1f}' for ranks in (4, 8)})
  said.claim('The MPI is given memory of the host', {
      step['header']['device']['mpi_memory'] for _, step in steps_of(report, 'staged-')} == {'host'})
  said.claim('own block stays in the device and is not counted',
             not any(verdicts.counts_own_blocks(row) for of in found.values() for row in of.values()))
  said.claim('the best of the three', len(found) == 3)


def chunks(said, data):
  usual, smaller, larger = [], [], []
  for run in data['runs'][:3]:
    found = {key: row['quadrille_us'] for key, row in stored.chunks_of(run).items()}
    for size in {size for size, _ in found if size >= (64 * MiB if run['ranks'] == 2 else 2 * MiB)}:
      usual.append(found[size, (2 * MiB, 4)])
      smaller.append(found[size, (512 * KiB, 4)] / usual[-1])
      larger += [1 - found[size, (chunk * MiB, 4)] / usual[-1] for chunk in (4, 8)]
  said.numbers(chunks_512k=ratios(smaller), chunks_gain=percent(max(larger), '.1%'))
  by_ranks = {run['ranks']: stored.chunks_of(run) for run in data['runs'][:3]}
  said.numbers(no_order=span([row['quadrille_us'] for (size, _), row in by_ranks[2].items() if size == 512 * KiB]))
  said.claim('Blocks of 128 KiB are faster over the MPI', all(
      row['mpi_us'] < row['quadrille_us'] for found in by_ranks.values() for (size, _), row in found.items() if size == 128 * KiB))
  said.claim('their times with 4 ranks were lost', not any(size == 128 * KiB for size, _ in by_ranks[4]))
  again, apart = {key: row['quadrille_us'] for key, row in stored.chunks_of(data['runs'][3]).items()}, []
  for size in {size for size, _ in again}:
    of = [us for (block, (chunk, _)), us in again.items() if block == size and chunk == 2 * MiB]
    apart.append(max(of) / min(of) - 1)
  said.numbers(depths_apart=percent(max(apart), '.1%'))
  depths = [depth for _, (chunk, depth) in again if chunk == 2 * MiB]
  said.numbers(least_depth=min(depths), most_depth=max(depths))


def buffers(said, report):
  of = 'copy-to-cpu:inner=waitany-stride,stride=5,buffers='
  times = {step['ranks']: {kind: {size: row['quadrille_us'] for size, row in times_of(report, name)[of + kind].items()}
                           for kind in ('kept', 'fresh', 'pageable')} for name, step in steps_of(report, 'buffers-')}
  mpi = {step['ranks']: {size: row['mpi_us'] for size, row in times_of(report, name)[of + 'kept'].items()}
         for name, step in steps_of(report, 'buffers-')}

  def beside(kind, wanted):
    return [found[kind][size] / found['kept'][size] for found in times.values() for size in found['kept'] if wanted(size)]

  means = [verdicts.geometric_mean([found['fresh'][size] / us for size, us in found['kept'].items()]) for found in times.values()]
  large_ones = both(*(beside(kind, lambda size: size >= 512 * KiB) for kind in ('fresh', 'pageable')))
  said.numbers(kept_mean=ratios(means, '.1f'), fresh_small=ratios(beside('fresh', lambda size: size <= 32 * KiB)),
               kept_large=ratios(large_ones, '.1f'),
               pageable_small=ratios(beside('pageable', lambda size: size <= 128 * KiB and size != 8 * KiB)),
               pageable_8k=ratios(beside('pageable', lambda size: size == 8 * KiB), '.1f'))
  for ranks in (4, 8):
    waits = [times[ranks][kind][2 * KiB] for kind in times[ranks]] + [times[ranks]['pageable'][8 * KiB]]
    said.numbers(**{f'waits_{ranks}': span(waits)})
    pull = statistics.median(us_of(rows_of(report, 'small-', ranks=ranks, algorithm='ipc-pull')))
    said.claim('about as long as with `ipc-pull` without leaders', all(0.9 < us / pull < 1.1 for us in waits))
    said.claim('So with kept and fresh memory 8 KiB are faster than 2 KiB.',
               all(times[ranks][kind][8 * KiB] < times[ranks][kind][2 * KiB] / 2 for kind in ('kept', 'fresh')))
  last = {kind: [times[ranks][kind][8 * MiB] / mpi[ranks][8 * MiB] for ranks in times] for kind in times[4]}
  said.numbers(mpi_8m_kept=ratios(last['kept'], '.1f'), mpi_8m_other=ratios(both(last['fresh'], last['pageable']), '.1f'))
  said.claim('From 512 KiB on it is ahead at every size', min(large_ones) > 1)


def strides(said, report):
  found = times_of(report, 'strides-4')
  us = {name: {size: row['quadrille_us'] for size, row in rows.items()} for name, rows in found.items()}
  host = 'copy-to-cpu:inner=waitany-stride,stride='
  one, usual = us['waitany-stride:stride=1'], us['waitany-stride:stride=5']
  mean = verdicts.geometric_mean([us[host + '1'][size] / us[host + '5'][size] for size in us[host + '5']])
  apart = {}
  for of in ('waitany-stride:stride=', host):
    for size in usual:
      same = [us[f'{of}{stride}'][size] for stride in (5, 10, 15)]
      apart[of, size] = max(same) / min(same) - 1
  largest = max(apart, key=apart.get)
  said.numbers(partners=report['steps']['strides-4']['ranks'] - 1, host_mean=f'{mean:.2f}',
               one_at_a_time=ratios([one[size] / usual[size] for size in usual], '.1f'),
               same_apart=percent(apart[largest]), same_apart_at=stored.size_text(largest[1]))
  said.claim('with 2 KiB it was faster', us[host + '1'][2 * KiB] < us[host + '5'][2 * KiB])


def copies(said, data):
  kernels = {'B': 'new 256x4224', 'C': 'new 256x4224', 'A': 'new 256x4224 16K', 'D': 'kernel 256x4224'}

  def kernel(ranks, block, runs):
    return [us for run in runs for us in copies_of(data, ranks, block, kernels[run], run)]

  small = [one[kernels[run['run']]] for run in data['runs'] if run['run'] in 'ABC' for one in run['copies']
           if one['block'] <= 32 * KiB]
  at_64 = {name: [us / 64 for us in copies_of(data, 8, 4 * KiB, name, 'ABC')] for name in ('graph', 'batch')}
  said.numbers(kernel_small=f'{min(small):.0f} to {max(small):.0f}', graph_a_copy=ratios(at_64['graph']),
               batch_a_copy=ratios(at_64['batch'], '.1f'))
  last = [one for run in data['runs'] for one in run['copies'] if one['block'] * one['ranks'] ** 2 >= 256 * MiB]
  said.numbers(graph_large=ratios([one['graph'] / one['plain'] for one in last]), kernel_large=ratios(
      [(one[kernels['D']] / one['plain'] - 1) * 100 for one in last if kernels['D'] in one], '.0f'))
  for ranks in (4, 8):
    said.numbers(**{f'd_1m_{ranks}': span(kernel(ranks, MiB, 'D')), f'bc_1m_{ranks}': span(kernel(ranks, MiB, 'BC')),
                    f'graph_1m_{ranks}': span(copies_of(data, ranks, MiB, 'graph', 'D')),
                    f'd512_1m_{ranks}': span(copies_of(data, ranks, MiB, 'kernel 512x4224', 'D'))})
  said.claim('From 64 MiB on the order of run 3 is a little faster with 2 ranks',
             all(max(kernel(2, size * MiB, 'D')) < min(kernel(2, size * MiB, 'BC')) for size in (64, 256)))
  said.claim('from 4 MiB on it is slower with 4 and 8, or the same', all(
      min(kernel(ranks, size * MiB, 'D')) > 0.99 * min(kernel(ranks, size * MiB, 'BC')) for ranks in (4, 8) for size in (4, 16)))
  forms = [min((us, name) for name, us in one.items() if name.startswith('kernel '))[1]
           for run in data['runs'] if run['run'] == 'D' for one in run['copies']]
  said.claim('none is the fastest at all sizes', len(set(forms)) > 1)


def layout(said, data, report):
  seen, (first, second) = data['seen'], (run['rows'] for run in data['runs'])
  now = times_of(report, f'paper-alltoallv-{seen["ranks"]}')['default'][seen['block_MiB'] * MiB]['quadrille_us']
  rows = {(row['ranks'], row['block_MiB'], row['more_bytes']): row for row in first}
  more = {(ranks, block): [rows[ranks, block, 8 * KiB][by] / rows[ranks, block, 0][by] for by in ('graph', 'kernel')]
          for ranks, block, _ in rows}
  slow = [(8, 8), (8, 16)]
  longer = [rows[8, 8, 8 * KiB][by] - rows[8, 8, 0][by] for by in ('graph', 'kernel')]
  said.numbers(seen_us=us_text(seen['call_us']), seen_now=us_text(now),
               seen_part=ratios([100 * us / (seen['call_us'] - now) for us in longer], '.0f'),
               more_slow=ratios([ratio for point in slow for ratio in more[point]]),
               more_else=ratios([ratio for point, of in more.items() if point not in slow for ratio in of]))
  said.claim('With 8 ranks and blocks of 8 MiB a call took {seen_us} us in run 2',
             (seen['ranks'], seen['block_MiB'], seen['run']) == (8, 8, 2))
  said.claim('explains more than half of the difference', min(longer) > (seen['call_us'] - now) / 2)
  said.claim('and with blocks that begin elsewhere in the buffer, all are fast',
             all(row[by] < 1.02 * rows[8, 8, 0][by] for row in second for by in ('graph', 'kernel')))


def device_waits(said, data, report):
  traces = {one['name']: one for one in data['traces']}

  def cell(trace, part, title, *begin):
    table = traces[trace][part]
    return next(row[table['head'].index(title)] for row in table['rows'] if tuple(row[:len(begin)]) == begin)

  between = ('between two works of one launch (a graph, a batch)', 'the same rank', 'memcpy DtoD')
  gap, copy = cell('pull', 'kinds', 'median, us', *between), cell('pull', 'device', 'median, us', 'memcpy DtoD')
  said.numbers(batch_gap=gap, batch_copy=copy, batch_idle=percent(float(gap) / (float(gap) + float(copy))),
               turn=cell('alone', 'kinds', 'median, us', 'launched, not begun', 'another rank', 'memcpy DtoD'),
               piped_busy=re.search(r'[\d.]+ %', traces['piped']['busy'])[0],
               piped_to_host=cell('piped', 'device', 'share of the time', 'memcpy DtoH'),
               piped_to_device=cell('piped', 'device', 'share of the time', 'memcpy HtoD'))
  short, many = ([cell('piped', 'kinds', title, 'launched, not begun', f'{whose} rank', 'memcpy DtoH')
                  for whose in ('another', 'the same')]
                 for title in ('median, us', 'gaps'))
  said.numbers(piped_gaps=traces['piped']['gaps'].split()[0], piped_short=sum(map(int, many)), piped_gap=short[0])
  said.claim('that was launched and had not begun: {piped_gap} us (median)', len(set(short)) == 1)
  said.claim('Four ranks, by CUPTI', {one['ranks'] for one in data['traces']} == {4})
  served = {row['served_by'] for _, step in steps_of(report, 'check-') for row in step['rows']
            if row['algorithm'] == 'pipelined-copy-to-cpu'}
  said.claim('Chunks had 512 KiB in run 1', {stored.shape_of(one)[0] for one in served} == {512 * KiB})
  gaps = {(one['block'], one['when']): {name: (us, calls) for name, us, calls in one['rows']} | {'median': one['median_us']}
          for one in data['leader']['traces']}
  less = {name: [gaps[block, 'before'][name][1] - gaps[block, 'with'][name][1] for block in ('64 B', '4 MiB')]
          for name in ('cuStreamSynchronize', 'cuPointerGetAttribute')}
  said.claim('It waits for a stream once or twice less', [round(calls) for calls in less['cuStreamSynchronize']] == [1, 2])
  said.claim('asks the driver about a pointer once less', {round(calls) for calls in less['cuPointerGetAttribute']} == {1})
  said.numbers(no_call=ratios([100 * one['no call (waits for other ranks, or computes)'][0] /
                               sum(pair[0] for name, pair in one.items() if name != 'median') for one in gaps.values()], '.0f'))
  said.claim('With a graph a gap is not shorter', gaps['4 MiB', 'with']['median'] >= gaps['4 MiB', 'before']['median'])
  rows = data['chunks']['rows']
  said.claim('two stretches in which the same bytes crossed the bus',
             len({(row['to_host']['bytes'], row['to_device']['bytes']) for row in rows}) == 1)
  said.claim('Each copy of 2 MiB is faster than four of 512 KiB', [row['chunk'] for row in rows] == [512 * KiB, 2 * MiB] and all(
      rows[1][way]['median_us'] < 4 * rows[0][way]['median_us'] for way in ('to_host', 'to_device')))


def figure_6(said, runs):
  """Of the figure that was measured, [(name, data)]."""
  plots = [data['plots'][0] for _, data in runs]
  ranks = sorted({row['ranks'] for plot in plots for row in plot['rows']})
  missing = [count for count in plots[0]['ranks_of_paper'] if count not in ranks]
  size = plots[0]['sizes'][0]
  said.numbers(figure_processors=', '.join(sorted({str(data['processors']) for _, data in runs})),
               figure_size=stored.size_text(size), figure_ranks=' and '.join(map(str, ranks)), figure_most=missing[-1],
               figure_missing=', '.join(map(str, missing[:-1])) + f' and {missing[-1]}',
               figure_memory=2 * missing[-1] * size // GiB)


def said_of(runs):
  """All of it. `runs`: the data of figure 6."""
  said = Said()
  report, other = load('openmpi'), load('intel')
  introduction(said, report, other)
  for part in (goals, ways, small_and_paper, large, staged, buffers, strides):
    part(said, report)
  chunks(said, load('chunks'))
  copies(said, load('copies'))
  layout(said, load('layout'), report)
  device_waits(said, load('traces'), report)
  figure_6(said, runs)
  return said
