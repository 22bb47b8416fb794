#!/usr/bin/env python3
"""bench/gpu/trace/trace.py: what it says of traces that are made here."""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'bench' / 'gpu' / 'trace'
sys.path.insert(0, str(FOLDER))
import timeline  # noqa: E402  pylint: disable=wrong-import-position
import trace  # noqa: E402  pylint: disable=wrong-import-position


def work(begin, end, rank=0, what='memcpy DtoD', size=0, id_=0):
  return trace.Work(begin, end, rank, what, size, 7, id_)


def call(begin, end, name='cuMemcpyAsync', rank=0, id_=0, thread=1):
  return trace.Call(begin, end, rank, name, thread, id_)


def trace_of(works, calls=()):
  return trace.Trace(list(works), list(calls), sorted({w.rank for w in works}), [])


class Reading(unittest.TestCase):
  def read(self, **files):
    with tempfile.TemporaryDirectory() as folder:
      for name, lines in files.items():
        (pathlib.Path(folder) / f'trace-{name}.jsonl').write_text(
            ''.join(line if isinstance(line, str) else json.dumps(line) + '\n' for line in lines))
      return trace.read(folder)

  start = {'kind': 'start', 'rank': 3, 'pid': 1}
  end = {'kind': 'end', 'records': 2, 'dropped': 0, 'lost': 0}
  copy = {'kind': 'memcpy', 'copy': 'DtoH', 'from': 'device', 'to': 'pinned', 'bytes': 64, 'stream': 7, 'id': 5, 'begin': 100, 'end': 200}
  api = {'kind': 'api', 'name': 'cuMemcpyAsync', 'thread': 1, 'id': 5, 'begin': 50, 'end': 60}

  def test_ranks_and_kinds(self):
    found = self.read(a=[self.start, self.copy, self.api, {**self.copy, 'to': 'pageable', 'begin': 300, 'end': 301},
                         {'kind': 'kernel', 'name': 'add', 'stream': 1, 'id': 6, 'begin': 400, 'end': 410}, self.end])
    self.assertEqual([w.what for w in found.works], ['memcpy DtoH', 'memcpy DtoH (pageable)', 'kernel add'])
    self.assertEqual((found.ranks, found.notes, found.works[0].rank, found.works[0].bytes), ([3], [], 3, 64))
    self.assertEqual(found.launches[3, 5].name, 'cuMemcpyAsync')

  def test_what_is_missing_is_said(self):
    found = self.read(a=[self.start, self.copy, '{"kind":"mem'], b=[{**self.start, 'rank': 1}, {**self.end, 'dropped': 9}])
    self.assertEqual(found.notes, ['rank 3: a line is cut off', 'rank 3: it did not come to its end', 'rank 1: 9 records dropped'])

  def test_processes_that_used_no_device_are_no_ranks(self):
    found = self.read(a=[{**self.start, 'rank': -1}, self.end], b=[{**self.start, 'rank': -1}, self.copy, self.end])
    self.assertEqual(found.ranks, [1])

  def test_packed_files(self):
    with tempfile.TemporaryDirectory() as folder:
      with gzip.open(f'{folder}/trace-1.jsonl.gz', 'wt') as file:
        file.writelines(json.dumps(line) + '\n' for line in (self.start, self.copy, self.end))
      self.assertEqual([(w.begin, w.end) for w in trace.read(folder).works], [(100, 200)])

  def test_work_without_a_time_is_left_out(self):
    found = self.read(a=[self.start, {**self.copy, 'begin': 0, 'end': 0}, {**self.copy, 'end': 0}, {**self.api, 'end': 0}, self.end])
    self.assertEqual((found.works, found.calls), ([], []))


class Arithmetic(unittest.TestCase):
  def test_a_union_counts_what_lies_over_each_other_once(self):
    self.assertEqual(trace.union([(5, 9), (0, 2), (1, 3), (6, 7), (3, 4)]), [(0, 4), (5, 9)])
    self.assertEqual(trace.length(trace.union([(5, 9), (0, 2), (1, 3)])), 7)

  def test_stretches_end_at_pauses(self):
    works = [work(0, 10), work(5, 30), work(12, 14), work(40, 41), work(100, 120)]
    self.assertEqual(trace.stretches(works, 10), [(0, 41, 4), (100, 120, 1)])

  def test_shares_are_of_the_wall_time(self):
    rows = trace.busy_by_kind([work(0, 10, size=100), work(5, 15, 1, size=200), work(50, 70, what='memset')], 100)
    self.assertEqual(rows, [('memset', 1, 0.2, 0.02, 0, 0.0), ('memcpy DtoD', 2, 0.15, 0.01, 300, 15.0)])

  def test_a_window_cuts_what_reaches_over_its_edges(self):
    self.assertEqual([(w.begin, w.end) for w in trace.cut([work(0, 10), work(20, 30), work(40, 50)], 5, 25)], [(5, 10), (20, 25)])


