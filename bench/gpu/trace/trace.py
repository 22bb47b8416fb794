#!/usr/bin/env python3
"""Reports what a device waited for, from the traces that libgpu_trace.so (trace.cpp) wrote for the ranks of a program.

  trace.py FOLDER                              a page of tables
  trace.py FOLDER --md PAGE.md --svg FILE.svg  into files, with a picture of a few calls in the middle
  trace.py FOLDER --from 1000 --to 5000        only a part, in microseconds after the begin of the stretch

A work is an operation of the device, for example a copy or a kernel. A stretch is a time in which no pause between two works
exceeds --pause. The report is about the stretch with the most work, or that of --stretch. All ranks must share one device.
"""

import argparse
import bisect
import collections
import dataclasses
import gzip
import json
import pathlib
import statistics
import sys

import timeline

NO_CALL = 'no call (waits for other ranks, or computes)'
LAUNCHED = 'launched, not begun'
WITHIN = 'between two works of one launch (a graph, a batch)'
UNKNOWN = 'unknown: the call that launched it is not in the trace'


@dataclasses.dataclass
class Work:
  begin: int
  end: int
  rank: int
  what: str
  bytes: int = 0
  stream: int = 0
  id: int = 0  # the id of the call that launched the work


@dataclasses.dataclass
class Call:
  begin: int
  end: int
  rank: int
  name: str
  thread: int = 0
  id: int = 0


@dataclasses.dataclass
class Trace:
  works: list  # of all ranks, by begin
  calls: list
  ranks: list
  notes: list

  def __post_init__(self):
    self.works.sort(key=lambda work: (work.begin, work.end))
    self.calls.sort(key=lambda call: call.begin)
    self.launches = {(call.rank, call.id): call for call in self.calls if call.id}
    self.threads = collections.defaultdict(list)
    for call in self.calls:
      self.threads[call.rank, call.thread].append(call)
    self.begins = {thread: [call.begin for call in calls] for thread, calls in self.threads.items()}


# ---- Reading ----

def what_of(record):
  """The kind of a work, as text."""
  if record['kind'] == 'memcpy':
    copy = f"memcpy {record['copy']}"
    return copy + ' (pageable)' if 'pageable' in (record.get('from'), record.get('to')) else copy
  return f"kernel {record['name']}" if record['kind'] == 'kernel' else record['kind']


def records_of(file):
  """The records of a file. The last line of a killed process may be cut off."""
  with (gzip.open if file.suffix == '.gz' else open)(file, 'rt', encoding='utf-8', errors='replace') as lines:
    for line in lines:
      try:
        yield json.loads(line)
      except json.JSONDecodeError:
        yield {'kind': 'problem', 'text': 'a line is cut off'}


def read_file(file, otherwise):
  """(rank, works, calls, notes) of one process; `otherwise` is the rank if the file has none."""
  rank, works, calls, notes, ended = otherwise, [], [], [], False
  for record in records_of(file):
    kind = record['kind']
    if kind == 'start':
      rank = record['rank'] if record['rank'] >= 0 else otherwise
    elif kind == 'problem':
      notes.append(record['text'])
    elif kind == 'end':
      ended = True
      notes += [f'{record[name]} records {name}' for name in ('dropped', 'lost') if record[name]]
    elif not (record['begin'] and record['end']):  # the work was pending at the end of the program, or CUPTI has no time for it
      continue
    elif kind == 'api':
      calls.append(Call(record['begin'], record['end'], rank, record['name'], record['thread'], record['id']))
    else:
      works.append(Work(record['begin'], record['end'], rank, what_of(record), record.get('bytes', 0), record['stream'], record['id']))
  notes += [] if ended else ['it did not come to its end']
  return rank, works, calls, [f'rank {rank}: {note}' for note in notes]


