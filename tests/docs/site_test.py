#!/usr/bin/env python3
"""The site shows the picture of each figure where its page names the data; what makes it is installed once."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Python has a module of that name.
SPEC = importlib.util.spec_from_file_location('quadrille_site', ROOT / 'scripts' / 'site.py')
SITE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SITE)
HINT = pathlib.Path('docs/results/hint.md')


class Pictures(unittest.TestCase):
  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.root = pathlib.Path(self.folder.name)
    (self.root / 'pictures' / 'hint').mkdir(parents=True)
    (self.root / 'pictures' / 'hint' / 'hint-8.svg').write_text('<svg/>')

  def tearDown(self):
    self.folder.cleanup()

  def pages(self, pictures):
    return SITE.Pages(self.root / 'site', self.root / 'pictures' if pictures else None)

  def test_behind_its_data(self):
    made = self.pages(True)
    text = made.with_links(HINT, made.with_pictures(HINT, (ROOT / HINT).read_text()))
    self.assertEqual(text.count('![hint-8](hint/hint-8.svg)'), 1)
    self.assertIn('[hint-8.json](hint/hint-8.json).\n\n![hint-8]', text)
    self.assertNotIn('![hint-6]', text, 'that was not drawn')
    self.assertTrue((self.root / 'site' / 'docs' / 'results' / 'hint' / 'hint-8.svg').is_file())
    self.assertEqual(made.problems, [])

  def test_without_pictures(self):
    self.assertNotIn('![', self.pages(False).with_pictures(HINT, (ROOT / HINT).read_text()))

  def test_each_data_line_of_a_page_would_have_one(self):
    for name in ('hint', 'isomorphic', 'bruck', 'cache-oblivious'):
      text = (ROOT / 'docs' / 'results' / f'{name}.md').read_text()
      self.assertEqual(len(SITE.DATA.findall(text)), sum(': [' in line and line.endswith('.json).') for line in text.splitlines()), name)


class SetUp(unittest.TestCase):
  def test_what_is_there_is_not_installed_again(self):
    with tempfile.TemporaryDirectory() as folder:
      root = pathlib.Path(folder)
      (root / 'scripts').mkdir()
      for name in ('setup.sh', 'wheels.txt'):
        shutil.copy(ROOT / 'scripts' / name, root / 'scripts')
      for line in (ROOT / 'scripts' / 'wheels.txt').read_text().splitlines():
        if line.startswith(('venv-site ', 'venv-pictures ')):
          venv, wheel = line.split()[:2]
          (root / 'build' / venv / 'lib' / 'python3' / 'site-packages' / (wheel.replace('==', '-') + '.dist-info')).mkdir(parents=True)
      for what in ('site', 'pictures'):
        done = subprocess.run([root / 'scripts' / 'setup.sh', what], env={**os.environ, 'PIP_NO_INDEX': '1'}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)


if __name__ == '__main__':
  unittest.main()
