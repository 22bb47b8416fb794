#!/usr/bin/env python3
"""Each page below docs/results is written from data by a script that can check it, or has no measured numbers; each is in the index; and
all of them stay small.

A new page of a paper is in lab/papers; another one is in lab/pages, where it is a test of its own.
"""

import json
import pathlib
import re
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'lab'))
sys.path.insert(0, str(ROOT / 'bench'))
import applications  # noqa: E402
import beside  # noqa: E402
import results  # noqa: E402

RESULTS = ROOT / 'docs' / 'results'
INDEX = 'README.md'
# Who writes them says whether they are what it would write: docs.papers, and docs.NAME.
OF_PAPERS = [f'{name}.md' for name in ('hint', 'isomorphic', 'bruck', 'cache-oblivious')] + [INDEX]
OTHERS = [f'{name}.md' for name in ('as-programs-call', 'between-nodes', 'inside-a-node', 'gpu')]
WITHOUT_NUMBERS = {'hosts.md': 'how one machine plays hosts'}
# Of all pages without the rows of claims, and of everything.
MOST_WORDS, MOST_BYTES = 15000, 2000000
MOST_PICTURES, MOST_OF_A_PICTURE = 6, 60000
A_CLAIM = re.compile(r'^\| .*\| (agrees|disagrees|cannot be told|no number to compare with)')

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


def problem_of(page, folder):
  """Why a page may not be there as it is; None if it may."""
  name = str(page.relative_to(folder))
  if name in OF_PAPERS or name in OTHERS:
    return None
  if name in WITHOUT_NUMBERS:
    found = measured_in(page.read_text())
    return f'{name} has numbers that nobody checks: {found[:3]}' if found else None
  return f'{name}: no script writes this page from data and checks it'


def without_link(folder):
  """Pages to which the index does not lead."""
  index = (folder / INDEX).read_text()
  names = [str(page.relative_to(folder)) for page in pages(folder)]
  return [name for name in names if name != INDEX and f']({name}' not in index]


def words_of(text):
  return sum(len(line.split()) for line in text.splitlines() if not A_CLAIM.match(line))


class Stored(unittest.TestCase):
  def test_each_page_is_checked_or_has_no_numbers(self):
    self.assertEqual([problem for page in pages(RESULTS) if (problem := problem_of(page, RESULTS))], [])

  def test_the_index_leads_to_each_page(self):
    self.assertEqual(without_link(RESULTS), [])

  def test_each_page_is_a_test_of_its_own(self):
    cmake = (ROOT / 'tests' / 'docs' / 'CMakeLists.txt').read_text()
    self.assertEqual([f'{name}.md' for name in re.search(r'foreach\(page ([^)]*)\)', cmake)[1].split()], OTHERS)
    self.assertIn('lab/papers check', cmake)
    self.assertEqual(sorted(f'{path.name.removesuffix(".in")}' for path in (ROOT / 'lab' / 'papers').glob('*.md.in')), sorted(OF_PAPERS))

  def test_all_that_is_registered_is_there(self):
    self.assertEqual([name for name in [*OF_PAPERS, *OTHERS, *WITHOUT_NUMBERS] if not (RESULTS / name).is_file()], [])

  def test_they_stay_small(self):
    files = [path for path in RESULTS.rglob('*') if path.is_file()]
    self.assertLess(sum(path.stat().st_size for path in files), MOST_BYTES)
    self.assertLess(sum(words_of(page.read_text()) for page in pages(RESULTS)), MOST_WORDS)
    pictures = [path.stat().st_size for path in files if path.suffix == '.svg']
    self.assertLessEqual(len(pictures), MOST_PICTURES)
    self.assertEqual([size for size in pictures if size > MOST_OF_A_PICTURE], [])