def read(folder):
  works, calls, ranks, notes = [], [], set(), []
  for number, file in enumerate(sorted(pathlib.Path(folder).glob('trace-*.jsonl*'))):
    rank, its_works, its_calls, its_notes = read_file(file, number)
    if its_works or its_calls or its_notes:
      ranks.add(rank)
    works += its_works
    calls += its_calls
    notes += its_notes
  return Trace(works, calls, sorted(ranks), notes)


# ---- Arithmetic ----

def union(intervals):
  """Disjoint intervals with the same union as the given (begin, end)."""
  merged = []
  for begin, end in sorted(intervals):
    if merged and begin <= merged[-1][1]:
      merged[-1][1] = max(merged[-1][1], end)
    else:
      merged.append([begin, end])
  return [tuple(interval) for interval in merged]


def length(intervals):
  return sum(end - begin for begin, end in intervals)


def cut(items, begin, end):
  """The works or calls in a window, cut at its edges."""
  return [dataclasses.replace(item, begin=max(item.begin, begin), end=min(item.end, end))
          for item in items if item.begin < end and item.end > begin]


def stretches(works, pause):
  """[(begin, end, works)] of times without a pause of the device longer than `pause`."""
  found = []
  for work in works:
    if found and work.begin - found[-1][1] <= pause:
      found[-1][1] = max(found[-1][1], work.end)
      found[-1][2] += 1
    else:
      found.append([work.begin, work.end, 1])
  return [tuple(stretch) for stretch in found]


def window_of(trace, options):
  """(begin, end, all stretches) for the stretch with the most work, or the requested one."""
  all_of_them = stretches(trace.works, options.pause * 1e6)
  begin, end, _ = (max(all_of_them, key=lambda stretch: stretch[2]) if options.stretch is None
                   else all_of_them[options.stretch])
  to = min(end, begin + round(options.to * 1000)) if options.to is not None else end
  return begin + round(options.first * 1000), to, all_of_them


def busy_by_kind(works, wall):
  """[(kind, number, share of the wall time, median us, bytes, GB/s)], the largest share first. Overlapping works
  count once in a share; rates are those of single works."""
  kinds = collections.defaultdict(list)
  for work in works:
    kinds[work.what].append(work)
  rows = []
  for what, those in kinds.items():
    times = [work.end - work.begin for work in those]
    total = sum(work.bytes for work in those)
    rows.append((what, len(those), length(union((w.begin, w.end) for w in those)) / wall, statistics.median(times) / 1000, total,
                 total / max(1, sum(times))))
  return sorted(rows, key=lambda row: -row[2])


def doing(trace, thread, begin, end):
  """{name: ns} of a thread's calls between two times, with NO_CALL for the rest."""
  parts, calls = collections.Counter(), trace.threads[thread]
  begins = trace.begins.get(thread, [])
  for at in range(max(0, bisect.bisect_right(begins, begin) - 1), bisect.bisect_left(begins, end)):
    call = calls[at]
    parts[call.name] += max(0, min(call.end, end) - max(call.begin, begin))
  parts[NO_CALL] = end - begin - sum(parts.values())
  return +parts


@dataclasses.dataclass
class Gap:
  begin: int
  end: int
  next: Work
  other_rank: bool  # the work before was that of another rank
  parts: dict  # the activity of the rank of `next`: {text: ns}

  @property
  def most(self):
    return max(self.parts, key=self.parts.get)


def parts_of(trace, last, work):
  """The activity of a work's rank since the device became idle: first its host, then the launch, then the device."""
  begin, end, launch = last.end, work.begin, trace.launches.get((work.rank, work.id))
  if work.id and (last.rank, last.id) == (work.rank, work.id):
    return {WITHIN: end - begin}
  if launch is None:
    return {UNKNOWN: end - begin}
  called, returned = (min(max(time, begin), end) for time in (launch.begin, launch.end))
  parts = doing(trace, (launch.rank, launch.thread), begin, called)
  parts[f'in the launch, {launch.name}'] += returned - called
  parts[LAUNCHED] += end - returned
  return +parts


