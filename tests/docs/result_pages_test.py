#!/usr/bin/env python3
"""The pages of results that lab/pages writes: a number that somebody typed, and a sentence of which the data say otherwise, are seen;
verdicts follow from data that are made here."""

import pathlib
import re
import subprocess
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'lab' / 'pages'))
import between_nodes  # noqa: E402
import gpu  # noqa: E402
import page  # noqa: E402
import picture  # noqa: E402
import simulated  # noqa: E402

NAMES = ('as-programs-call', 'between-nodes', 'inside-a-node', 'gpu')


class Words(unittest.TestCase):
  def test_numbers_that_somebody_typed(self):
    for words in (
      'takes 12 us',
      '1,130 with less',
      '3.1 times its time',
      'with 3.5 times',
      'with 12 us',
      'with 4 to 13 us',
      'run 3, 256 us',
      '5 % at most',
      '{pull_2} and 550 with 4',
      '9 values were wrong',
      'in 7 of 9 cases',
      'a ratio of 0.5',
    ):
      self.assertTrue(page.typed(words), words)
    for words in (
      'with 2 ranks, {pull_4} with 4 and {pull_8} with 8',
      'runs 1 and 2',
      'on 2, 3 and 4',
      'blocks of 64 B to 4 KiB',
      '`stride=5` on 4 ranks',
      '[bare copies](#of-2)',
      'all 32,768 ranks',
      'Figures 2, 8 and 10',
      '## 256 nodes',
      'Open MPI 4.1',
    ):
      self.assertEqual(page.typed(words), [], words)

  def test_sentences_of_which_the_data_say_otherwise(self):
    it = page.Page('made', 'It takes {us}\nus, the least.\nFrom the eighth call on.')
    it.numbers(us=12)
    self.assertEqual(it.text(), 'It takes 12 us, the least. From the eighth call on.\n')
    it.holds('It takes {us} us, the least.', True)
    it.code('From the eighth call on', 'src/memory/device_batch.hpp', 'before_graph = 8;')
    self.assertEqual(it.problems(), [])
    it.holds('the least.', False)
    it.holds('It takes 13 us', True)
    it.code('the least', 'src/memory/device_batch.hpp', 'before_graph = 9;')
    it.numbers(more=13)
    found = '\n'.join(it.problems())
    for words in (
      'the data say otherwise: the least.',
      'is not said any more: It takes 13 us',
      'the code says otherwise: the least',
      'no words use more',
    ):
      self.assertIn(words, found)
    self.assertNotIn('otherwise: It takes 12', found)
    self.assertRaises(KeyError, page.Page('made', '{nobody}').text)

  def test_each_page_is_seen_to_differ(self):
    pages = ROOT / 'lab' / 'pages'
    said = subprocess.run([sys.executable, pages, 'claims'], check=True, capture_output=True, text=True).stdout.splitlines()
    self.assertEqual({line.split('\t')[0] for line in said}, {'between-nodes', 'gpu'})
    for line in said:
      verdict = line.split('\t')[5]
      self.assertRegex(verdict, '^(agrees|disagrees|cannot be told: |no number to compare with$)', line)
    self.assertEqual(subprocess.run([sys.executable, pages, 'check', 'nobody'], check=False, capture_output=True).returncode, 1)
    self.assertEqual(sorted(path.name.removesuffix('.md.in') for path in pages.glob('*.md.in')), sorted(NAMES))


class Numbers(unittest.TestCase):
  def test_texts(self):
    self.assertEqual([page.near(number, 1.05) for number in (1.053, 1.05, 1.06)], ['1.053', '1.05', '1.06'])
    self.assertEqual(page.middle([1.05, 1.2, 1.11]), '1.11 (1.05..1.20)')
    self.assertEqual([page.span([1, 1.001]), page.span([3, 120]), page.span([])], ['1.00', '3.00 to 120', '-'])
    self.assertEqual([page.size_text(size) for size in (8, 1024, 3000, 1 << 21)], ['8 B', '1 KiB', '3000 B', '2 MiB'])

  def test_a_quarter_more_or_less_agrees(self):
    for here, word in (([1.0], 'disagrees'), ([1.61], 'agrees'), ([2.49], 'agrees'), ([2.51], 'disagrees'),
                       ([1.61, 1.0], 'cannot be told: the runs differ')):
      self.assertEqual(page.judged('2', here), word, here)
    self.assertEqual(page.judged('below 1', [1.1]), 'disagrees')


