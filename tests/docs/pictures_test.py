#!/usr/bin/env python3
"""What is drawn of the stored figures, without what draws it."""

import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'lab'))
import pictures  # noqa: E402

ROW = {'line': 'row', 'bytes': 64, 'us': [1.0, 2.0, 3.0], 'mpi_us': [7.0, 8.0, 9.0]}


class Pictures(unittest.TestCase):
  def test_a_picture_of_the_same_data_is_not_drawn_again(self):
    with tempfile.TemporaryDirectory() as folder:
      source, picture = (pathlib.Path(folder) / name for name in ('one.json', 'one.svg'))
      source.write_text(json.dumps({'figure': 'hint-6', 'plots': [{'title': 'a', 'rows': [ROW]}]}))
      self.assertFalse(pictures.is_drawn(source, picture))
      picture.write_text(f'<svg>one.json: data sha256 {pictures.hash_of(source)}</svg>')
      self.assertTrue(pictures.is_drawn(source, picture))
      with unittest.mock.patch.dict(pictures.DRAWING, figure=pictures.DRAWING['figure'] + 1):
        self.assertFalse(pictures.is_drawn(source, picture), 'drawn in another way')
      source.write_text(source.read_text().replace('2.0', '2.1'))
      self.assertFalse(pictures.is_drawn(source, picture))
      self.assertEqual(pictures.files_with_pictures(pathlib.Path(folder)), [source])

  def test_forms(self):
    self.assertEqual(pictures.kind_of({'plots': [{'rows': [ROW]}]}), 'figure')
    self.assertEqual(pictures.kind_of({'map': 'x', 'cells': []}), 'map')
    self.assertEqual(pictures.kind_of({'counts': []}), 'counted')
    for other in ([], {'rows': [ROW]}, {'figure': 'gpu-6', 'plots': [{'rows': [ROW]}]}, {'plots': [{'rows': []}]}, {'setups': []}):
      self.assertIsNone(pictures.kind_of(other))

  def test_curves_have_the_spread_of_the_runs(self):
    curves = pictures.curves_of({'rows': [ROW, ROW | {'line': 'column', 'identical_to': 'row'}, ROW | {'line': 'row again'}]})
    self.assertEqual(curves, {'mpi': [(64, 8.0, 7.0, 9.0)], 'row': [(64, 2.0, 1.0, 3.0)], 'row again': [(64, 2.0, 1.0, 3.0)]})

  def test_panels_have_the_spread_of_the_runs_or_of_the_networks(self):
    rows = [{'line': 'a', 'bytes': 64, 'us': [4.0, 2.0, 1.0]}, {'line': 'a', 'bytes': 8, 'us': 2.0, 'fast_us': 1.5, 'slow_us': 3.0},
            {'line': 'b', 'bytes': 8, 'us': 5.0}, {'line': 'b', 'bytes': 64, 'why_not': 'so'}]
    self.assertEqual(pictures.panel_curves({'x': 'bytes', 'rows': rows}),
                     {'a': [(8, 2.0, 1.5, 3.0), (64, 2.0, 1.0, 4.0)], 'b': [(8, 5.0, 5.0, 5.0)]})

  def test_maps_have_ours_over_the_mpis(self):
    names, sizes, ratios = pictures.ratios_of([ROW, ROW | {'line': 'row again'}, ROW | {'bytes': 8, 'us': [16.0]}])
    self.assertEqual((names, sizes, ratios), (['row'], [8, 64], {('row', 64): 0.25, ('row', 8): 2.0}))

  def test_lines_differ_without_colours(self):
    styles = [pictures.style_of(i, f'line {i}') for i in range(8)]
    self.assertEqual(len({(one['marker'], one['linestyle']) for one in styles}), len(styles))
    self.assertEqual(len({one['color'] for one in styles}), len(styles))


if __name__ == '__main__':
  unittest.main()