def gaps(trace, works):
  """The gaps between works, in which the device was idle."""
  found, last = [], None
  for work in works:
    if last is not None and work.begin > last.end:
      found.append(Gap(last.end, work.begin, work, last.rank != work.rank, parts_of(trace, last, work)))
    if last is None or work.end >= last.end:
      last = work
  return found


def kinds_of_gaps(found):
  """[(the host's main activity, previous work, next work, number, total, median, largest)] in ns, by total."""
  kinds = collections.defaultdict(list)
  for gap in found:
    kinds[gap.most, 'another rank' if gap.other_rank else 'the same rank', gap.next.what].append(gap.end - gap.begin)
  rows = [(*kind, len(times), sum(times), statistics.median(times), max(times)) for kind, times in kinds.items()]
  return sorted(rows, key=lambda row: -row[4])


def time_in_gaps(found):
  total = collections.Counter()
  for gap in found:
    total.update(gap.parts)
  return total


def functions(calls):
  """{name: {rank: (number, total ns)}}, the largest total first."""
  table = collections.defaultdict(dict)
  for call in calls:
    number, total = table[call.name].get(call.rank, (0, 0))
    table[call.name][call.rank] = number + 1, total + call.end - call.begin
  return dict(sorted(table.items(), key=lambda row: -sum(total for _, total in row[1].values())))


def delays(trace, works):
  """[(function, kind of work, number, median ns from the begin of the call, from its end)]. For a graph the first work counts."""
  first = {}
  for work in works:
    first.setdefault((work.rank, work.id), work)
  kinds = collections.defaultdict(list)
  for key, work in first.items():
    launch = trace.launches.get(key)
    if launch is not None:
      kinds[launch.name, work.what].append((work.begin - launch.begin, work.begin - launch.end))
  rows = [(*kind, len(times), *(statistics.median(column) for column in zip(*times))) for kind, times in kinds.items()]
  return sorted(rows, key=lambda row: -row[2])


# ---- The page ----

def table(head, rows):
  return ['', f"| {' | '.join(head)} |", '|' + ' --- |' * len(head), *(f"| {' | '.join(map(str, row))} |" for row in rows), '']


def us(nanoseconds):
  return f'{nanoseconds / 1000:.1f}'


def percent(share):
  return f'{100 * share:.1f} %'


def stretches_table(all_of_them, begin):
  start = all_of_them[0][0]
  rows = [(n, f'{(b - start) / 1e6:.1f}', f'{(e - b) / 1e6:.2f}', works, 'looked at' if b <= begin <= e else '')
          for n, (b, e, works) in enumerate(all_of_them)]
  rows = sorted(sorted(rows, key=lambda row: -row[3])[:10])
  return ['## Stretches', *table(('number', 'begin, ms', 'length, ms', 'works', ''), rows)]


def busy_part(works, wall):
  busy = length(union((work.begin, work.end) for work in works))
  summed = sum(work.end - work.begin for work in works)
  rows = [(what, number, percent(share), f'{median:.1f}', size, f'{rate:.1f}' if size else '')
          for what, number, share, median, size, rate in busy_by_kind(works, wall)]
  return ['## The device', '', f'Busy for {percent(busy / wall)} of {us(wall)} us; {summed / max(1, busy):.2f} works at once while it is busy.',
          *table(('work', 'number', 'share of the time', 'median, us', 'bytes', 'GB/s of one'), rows)]


def gaps_part(found, wall):
  idle = sum(gap.end - gap.begin for gap in found) or 1
  times = [(words, us(time), percent(time / idle), percent(time / wall)) for words, time in time_in_gaps(found).most_common(20)]
  kinds = [(most, before, what, number, us(total), percent(total / idle), us(median), us(largest))
           for most, before, what, number, total, median, largest in kinds_of_gaps(found)[:20]]
  return ['## What it waits for', '', f'{len(found)} gaps, {us(idle)} us. In them the rank whose work came next was:',
          *table(('doing', 'us', 'share of the gaps', 'share of the time'), times),
          'Kinds of gaps, by what that rank did for most of the gap:',
          *table(('doing', 'work before, of', 'next work', 'gaps', 'us', 'share of the gaps', 'median, us', 'largest, us'), kinds)]


