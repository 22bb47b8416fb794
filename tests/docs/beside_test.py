#!/usr/bin/env python3
"""What is measured beside the papers: rows of programs become rows of a file, with all runs of each."""

import json
import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'lab'), str(ROOT / 'bench')]
import beside as command  # noqa: E402
import fft2d  # noqa: E402
import hosts  # noqa: E402
import model  # noqa: E402
import request_calls  # noqa: E402
from programs import beside, common, costs, stored  # noqa: E402


def said(size, algorithm, mpi, ours, by='inbox'):
  return {'collective': 'alltoall', 'bytes': size, 'algorithm': algorithm, 'served_by': by, 'mpi_us': mpi, 'quadrille_us': ours,
          'pair_ratio': ours / mpi, 'batches': 5, 'errors': 0}


class Stored(unittest.TestCase):
  def test_four_digits_and_a_row_a_line(self):
    text = stored.text_of({'a': 'b'}, [{'us': [1.23456, 123456.7], 'bytes': 1234567}, {'us': []}])
    self.assertEqual(text, '{"a": "b",\n "rows": [\n  {"us":[1.235, 123500], "bytes":1234567},\n  {"us":[]}\n ]}\n')
    self.assertEqual(json.loads(stored.text_of({}, {'x': [], 'y': [1.0]})), {'x': [], 'y': [1.0]})


class Runs(unittest.TestCase):
  RUNS = [[said(8, 'default', 2, 1), said(64, 'default', 4, 1)], [said(8, 'default', 2, 2), said(64, 'default', 4, 1, 'heap')]]
  CASE = beside.Case('alltoall', 'alltoall', 2, '8,64')

  def test_a_row_has_all_runs_and_who_served_them(self):
    rows = beside.rows_of_runs(self.CASE, 'Open MPI', self.RUNS)
    self.assertEqual([(row['bytes'], row['us'], row['by'], row['batches']) for row in rows],
                     [(8, [1, 2], ['inbox'], [5, 5]), (64, [1, 1], ['inbox', 'heap'], [5, 5])])

  def test_a_layout_gets_one_run_after_the_other(self):
    rows = []
    for run in self.RUNS:
      rows = hosts.with_run(rows, run)
    self.assertEqual(
      [(row['us'], row['by'], row['ratio']) for row in rows],
      [([1, 2], ['inbox'], [0.5, 1.0]), ([1, 1], ['inbox', 'heap'], [0.25, 0.25])],
    )

  def test_old_runs_of_a_layout_go_when_a_new_one_comes(self):
    with unittest.mock.patch.object(hosts, 'store') as store, unittest.mock.patch.object(hosts, 'load') as load, \
         unittest.mock.patch.object(pathlib.Path, 'is_file', lambda _: True):
      load.return_value = {'commit': 'old', 'rows': hosts.with_run([], self.RUNS[0])}
      self.assertEqual([hosts.runs_in(pathlib.Path('a'), commit) for commit in ('old', 'new', '', 'old+')], [1, 0, 0, 0])
      layouts = hosts.Layouts('folder')
      for commit in ('new', 'new'):
        layouts.add_run('a', {'commit': commit}, self.RUNS[0])
        load.return_value = {'commit': commit, 'rows': store.call_args[0][2]}
      self.assertEqual([row['us'] for row in store.call_args[0][2]], [[1, 1], [1, 1]])
      # Of changed sources nobody knows; those measured just now stay.
      changed = hosts.Layouts('folder')
      for _ in range(2):
        changed.add_run('a', {'commit': 'new+'}, self.RUNS[0])
        load.return_value = {'commit': 'new+', 'rows': store.call_args[0][2]}
      self.assertEqual(store.call_args[0][2][0]['us'], [1, 1])

  def test_fft2d_has_a_row_for_each_way(self):
    runs = [{'total_s': 2.0, 'alltoall_s': {'min': 1.0, 'median': 1.5, 'max': 3.0}}] * 2
    self.assertEqual(
      fft2d.row_of('mpi', runs),
      {'way': 'mpi', 'total_s': [2.0] * 2, 'least_s': [1.0] * 2, 'median_s': [1.5] * 2, 'most_s': [3.0] * 2},
    )


