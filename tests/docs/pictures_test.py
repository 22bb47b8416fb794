#!/usr/bin/env python3
"""The checks of pictures and pages see what they are for."""

import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'lab'))
import figures  # noqa: E402
import pictures  # noqa: E402

ROW = {'collective': 'alltoall', 'algorithm': 'row', 'bytes': 64, 'mpi_us': 8.0, 'quadrille_us': 2.0}


class Pictures(unittest.TestCase):
  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.source = pathlib.Path(self.folder.name) / 'one.json'
    self.source.write_text(json.dumps({'figure': 'hint-6', 'plots': [{'title': 'a', 'rows': [ROW]}]}))

  def tearDown(self):
    self.folder.cleanup()

  def draw(self):
    self.source.with_suffix('.svg').write_text(f'<svg>{self.source.name}: data sha256 {pictures.hash_of(self.source)}</svg>')

  def test_a_picture_is_of_its_data(self):
    self.assertIn('there is no picture', pictures.what_is_wrong(self.source))
    self.draw()
    self.assertIsNone(pictures.what_is_wrong(self.source))
    self.source.write_text(self.source.read_text().replace('2.0', '2.1'))
    self.assertIn('is of other data', pictures.what_is_wrong(self.source))
    self.draw()
    self.source.with_suffix('.svg').write_text('<svg/>')
    self.assertIn('is of other data', pictures.what_is_wrong(self.source))

  def test_a_new_way_of_drawing_needs_new_pictures(self):
    self.draw()
    with unittest.mock.patch.dict(pictures.DRAWING, panels=pictures.DRAWING['panels'] + 1):
      self.assertIsNone(pictures.what_is_wrong(self.source), 'that of another form')
    with unittest.mock.patch.dict(pictures.DRAWING, figure=pictures.DRAWING['figure'] + 1):
      self.assertIn('is of other data', pictures.what_is_wrong(self.source))

  def test_forms(self):
    self.assertEqual(pictures.kind_of({'plots': [{'rows': [ROW]}]}), 'figure')
    self.assertEqual(pictures.kind_of({'map': 'x', 'cells': []}), 'map')
    for other in ([], {'rows': [ROW]}, {'figure': 'gpu-6', 'plots': [{'rows': [ROW]}]}, {'plots': [{'rows': []}]}, {'setups': []}):
      self.assertIsNone(pictures.kind_of(other))

  def test_curves_have_the_spread_of_the_runs(self):
    row = ROW | {'runs': {'mpi_us': [7.0, 8.0, 9.0], 'quadrille_us': [1.0, 2.0, 3.0]}}
    same = row | {'algorithm': 'column', 'identical_to': 'row'}
    curves = pictures.curves_of({'rows': [row, same, row | {'algorithm': 'row again'}]})
    self.assertEqual(curves, {'mpi': [(64, 8.0, 7.0, 9.0)], 'row': [(64, 2.0, 1.0, 3.0)], 'row again': [(64, 2.0, 1.0, 3.0)]})

  def test_panels_have_the_spread_of_the_runs_or_of_the_networks(self):
    rows = [{'line': 'a', 'bytes': 64, 'us': 2.0, 'least_us': 1.0, 'most_us': 4.0},
            {'line': 'a', 'bytes': 8, 'us': 2.0, 'fast_us': 3.0, 'slow_us': 1.5}, {'line': 'b', 'bytes': 8, 'us': 5.0},
            {'line': 'b', 'bytes': 64, 'why_not': 'so'}]
    self.assertEqual(pictures.panel_curves({'x': 'bytes', 'rows': rows}),
                     {'a': [(8, 2.0, 1.5, 3.0), (64, 2.0, 1.0, 4.0)], 'b': [(8, 5.0, 5.0, 5.0)]})

  def test_maps_have_ours_over_the_mpis(self):
    names, xs, ratios = pictures.ratios_of([ROW, ROW | {'algorithm': 'row again'}, ROW | {'bytes': 8, 'quadrille_us': 16.0}])
    self.assertEqual((names, xs, ratios), (['row'], [8, 64], {('row', 64): 0.25, ('row', 8): 2.0}))