def functions_part(calls, ranks, wall):
  rows = []
  for name, by_rank in functions(calls).items():
    cells = [f'{by_rank[rank][0]}, {us(by_rank[rank][1])}' if rank in by_rank else '' for rank in ranks]
    number, total = (sum(column) for column in zip(*by_rank.values()))
    rows.append((name, us(total / number), percent(total / wall / len(ranks)), *cells))
  return ['## Functions of the driver', *table(('function', 'mean, us', 'share of the time', *(f'rank {r}: calls, us' for r in ranks)), rows)]


def delays_part(trace, works):
  rows = [(name, what, number, us(begin), us(end)) for name, what, number, begin, end in delays(trace, works)]
  return ['## From a call to its work', *table(('function', 'work', 'number', 'median from its begin, us', 'from its end, us'), rows)]


def page(trace, begin, end, all_of_them):
  works, calls, wall = cut(trace.works, begin, end), cut(trace.calls, begin, end), max(1, end - begin)
  return '\n'.join(['# What the device waits for', '', f'{len(trace.ranks)} ranks, {len(works)} works, {len(calls)} calls of the driver.',
                    *(f'\nNote: {note}.' for note in trace.notes), '', *stretches_table(all_of_them, begin), *busy_part(works, wall),
                    *gaps_part(gaps(trace, works), wall), *functions_part(calls, trace.ranks, wall),
                    *delays_part(trace, [work for work in trace.works if begin <= work.begin < end])])


def middle(works, ranks, number):
  """(begin, end) of some works in the middle: as many as `number` for each rank."""
  count = number * max(1, len(ranks))
  first = max(0, (len(works) - count) // 2)
  some = works[first:first + count]
  return min(work.begin for work in some), max(work.end for work in some)


def arguments():
  parser = argparse.ArgumentParser(prog='trace.py', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('folder', help="the folder of GPU_TRACE_OUT, with files trace-*.jsonl of one program's ranks")
  parser.add_argument('--md', help='file for the page, instead of printing it')
  parser.add_argument('--svg', help='file for a picture of the middle')
  parser.add_argument('--pause', type=float, default=5, help='ms without work that end a stretch (5)')
  parser.add_argument('--stretch', type=int, help='number of the stretch; default: the one with the most work')
  parser.add_argument('--from', dest='first', type=float, default=0, help='us after the begin of the stretch')
  parser.add_argument('--to', type=float, help='us after the begin of the stretch')
  parser.add_argument('--works', type=int, default=12, help='works of each rank in the picture (12)')
  return parser, parser.parse_args()


def main():
  parser, options = arguments()
  trace = read(options.folder)
  if not trace.works:
    parser.error(f"{options.folder}: no work of a device is in its files trace-*.jsonl{''.join(f'; {note}' for note in trace.notes)}")
  count = len(stretches(trace.works, options.pause * 1e6))
  if options.stretch is not None and not 0 <= options.stretch < count:
    parser.error(f'--stretch {options.stretch}: there are 0 to {count - 1}')
  begin, end, all_of_them = window_of(trace, options)
  works = cut(trace.works, begin, end)
  if not works:
    parser.error('no work of a device lies between --from and --to')
  text = page(trace, begin, end, all_of_them)
  if options.md:
    pathlib.Path(options.md).write_text(text, encoding='utf-8')
  else:
    print(text)
  if options.svg:
    left, right = middle(works, trace.ranks, options.works)
    pathlib.Path(options.svg).write_text(timeline.svg(cut(trace.works, left, right), cut(trace.calls, left, right), trace.ranks,
                                                      left, right), encoding='utf-8')
  return 0


if __name__ == '__main__':
  sys.exit(main())