class Gaps(unittest.TestCase):
  def test_a_gap_is_parted_into_host_launch_and_device(self):
    calls = [call(5, 20, 'cuStreamQuery'), call(60, 80, id_=2), call(30, 100, 'cuEventQuery', thread=9)]
    found, = trace.gaps(trace_of([work(0, 10, 1), work(110, 120, id_=2)], calls), [work(0, 10, 1), work(110, 120, id_=2)])
    self.assertEqual(found.parts, {'cuStreamQuery': 10, trace.NO_CALL: 40, 'in the launch, cuMemcpyAsync': 20, trace.LAUNCHED: 30})
    self.assertEqual((found.most, found.other_rank, found.begin, found.end), (trace.NO_CALL, True, 10, 110))

  def test_work_that_was_launched_before_waits_for_the_device(self):
    works = [work(20, 40, id_=1), work(50, 60, id_=2)]
    found, = trace.gaps(trace_of(works, [call(0, 5, id_=1), call(5, 10, id_=2)]), works)
    self.assertEqual((found.parts, found.other_rank), ({trace.LAUNCHED: 10}, False))

  def test_a_launch_under_way(self):
    works = [work(0, 40), work(50, 60, id_=2)]
    found, = trace.gaps(trace_of(works, [call(30, 90, 'cuGraphLaunch', id_=2)]), works)
    self.assertEqual(found.parts, {'in the launch, cuGraphLaunch': 10})

  def test_works_of_one_graph(self):
    works = [work(20, 40, id_=2), work(50, 60, id_=2)]
    self.assertEqual(trace.gaps(trace_of(works, [call(0, 9, id_=2)]), works)[0].parts, {trace.WITHIN: 10})

  def test_numbers_of_launches_are_those_of_a_rank(self):
    works = [work(0, 40, 0, id_=2), work(50, 60, 1, id_=2)]
    self.assertEqual(trace.gaps(trace_of(works, [call(0, 9, id_=2)]), works)[0].parts, {trace.UNKNOWN: 10})

  def test_no_gap_under_a_longer_work(self):
    works = [work(0, 100), work(10, 20, 1), work(30, 40, 1), work(105, 110)]
    self.assertEqual([(g.begin, g.end, g.other_rank) for g in trace.gaps(trace_of(works), works)], [(100, 105, False)])

  def test_kinds_of_gaps(self):
    works = [work(0, 10, 1), work(20, 30), work(50, 60), work(63, 70, 1)]
    rows = trace.kinds_of_gaps(trace.gaps(trace_of(works), works))
    self.assertEqual(rows, [(trace.UNKNOWN, 'the same rank', 'memcpy DtoD', 1, 20, 20, 20),
                            (trace.UNKNOWN, 'another rank', 'memcpy DtoD', 2, 13, 6.5, 10)])


class Calls(unittest.TestCase):
  def test_functions_by_rank(self):
    calls = [call(0, 10), call(10, 30), call(0, 5, rank=1), call(0, 50, 'cuStreamSynchronize')]
    self.assertEqual(trace.functions(calls), {'cuStreamSynchronize': {0: (1, 50)}, 'cuMemcpyAsync': {0: (2, 30), 1: (1, 5)}})
    self.assertEqual(list(trace.functions(calls)), ['cuStreamSynchronize', 'cuMemcpyAsync'])

  def test_delays_are_those_of_the_first_work_of_a_launch(self):
    works = [work(30, 40, id_=1), work(50, 60, id_=1), work(100, 110, id_=2)]
    rows = trace.delays(trace_of(works, [call(10, 20, id_=1), call(60, 80, id_=2)]), works)
    self.assertEqual(rows, [('cuMemcpyAsync', 'memcpy DtoD', 2, 30, 15)])


class Program(unittest.TestCase):
  def lines(self, rank):
    yield {'kind': 'start', 'rank': rank, 'pid': rank}
    for n in range(20):
      begin = 1000000 + n * 10000 + rank * 5000
      yield {'kind': 'api', 'name': 'cuMemcpyAsync', 'thread': 1, 'id': n + 1, 'begin': begin, 'end': begin + 1000}
      yield {'kind': 'memcpy', 'copy': 'DtoD', 'bytes': 4096, 'stream': 7, 'id': n + 1, 'begin': begin + 2000, 'end': begin + 3000}
    yield {'kind': 'end', 'records': 40, 'dropped': 0, 'lost': 0}

  def run_it(self, folder, *options):
    return subprocess.run([sys.executable, FOLDER / 'trace.py', folder, *options], capture_output=True, text=True, check=False)

  def test_page_and_picture(self):
    with tempfile.TemporaryDirectory() as folder:
      self.assertIn('no work of a device', self.run_it(folder).stderr)
      for rank in (0, 1):
        (pathlib.Path(folder) / f'trace-{rank}.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in self.lines(rank)))
      ran = self.run_it(folder, '--svg', f'{folder}/a.svg', '--works', '3')
      self.assertEqual((ran.returncode, ran.stderr), (0, ''))
      # 40 works of 1 us, each 5 us after the one before.
      self.assertIn('Busy for 20.4 % of 196.0 us; 1.00 works at once', ran.stdout)
      self.assertIn('| no call (waits for other ranks, or computes) | 78.0 | 50.0 % | 39.8 % |', ran.stdout)
      self.assertIn('| launched, not begun | 39.0 | 25.0 % | 19.9 % |', ran.stdout)
      self.assertIn('| cuMemcpyAsync | memcpy DtoD | 40 | 2.0 | 1.0 |', ran.stdout)
      picture = xml.dom.minidom.parse(f'{folder}/a.svg')
      titles = [title.firstChild.data for title in picture.getElementsByTagName('title')]
      # Each work is in the row of its rank, and in that of the device.
      self.assertEqual(sum('memcpy DtoD,' in title for title in titles), 12)
      self.assertIn('there are 0 to 0', self.run_it(folder, '--stretch', '1').stderr)

  def test_marks_of_the_axis(self):
    self.assertEqual([timeline.step_of(span) for span in (8, 10, 11, 30, 99, 101)], [1, 1, 2, 5, 10, 20])


if __name__ == '__main__':
  unittest.main()