class Numbers(unittest.TestCase):
  PAGE = 'Text 99.99\n\n```\n     bytes          mpi\n        64 8.00 (7.00..9.00)    12.38=\n```\n'
  DATA = {'rows': [{'bytes': 64, 'mpi_us': 8.001, 'runs': [7.0, 9.0]}, {'us': 12.379}]}

  def test_numbers_of_the_data(self):
    self.assertEqual(figures.foreign_numbers(self.PAGE, self.DATA), [])

  def test_a_number_that_somebody_typed(self):
    self.assertEqual(figures.foreign_numbers(self.PAGE.replace('12.38', '12.39'), self.DATA), ['12.39'])
    self.assertEqual(figures.foreign_numbers(self.PAGE.replace('64', '65'), self.DATA), ['65'])
    self.assertEqual(figures.foreign_numbers(self.PAGE.replace('9.00', '9.10'), self.DATA), ['9.10'])


class Index(unittest.TestCase):
  TEXT = figures.INDEX.read_text()
  FIGURES = ['hint-6', 'gpu-10']

  def wrong(self, text):
    return figures.check_index(text, self.FIGURES)

  def test_it_is_complete(self):
    self.assertEqual(self.wrong(self.TEXT), [])

  def test_a_row_that_lacks(self):
    without = '\n'.join(line for line in self.TEXT.split('\n') if not line.startswith('| figure 18'))
    self.assertEqual(self.wrong(without), ['HINT: there is no row of figure 18'])
    without = '\n'.join(line for line in self.TEXT.split('\n') if 'gpu-10' not in line)
    self.assertEqual(self.wrong(without), ['GPUs: there is no row of figure 10', 'there is no row of --figure gpu-10'])

  def test_a_figure_that_no_paper_has(self):
    self.assertEqual(self.wrong(self.TEXT.replace('| figure 18 |', '| figure 18 | a | | | agrees |\n| figure 19 |', 1)),
                     ['HINT: figure 19 is none of the paper'])

  def test_a_verdict_that_somebody_wrote(self):
    row = next(line for line in self.TEXT.split('\n') if '`--figure hint-6`' in line)
    cells = row.split('|')
    cells[5] = ' agrees '
    found = self.wrong(self.TEXT.replace(row, '|'.join(cells)))
    self.assertEqual(len(found), 1, found)
    self.assertIn('is not that of the data', found[0])

  def test_a_row_without_a_verdict(self):
    row = next(line for line in self.TEXT.split('\n') if line.startswith('| figure 18'))
    cells = row.split('|')
    cells[5] = '  '
    self.assertEqual(self.wrong(self.TEXT.replace(row, '|'.join(cells))), ['the row of HINT, figure 18 is not complete'])

  def test_pages_over_hosts_come_beside_the_others(self):
    with tempfile.TemporaryDirectory() as name:
      folder = pathlib.Path(name)
      (folder / 'hosts').mkdir()
      (folder / 'hosts' / 'new-1.json').write_text(json.dumps({'figure': 'new-1', 'claims': [{'verdict': 'agrees at this scale'}]}))
      row = '| figure 1 | a | `--figure new-1` | [new-1](new-1.md) | no. Some words |\n'
      made = '| figure 1 | a | `--figure new-1` | [new-1](new-1.md), [hosts](hosts/new-1.md) | 1 agree at this scale. Some words |\n'
      self.assertEqual(figures.index_of(row, folder), made)
      self.assertEqual(figures.index_of(made, folder), made)
      other = row.replace('new-1', 'new-2')
      self.assertEqual(figures.index_of(other, folder), other)

  def test_a_figure_without_data_beside_one_with_them(self):
    with tempfile.TemporaryDirectory() as name:
      folder = pathlib.Path(name)
      (folder / 'new-1.json').write_text(json.dumps({'figure': 'new-1', 'claims': [{'verdict': 'agrees'}]}))
      row = '| figure 1 | a | `--figure new-1`, `--figure new-2` | [new-1](new-1.md) | {}. Some words |\n'
      made = row.format('1 agree / measured: not measured yet')
      self.assertEqual(figures.index_of(row.format('no'), folder), made)
      (folder / 'hosts').mkdir()
      (folder / 'hosts' / 'new-2.json').write_text(json.dumps({'figure': 'new-2', 'claims': [{'verdict': 'disagrees'}]}))
      self.assertIn('| 1 agree / 1 disagree. Some words |', figures.index_of(made, folder))

  def test_data_over_hosts_say_who_played_them(self):
    text = '{\n  "hosts": 8,\n  "processors": 2,\n  "plots": [\n  ]\n}\n'
    noted = figures.with_note(text)
    self.assertIn('share its 2 processors', json.loads(noted)['note'])
    self.assertEqual(figures.with_note(noted), noted)
    self.assertEqual(list(json.loads(noted)), ['hosts', 'processors', 'note', 'plots'])
    self.assertEqual(figures.with_note(text.replace('8', '1')), text.replace('8', '1'))


if __name__ == '__main__':
  unittest.main()
