#!/usr/bin/env python3
"""The pages of the papers: what somebody typed, a sentence of which the data say otherwise, a figure without a row, a page or a file that
nobody knows are seen; totals have each claim once."""

import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'lab'), str(ROOT / 'lab' / 'papers')]
import fields  # noqa: E402
import index  # noqa: E402
import pages  # noqa: E402
import stored  # noqa: E402


def row(verdict, reason='', how='measured', note=''):
  return stored.Row('a is faster', 'a over b', 'above 1', '1.10', verdict, reason, note, how)


class Words(unittest.TestCase):
  def test_numbers_that_somebody_typed(self):
    for words in ('takes 12 us', '1.5 times as fast', 'with 8 ranks it is slower', 'at 4 KiB', 'twice, 2 times'):
      self.assertTrue(pages.typed(words), words)
    for words in ('with {ranks} ranks', 'Figures 12 to 14', 'Table 2 and section 3.3', 'Paper: 30 nodes of 16 processes', '`radix=2`', '## 8 hosts',
                  '[data](hint/hint-8.json)', 'the L3', 'HPDC 2022', '@data hint-12'):
      self.assertEqual(pages.typed(words), [], words)

  def page(self, text, sayings=(), **words):
    page = pages.Page('hint', {}, 'nowhere', words, sayings)
    page.words = text
    return page

  def test_a_page_has_its_fields(self):
    self.assertEqual(self.page('It takes {us} us.', us='12').text(), 'It takes 12 us.')
    self.assertRaises(KeyError, self.page('{nobody}').text)
    self.assertIn('no words use us', '\n'.join(self.page('It takes long.', us='12').problems()))

  def test_a_sentence_of_which_the_data_say_otherwise(self):
    said = '\n'.join(self.page('It is\nfaster.', [('It is faster.', True)]).problems())
    self.assertNotIn('said', said)
    self.assertNotIn('otherwise', said)
    self.assertIn('the data say otherwise: It is faster.', '\n'.join(self.page('It is faster.', [('It is faster.', False)]).problems()))
    self.assertIn('is not said any more: It is slower.', '\n'.join(self.page('It is faster.', [('It is slower.', True)]).problems()))

  def test_a_page_that_somebody_changed(self):
    with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(pages, 'RESULTS', pathlib.Path(folder)):
      page = self.page('It is faster.')
      page.path().write_text('It is faster.')
      self.assertEqual(page.problems(), [])
      page.path().write_text('It is slower.')
      self.assertIn('is not what the data say', page.problems()[0])


class Claims(unittest.TestCase):
  def test_words_of_a_verdict(self):
    self.assertEqual(row('agrees').words(), 'agrees')
    self.assertEqual(row('disagrees', how='at this scale', note='no crossover').words(), 'disagrees, at this scale; no crossover')
    self.assertEqual(row('cannot be told', 'no machine: 8 ranks', 'simulated').words(), 'cannot be told: no machine: 8 ranks')

  def test_claims_of_the_program_that_knows_the_figures(self):
    claim = {'text': 'a', 'fast': 'x', 'slow': 'y', 'paper': '2', 'here': 1.5, 'least': 1.25, 'most': 1.75, 'sizes': 2, 'verdict': 'agrees'}
    computed, measured = unittest.mock.Mock(is_computed=True), unittest.mock.Mock(is_computed=False)
    self.assertEqual(stored.row_of_figure(claim, computed)[1:5], ('x over y', '2', '1.50 (1.25..1.75)', 'agrees'))
    self.assertEqual(stored.row_of_figure(claim, computed).how, 'simulated')
    self.assertEqual(stored.row_of_figure(claim, measured).how, 'measured')
    self.assertEqual(stored.row_of_figure(claim | {'scale': 'other'}, measured).how, 'at this scale')
    self.assertEqual(stored.row_of_figure(claim | {'here': None, 'verdict': None}, measured)[3:5], ('-', 'no number to compare with'))
    self.assertEqual(stored.here_of(claim | {'least': 1.5, 'most': 1.5}), '1.50', 'one run')

  def test_totals_have_each_claim_once(self):
    rows = [row('agrees'), row('agrees', how='simulated'), row('cannot be told', 'no machine: few'), row('no number to compare with')]
    text = index.totals(rows)
    self.assertIn('| agrees | 1 |  | 1 | 2 |', text)
    self.assertIn('| cannot be told: no machine | 1 |  |  | 1 |', text)
    self.assertRaises(AssertionError, index.totals, [row('cannot be told', 'a whim')])
    self.assertEqual(index.counted(rows), ('2', '', '1 no machine'))


class Index(unittest.TestCase):
  def test_names_of_figures(self):
    self.assertEqual(index.names_in('figures 12 to 14'), {'figure 12', 'figure 13', 'figure 14'})
    self.assertEqual(index.names_in('figures 1, 4, table I'), {'figure 1', 'figure 4', 'table I'})
    self.assertEqual(index.names_in('figures 1 to 2, 7 to 8'), {'figure 1', 'figure 2', 'figure 7', 'figure 8'})
    self.assertEqual(index.names_in('sections 3.3 and 5'), set())

  def test_each_figure_has_one_row(self):
    for paper in index.PAPERS:
      self.assertEqual(index.problems_of(paper), [], paper.title)
    paper = index.Paper('hint', 'HINT', 2, ['1'], [index.Part('figure 1', ''), index.Part('figures 1, 3', '')])
    found = '\n'.join(index.problems_of(paper))
    for words in ('no row of figure 2', 'no row of table 1', 'figure 3 is none of the paper', 'two rows of figure 1'):
      self.assertIn(words, found)

  def test_each_file_has_a_row(self):
    self.assertIn('no row of the index has new-1', '\n'.join(index.problems({0: types.SimpleNamespace(path='new-1.json', name='new-1', rows=[], is_computed=False, is_played=False)})))


class Fields(unittest.TestCase):
  def test_where_a_line_gets_ahead(self):
    rows = [{'line': line, 'bytes': size, 'us': us, 'mpi_us': [9, 9]} for size, times in ((8, ([1, 1], [2, 2])), (64, ([3, 1], [2, 2])), (512, ([3, 3], [2, 2])))
            for line, us in zip(('slow', 'fast'), times)]
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / 'one.json'
      path.write_text(stored.json.dumps({'plots': [{'title': 'a', 'rows': rows}]}))
      one = stored.Stored(path)
      self.assertEqual(fields.first_ahead(one, 'fast', 'slow'), 512)
      self.assertEqual(one.ratios(0, 'slow', 'fast', 64), [1.5, 0.5])
      self.assertEqual(one.ratios('a', 'mpi', 'fast', 64), [4.5, 4.5])

  def test_ends_of_bruck(self):
    cells = [{'bytes': size, 'ranks': 2, 'algorithm': name} for size, name in ((16, 'two-phase-bruck'), (32, 'spread-out'), (64, 'two-phase-bruck'))]
    self.assertEqual(fields.bruck_ends({'cells': cells}), {2: 16})


if __name__ == '__main__':
  unittest.main()