def row(us, by='leaders', mpi=100.0, size=8):
  return {'collective': 'alltoall', 'bytes': size, 'by': [by], 'mpi_us': [mpi] * len(us), 'us': us}


class Hosts(unittest.TestCase):
  def test_leaders_that_send_otherwise_are_not_compared(self):
    rows = [row([1.0], 'leaders:leaders=1,exchange=bruck', 2.0)]
    layout = types.SimpleNamespace(chosen=lambda *words, **more: rows)
    self.assertEqual(between_nodes.straight_leaders([layout]), [])
    rows[0]['by'] = ['leaders:leaders=1,exchange=spread-out,piece=65536']
    self.assertEqual(between_nodes.straight_leaders([layout]), [2])

  def test_rows_of_the_mpi_are_noise(self):
    def most(*rows):
      layout = types.SimpleNamespace(name='4x4', chosen=lambda collectives: [row(us, by) for by, *us in rows])
      return between_nodes.row_of_most('openmpi', [layout])[-1]
    self.assertEqual(most(('mpi', 118), ('leaders', 90)), 'reached')
    self.assertEqual(most(('mpi', 118), ('leaders', 110)), 'within the noise')
    self.assertEqual(most(('mpi', 101), ('leaders', 110)), 'not reached')
    self.assertEqual(most(('mpi', 99, 110, 112), ('leaders', 90)), 'reached')
    # All runs took longer: that is not noise.
    self.assertEqual(most(('mpi', 102, 110, 112), ('leaders', 90)), 'not reached')

  def test_how_far_a_number_is_from_its_readings(self):
    self.assertEqual(
      [
        simulated.factor({'paper': paper, 'simulated': 2.0})
        for paper in ([1, 4], [4, 8], [None, 1], [3, None], [1, None])
      ],
      [1, 2, 2, 1.5, 1],
    )

  def test_rows_without_a_price_have_no_verdict(self):
    rows = list(simulated.target_rows([simulated.Case(*one) for one in simulated.CASES]))
    for one in rows:
      self.assertEqual(one[-1].startswith('cannot be told'), one[1].endswith(', 8 B'), one)


class Pictures(unittest.TestCase):
  def test_names_do_not_lie_on_each_other(self):
    moved = sorted(picture.apart({'a': 10, 'b': 11, 'c': 60, 'd': 12}).values())
    self.assertEqual(moved, [10, 23, 36, 60])

  def test_lines_differ_and_lie_inside(self):
    for name in ('between-nodes', 'inside-a-node'):
      svg = (page.RESULTS / f'{name}.svg').read_text(encoding='utf-8')
      self.assertLess(len(svg), 60000)
      for part in svg.split('class="title"')[1:]:
        drawn = re.findall(r'<polyline points="([^"]*)" (stroke=[^/]*)/>', part)
        self.assertEqual(len({look for _, look in drawn}), len(drawn))
        heights = [float(point.split(',')[1]) for points, _ in drawn for point in points.split()]
        self.assertTrue(all(picture.TOP <= y <= picture.TOP + picture.HEIGHT for y in heights), name)


class Figure6(unittest.TestCase):
  def claims(self, *ratios):
    def data(ratio):
      rows = [{'ranks': 8, 'size': 1, 'algorithm': 'pairwise', 'mpi_us': ratio, 'quadrille_us': 1.0}] if ratio else []
      claim = {
        'text': 'a',
        'plot': 0,
        'fast': ['pairwise'],
        'slow': ['mpi'],
        'compare': 'mean',
        'ranks': [8, 8],
        'paper': 'about 1',
        'agrees_from': 0.8,
        'agrees_to': 1.25,
        'here': ratio,
      }
      return {'plots': [{'ranks_of_paper': [8, 16], 'sizes': [1], 'rows': rows}], 'claims': [claim]}
    return [(claim.here, claim.verdict) for claim in gpu.figure_claims([data(ratio) for ratio in ratios])]

  def test_verdicts(self):
    self.assertEqual(self.claims(0.81, 1.24), [('0.81, 1.24', 'agrees')])
    self.assertEqual(self.claims(0.81, None), [('0.81', 'agrees')])
    self.assertEqual(self.claims(0.81, 1.26), [('0.81, 1.26', 'cannot be told: the runs differ')])
    self.assertEqual(self.claims(2.0), [('2.00', 'disagrees')])
    self.assertEqual(self.claims(None), [('-', 'cannot be told: not measured: with 8 ranks')])


if __name__ == '__main__':
  unittest.main()