class Repeating(unittest.TestCase):
  """What `make results` and `make results-long` measure."""
  OPTIONS = types.SimpleNamespace(build='build/openmpi', out=pathlib.Path('nowhere'), runs=3)

  def names(self, jobs):
    return [job.name for job in jobs(self.OPTIONS, '')]

  def test_it_takes_less_than_two_hours(self):
    minutes = sum(job.seconds for job in results.usual_jobs(self.OPTIONS, '')) / 60
    self.assertLess(minutes, 120)
    self.assertIn(f'add to {minutes:.0f} minutes', ' '.join((ROOT / 'docs' / 'benchmark.md').read_text().split()))

  def test_each_program_is_repeated(self):
    repeated = self.names(results.usual_jobs) + self.names(results.long_jobs)
    self.assertEqual([name for name in applications.APPLICATIONS if name not in repeated], [])
    self.assertEqual([name for name in beside.MEASUREMENTS if f'inside-a-node/{name}' not in repeated], [])

  def test_each_stored_figure_is_repeated(self):
    repeated = self.names(results.usual_jobs) + self.names(results.long_jobs)
    stored = [path for path in RESULTS.rglob('*.json') if results.folder_of(path.stem) and not path.stem.startswith('map-')]
    names = [f'{results.PLAYED}/{path.stem}' if path.parent.name == results.PLAYED else path.stem for path in stored]
    self.assertEqual([name for name in names if name not in repeated], [])
    self.assertGreater(len(names), 50)

  def test_a_figure_is_stored_where_it_is_measured(self):
    written = {job.name: job.commands[0] for jobs in (results.usual_jobs, results.long_jobs) for job in jobs(self.OPTIONS, '') if job.commands}
    for path in RESULTS.rglob('*.json'):
      name = f'{results.PLAYED}/{path.stem}' if path.parent.name == results.PLAYED else path.stem
      if results.folder_of(path.stem) and name in written:
        self.assertIn(str(pathlib.Path('nowhere') / path.parent.relative_to(RESULTS)), written[name])

  def test_all_is_written_below_the_folder(self):
    commands = [command for jobs in (results.usual_jobs, results.long_jobs) for job in jobs(self.OPTIONS, '') for command in job.commands]
    self.assertEqual([command for command in commands if not any(word.startswith('nowhere') for word in command)], [])

  def test_fft2d_is_done_with_all_its_turns(self):
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / 'openmpi-2.json'
      self.assertFalse(results.is_fft2d_done(path, 'abc', 2))
      path.write_text(json.dumps({'commit': 'abc', 'rows': [{'total_s': [1, 2]}]}))
      self.assertTrue(results.is_fft2d_done(path, 'abc', 2))
      self.assertFalse(results.is_fft2d_done(path, 'abc', 5))
      self.assertFalse(results.is_fft2d_done(path, 'def', 2))

  def test_what_has_fewer_ranks_is_not_done(self):
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / 'hint-12.json'
      path.write_text(json.dumps({'command': 'run --only hint-12 --ranks 2,8 --runs 3', 'facts': {'commit': 'abc'}}))
      self.assertTrue(results.is_done(path, 'abc', '2,8'))
      self.assertFalse(results.is_done(path, 'abc', '2,8,16,32'))
      self.assertFalse(results.is_done(path, 'def', '2,8'))
      self.assertFalse(results.is_done(path, 'abc+', '2,8'))


class Seen(unittest.TestCase):
  """What the test is for."""

  def problem(self, name, text):
    with tempfile.TemporaryDirectory() as folder:
      page = pathlib.Path(folder) / name
      page.write_text(text)
      return problem_of(page, page.parent)

  def test_a_page_of_nobody(self):
    self.assertIn('no script writes', self.problem('new.md', '# New\n'))
    self.assertIsNone(self.problem('hint.md', '# New\n'))

  def test_a_row_that_somebody_typed(self):
    self.assertIn('nobody checks', self.problem('hosts.md', '# Hosts\n\n| 64 | 12 |\n'))

  def test_rows_of_claims_are_no_words(self):
    self.assertEqual(words_of('two words\n| a b | 1 | agrees, simulated |\n| c | 2 | cannot be told: no machine |\n'), 2)

  def test_numbers_in_words(self):
    for text in ('takes 0.5 of it', '12 us', '3 µs a call', '20% less', '1.06 GB/s', '4 times as fast', 'in 300 ms'):
      self.assertTrue(measured_in(text), text)
    for text in ('sections 3.3 and 5', '16 hosts of 4 ranks', '1 agree, 7 disagree', '256 B to 32 KiB', 'figures 12 to 14', 'N = 512'):
      self.assertEqual(measured_in(text), [], text)


if __name__ == '__main__':
  unittest.main()