class Printed(unittest.TestCase):
  """What programs print."""

  def test_calls_of_the_c_api(self):
    text = ("8 bytes:  blocking 0.069  nonblocking 0.160  MPI persistent 2.113\n"
            "   ratios:  persistent/blocking 0.860 (0.825..0.882)  nonblocking/MPI's 0.061 (0.059..0.062)  "
            "persistent/MPI's nonblocking 0.027 (0.027..0.028)\n")
    self.assertEqual(
      request_calls.api_rows(text),
      [
        {
          'bytes': 8,
          'us': {'blocking': 0.069, 'nonblocking': 0.16, 'MPI persistent': 2.113},
          'ratios': {
            'persistent/blocking': [0.86, 0.825, 0.882],
            "nonblocking/MPI's": [0.061, 0.059, 0.062],
            "persistent/MPI's nonblocking": [0.027, 0.027, 0.028],
          },
        }
      ],
    )

  def test_calls_under_the_mpis_names(self):
    text = (
      "completion:  Wait under Quadrille 5.2  Wait of the MPI 4.6\n   nanoseconds more:  Wait 0.531 (0.504..0.653)\n"
      "8 bytes:  API nonblocking 0.462  nonblocking 0.623\n   ratios:  nonblocking/MPI's 0.689 (0.647..0.828)  microseconds more:  "
      "nonblocking-API's 0.163 (0.041..0.229)\n   overlap:  both 1.570  MPI both 1.665  hidden -14.460 (-37.968..-0.411)  "
      "hidden by the MPI 0.476 (-20.500..23.411)\n"
    )
    self.assertEqual(request_calls.completion_rows(text), [{'call': 'Wait', 'more_ns': [0.531, 0.504, 0.653]}])
    row = request_calls.names_rows(text)[0]
    self.assertEqual(row['us'], {'nonblocking': 0.623, 'both': 1.57, 'MPI both': 1.665})
    self.assertEqual(row['values']['hidden'], [-14.46, -37.968, -0.411])
    self.assertEqual(set(row['values']), {"nonblocking/MPI's", "nonblocking-API's", 'hidden', 'hidden by the MPI'})

  def test_the_fit_of_the_model(self):
    rows, other = model.fit_of('head\n   alltoallv        8  spread-out     1897.20      1130.34\n  x; median error 10%\n')
    self.assertEqual(
      rows,
      [{'collective': 'alltoallv', 'bytes': 8, 'algorithm': 'spread-out', 'measured_us': 1897.2, 'model_us': 1130.34}],
    )
    self.assertEqual(other, ['head', 'x; median error 10%'])


class Cases(unittest.TestCase):
  def cases(self, name):
    found = []
    one = command.MEASUREMENTS[name]
    counts = [int(count) for count in one.ranks.split(',')]
    with unittest.mock.patch.object(beside, 'measure_cases', lambda options, cases: found.extend(cases)):
      one.measure(common.Options(pathlib.Path('/none'), counts, 1))
    return found

  def test_command_lines(self):
    one = self.cases('uneven')[0]
    self.assertEqual(one.ranks, 16)
    self.assertIn(
      '--no-node --distribution uniform --sizes 16:2K --algorithms spread-out,two-phase-bruck:radix=2',
      beside.shown(one),
    )
    self.assertNotIn('--algorithms', beside.shown(self.cases('small')[0]))

  def test_names_differ(self):
    for name in ('small', 'calls', 'neighbours', 'uneven'):
      names = [beside.name_of(case) for case in self.cases(name)]
      self.assertEqual(len(names), len(set(names)))

  def test_layouts_are_those_of_the_files(self):
    for kind in ('chosen', 'tuna'):
      self.assertEqual(sorted(hosts.layouts(kind)), sorted(path.stem for path in hosts.STORED.glob(f'{kind}-*.json')))
      for name, (mpi, ranks_hosts, here, commands) in hosts.layouts(kind).items():
        self.assertEqual([hosts.shown(mpi, ranks_hosts, here, words).replace('--blocked ', '') for words in commands],
                         [one.replace('--blocked ', '').replace(f'build/{mpi}/bin', 'build/bin')  # older data have a tool per MPI
                          for one in stored.load(hosts.STORED / f'{name}.json')['commands']])


class Costs(unittest.TestCase):
  options = common.Options(pathlib.Path('/none'), [2], 2, lambda text: None)

  def test_set_up_is_of_the_call_that_does_it(self):
    printed = 'init 1000.5\nworld 7\n' + ''.join(f'call {call} {100 if call == 11 else call}\n' for call in range(1, 21))
    with unittest.mock.patch.object(costs, 'launch', lambda *_, **__: printed):
      _, rows = costs.measure_setup(self.options)
    self.assertEqual([(row['line'], row['us']) for row in rows if row['what'] == 'call 11 on a new communicator'],
                     [('MPI', [100, 100]), ('Quadrille', [100, 100])])
    self.assertEqual([row['us'][0] for row in rows if row['line'] == 'MPI'], [1000.5, 7, 1, 6, 100, 12, 16.5])

  def test_memory_is_in_nanoseconds(self):
    with unittest.mock.patch.object(costs, 'heap_run', lambda *_: [(16, 9.6, 20.0)]):
      _, rows = costs.measure_heap(self.options)
    self.assertEqual(
      [(row['blocks'], row['ns']) for row in rows if row['heap'] == 'libc'], [(1, [9.6, 9.6]), (32, [20.0, 20.0])]
    )

  def test_recording_is_that_of_the_rank_that_takes_longest(self):
    def launch(_build, _ranks, _words, _settings, mpirun, **_):
      data = {'ranks': 2, 'recording': [0.001, 0.002], 'seconds': [1, 2], 'calls': [{'calls': 3000}, {'calls': 1000}]}
      pathlib.Path(mpirun[mpirun.index('--data') + 1]).write_text(json.dumps(data))
    with unittest.mock.patch.object(costs, 'launch', launch):
      _, rows = costs.measure_recording(self.options)
    row = stored.short(rows[0])
    self.assertEqual((row['calls'], row['ns'], row['percent'], row['seconds']), (4000, [500, 500], [0.1, 0.1], [2, 2]))


if __name__ == '__main__':
  unittest.main()
