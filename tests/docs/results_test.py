#!/usr/bin/env python3
"""Each page below docs/results is written from data by a script that can check it, or has no measured numbers; and each is in the index.

A new page is an application (lab/applications.py), a figure (`quadrille bench --figure`), or stands here with the command that checks
it, which is a test of its own, too.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'lab'))
sys.path.insert(0, str(ROOT / 'bench'))
import applications  # noqa: E402
import figures  # noqa: E402
import gpu_numbers  # noqa: E402

RESULTS = ROOT / 'docs' / 'results'
INDEX = 'README.md'
# Pages of several files of data: who writes them says whether they are what it would write.
WRITERS = {'before-after.md': ['bench/before_after.py', 'check'], 'between-nodes.md': ['bench/hosts_page.py', 'check'],
           'demo.md': ['scripts/demo.py', '--check', 'docs/results/demo.json'], 'fft2d.md': ['bench/fft2d.py', '--check'],
           'gpu.md': ['bench/gpu_page.py', 'check'], 'model.md': ['bench/model_page.py', 'check'],
           'requests.md': ['bench/requests_page.py', 'check'], 'scale.md': ['bench/scale_page.py', 'check'],
           'tuna.md': ['bench/tuna_page.py', 'check']}
# Only the tool can compute what stands there, so docs.figures checks it.
COMPUTED = {'maps.md': 'lab/figures.py check'}
WITHOUT_NUMBERS = {INDEX: 'the index: counts of verdicts, which lab/figures.py and lab/applications.py check, and words',
                   'hosts.md': 'how one machine plays hosts'}

# Times, rates and ratios, as somebody would type them; a section of a paper is none.
MEASURED = re.compile(r'\d ?(?:us|µs|ns|ms|s|[KMG]B/s|percent|%)(?!\w)|\d times\b|(?<![\w.])\d+\.\d+(?![\w.])')
A_SECTION = re.compile(r'sections? \d[\d., and]*')


def measured_in(text):
  """What looks like a measured number in a page that should have none; rows of numbers are tables of them."""
  found = MEASURED.findall(A_SECTION.sub('', text))
  for line in text.splitlines():
    cells = [cell.strip() for cell in line.strip('|').split('|')] if line.startswith('|') else []
    found += [line] if sum(bool(re.fullmatch(r'[\d.,]+', cell)) for cell in cells) > 1 else []
  return found


def pages(folder):
  return sorted(folder.rglob('*.md'))


def data_of(page):
  path = page.with_suffix('.json')
  data = json.loads(path.read_text()) if path.is_file() else {}
  return data if isinstance(data, dict) else {}


def problem_of(page, folder):
  """Why a page may not be there as it is; None if it may. Of `WRITERS` their own tests say it."""
  name = str(page.relative_to(folder))
  if name in WRITERS or name in COMPUTED:
    return None
  if name in WITHOUT_NUMBERS:
    found = measured_in(page.read_text())
    return f'{name} has numbers that nobody checks: {found[:3]}' if found else None
  data = data_of(page)
  if data.get('application') == page.stem and page.stem in applications.APPLICATIONS:
    return applications.problem_of(page.with_suffix('.json'))
  if 'figure' in data and not data['figure'].startswith('gpu-'):
    return next(iter(figures.check_numbers(page.with_suffix('.json'))), None)
  return f'{name}: no script writes this page from data and checks it'


def without_row(folder):
  """Pages to which the index has no row."""
  index = (folder / INDEX).read_text()
  rows = [line for line in index.splitlines() if line.startswith('| ')]
  names = [str(page.relative_to(folder)) for page in pages(folder)]
  return [name for name in names if name != INDEX and not any(f'({name})' in row for row in rows)]


class Stored(unittest.TestCase):
  def test_each_page_is_checked_or_has_no_numbers(self):
    self.assertEqual([problem for page in pages(RESULTS) if (problem := problem_of(page, RESULTS))], [])

  def test_each_page_has_a_row_in_the_index(self):
    self.assertEqual(without_row(RESULTS), [])

  def test_pages_of_scripts_are_what_they_write(self):
    for name, command in WRITERS.items():
      with self.subTest(name):
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

  def test_each_script_is_a_test_of_its_own(self):
    listed = (ROOT / 'tests' / 'docs' / 'CMakeLists.txt').read_text()
    scripts = [pathlib.Path(command[0]).stem for command in WRITERS.values()]
    self.assertEqual([script for script in scripts if not re.search(rf'[:/]{script}(?:\.py\n|:)', listed)], [])

  def test_all_that_is_registered_is_there(self):
    self.assertEqual([name for name in [*WRITERS, *COMPUTED, *WITHOUT_NUMBERS] if not (RESULTS / name).is_file()], [])
    applied = [f'{name}.md' for name in applications.APPLICATIONS]
    self.assertEqual([name for name in applied if not (RESULTS / name).is_file()], [])


class Seen(unittest.TestCase):
  """What the test is for."""

  def problem(self, name, text, data=None):
    with tempfile.TemporaryDirectory() as folder:
      page = pathlib.Path(folder) / name
      page.write_text(text)
      if data:
        page.with_suffix('.json').write_text(json.dumps(data))
      return problem_of(page, page.parent)

  def test_a_page_of_nobody(self):
    self.assertIn('no script writes', self.problem('new.md', '# New\n'))
    self.assertIn('no script writes', self.problem('new.md', '# New\n', {'application': 'other'}))

  def test_a_row_that_somebody_typed(self):
    self.assertIn('nobody checks', self.problem('hosts.md', '# Hosts\n\n| 64 | 12 |\n'))
    name, data = 'bruck-12', json.loads((RESULTS / 'bruck-12.json').read_text())
    page = applications.page_of(data, False)
    self.assertIsNone(self.problem(f'{name}.md', page, data))
    self.assertIn('not what its data say', self.problem(f'{name}.md', page + '| 64 | 12 |\n', data))

  def test_numbers_in_words(self):
    for text in ('takes 0.5 of it', '12 us', '3 µs a call', '20% less', '1.06 GB/s', '4 times as fast', 'in 300 ms'):
      self.assertTrue(measured_in(text), text)
    for text in ('sections 3.3 and 5', '16 hosts of 4 ranks', '1 agree, 7 disagree', '256 B to 32 KiB', 'figures 12 to 14', 'N = 512'):
      self.assertEqual(measured_in(text), [], text)

  def test_numbers_in_the_words_on_gpus(self):
    for words in ('takes 12 us', '1,130 with less', '3.1 times its time', 'with 3.5 times', 'with 12 us', 'with 4 to 13 us',
                  'run 3, 256 us', '5 % at most', '{pull_2} and 550 with 4', '9 values were wrong'):
      self.assertTrue(gpu_numbers.typed(words), words)
    for words in ('with 2 ranks, {pull_4} with 4 and {pull_8} with 8', 'runs 1 and 2', 'on 2, 3 and 4', 'blocks of 64 B to 4 KiB',
                  '`stride=5` on 4 ranks', '[bare copies](#of-2)'):
      self.assertEqual(gpu_numbers.typed(words), [], words)

  def test_words_on_gpus_of_which_the_data_say_otherwise(self):
    said = gpu_numbers.Said()
    said.numbers(us=12, more=13)
    said.claim('It takes {us} us, the least.', False)
    page = said.fill('It takes {us}\nus, the least.')
    self.assertEqual(page, 'It takes 12\nus, the least.')
    found = said.problems(page)
    self.assertIn('the data say otherwise: It takes 12 us, the least.', found)
    self.assertIn('is in no words: more', found)
    self.assertNotIn('is not said any more: It takes 12 us, the least.', found)
    self.assertIn('is not said any more: It takes 12 us, the least.', said.problems('It takes 13 us.'))
    self.assertRaises(KeyError, said.fill, '{nobody}')


if __name__ == '__main__':
  unittest.main()
