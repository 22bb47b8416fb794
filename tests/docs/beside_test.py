#!/usr/bin/env python3
"""What is measured beside the papers: rows of the benchmark become rows of a page, with the ratio of each run and who served it."""

import json
import pathlib
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'lab'))
import applications  # noqa: E402
from programs import beside, common, costs  # noqa: E402


def said(size, algorithm, mpi, ours, by='inbox'):
  return {'bytes': size, 'algorithm': algorithm, 'served_by': by, 'mpi_us': mpi, 'quadrille_us': ours, 'errors': 0}


def panel_of(runs):
  return {'title': 'alltoall, 2 ranks, Open MPI', 'x': 'bytes', 'y': 'µs', 'mpi': 'Open MPI', 'ranks': 2, 'command': 'mpirun x',
          'rows': beside.rows_of_runs(runs)}


RUNS = [[said(8, 'default', 2, 1), said(64, 'default', 4, 1)], [said(8, 'default', 2, 2), said(64, 'default', 4, 1, 'heap')],
        [said(8, 'default', 4, 1), said(64, 'default', 4, 1)]]


class Pages(unittest.TestCase):
  def test_a_ratio_is_that_of_a_run(self):
    self.assertEqual(beside.ratios(panel_of(RUNS), 'Quadrille')[8], [0.5, 1, 0.25])

  def test_a_row_has_times_ratio_and_who_served_it(self):
    text = beside.table(panel_of(RUNS))
    self.assertIn('    mpirun x\n', text)
    self.assertIn('    8  2.00 (2.00..4.00)  1.00 (1.00..2.00)  0.50 (0.25..1.00)  inbox\n', text)
    self.assertIn('inbox / heap\n', text)
    self.assertIn('geometric mean over the sizes: Quadrille 0.35 (0.25..0.50), at one size at most 0.50.', text)

  def test_several_algorithms_have_names(self):
    text = beside.table(panel_of([[said(8, 'sloav', 2, 1), said(8, 'spread-out', 2, 3)]]))
    self.assertRegex(text, r'8 +sloav +2\.00 .* 0\.50 ')
    self.assertRegex(text, r'8 +spread-out +2\.00 .* 1\.50 ')
    self.assertEqual(text.count('2.00 (2.00..2.00)'), 2)

  def test_a_page_of_no_paper_has_no_claims(self):
    data = {'application': 'alltoall-small', 'command': 'c', 'ranks': 2, 'processors': 2, 'cpu': 'a', 'mpi': 'b', 'runs': 3, 'how': 'So.',
            'panels': [panel_of(RUNS)]}
    page = applications.page_of(data, False)
    self.assertNotIn('Source', page)
    self.assertNotIn('verdict', page)
    self.assertEqual(applications.summary_of(data), common.NO_NUMBER)

  def test_the_front_page_has_medians(self):
    runs = [[said(size, 'default', 2, 1) for size in beside.FRONT]]
    rows = beside.front_rows({'panels': [panel_of(runs)]})
    self.assertEqual([row.split() for row in rows], [[str(size), 'default', 'inbox', '2.00', '1.00', '0.50', '0'] for size in (8, 64, 512)])

  def test_copies_are_compared_with_rows(self):
    rows = [{'line': order, 'bytes': size, **common.spread([us * 1e-6])} for size in (8, 4096)
            for order, us in zip(beside.ORDERS, (4, 8, 2, 1))]
    claims = beside.copy_claims({'panels': [{'title': 'a', 'x': 'bytes', 'rows': rows}]})
    self.assertEqual([round(one.here[0], 6) for one in claims], [0.5, 0.5, 2, 2, 4, 4])

  def test_the_front_page_is_written_and_checked(self):
    data = {'panels': [panel_of([[said(size, 'default', 2, 1) for size in beside.FRONT]])]}
    before = 'So:\n\n         bytes algorithm x\n             8 default  1\n            64 default  2\n\nTimes.\n'
    text = applications.with_front_rows(before, data)
    self.assertIn('           512 default      inbox ', text)
    self.assertNotIn('default  2', text)
    self.assertTrue(text.endswith('errors\n' + ''.join(f'    {row}\n' for row in beside.front_rows(data)) + '\nTimes.\n'))
    self.assertEqual(applications.with_front_rows(text, data), text)


class Cases(unittest.TestCase):
  def cases(self, name):
    found = []
    one = applications.APPLICATIONS[name]
    counts = [int(count) for count in applications.RANKS[name].split(',')]
    with unittest.mock.patch.object(beside, 'measure_cases', lambda options, cases: found.extend(cases)):
      one.measure(common.Options(pathlib.Path('/none'), counts, 1))
    return found

  def test_command_lines(self):
    one = self.cases('uneven-data')[0]
    self.assertEqual(one.ranks, 16)
    self.assertIn('--no-node --distribution uniform --sizes 16:2K --algorithms spread-out,two-phase-bruck:radix=2', beside.shown(one))
    self.assertNotIn('--algorithms', beside.shown(self.cases('alltoall-small')[0]))

  def test_titles_are_told_apart(self):
    for name in ('alltoall-small', 'inside-a-node', 'neighbours', 'uneven-data'):
      titles = [(case.title, case.ranks) for case in self.cases(name)]
      self.assertEqual(len(titles), len(set(titles)))


class Costs(unittest.TestCase):
  options = common.Options(pathlib.Path('/none'), [2], 2, lambda text: None)

  def test_set_up_is_of_the_call_that_does_it(self):
    said = 'init 1000.5\nworld 7\n' + ''.join(f'call {call} {100 if call == 11 else call}\n' for call in range(1, 21))
    with unittest.mock.patch.object(costs, 'launch', lambda *_, **__: said):
      _, panels = costs.measure_setup(self.options)
    rows = {panel['title']: panel['rows'] for panel in panels}
    self.assertEqual([(row['line'], row['us']) for row in rows['call 11 on a new communicator']], [('MPI', 100), ('Quadrille', 100)])
    self.assertEqual([next(iter(one))['us'] for one in rows.values()], [1000.5, 7, 1, 6, 100, 12, 16.5])

  def test_memory_is_in_nanoseconds(self):
    with unittest.mock.patch.object(costs, 'heap_run', lambda *_: [(16, 9.6, 20.0)]):
      _, panels = costs.measure_heap(self.options)
    self.assertEqual([panel['title'] for panel in panels], ['1 block at a time', '32 blocks at a time'])
    self.assertIn('ns a block', costs.heap_table(panels[0]))
    self.assertIn(' 9.6 (9.6..9.6)', costs.heap_table(panels[0]))
    self.assertEqual(panels[1]['rows'][0]['bytes'], 16)

  def test_recording_is_that_of_the_rank_that_takes_longest(self):
    def launch(_build, _ranks, _words, _settings, mpirun, **_):
      data = {'ranks': 2, 'recording': [0.001, 0.002], 'seconds': [1, 2], 'calls': [{'calls': 3000}, {'calls': 1000}]}
      pathlib.Path(mpirun[mpirun.index('--data') + 1]).write_text(json.dumps(data))
    with unittest.mock.patch.object(costs, 'launch', launch):
      _, panels = costs.measure_recording(self.options)
    row = panels[0]['rows'][0]
    self.assertEqual((row['calls'], row['ns'], row['percent'], row['seconds']), (4000, [500, 500], [0.1, 0.1], [2, 2]))
    self.assertIn(' 500 (500..500)  0.10 (0.10..0.10)', costs.recording_table(panels[0]))


if __name__ == '__main__':
  unittest.main()
