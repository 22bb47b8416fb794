#!/usr/bin/env python3
"""Each page below docs/results is written from data by a script that can check it, or has no measured numbers; and each is in the index.

A new page is an application (lab/applications.py), a figure (`quadrille-lab bench --figure`), or stands here with the command that checks
it, which is a test of its own, too.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'lab'))
sys.path.insert(0, str(ROOT / 'bench'))
import applications  # noqa: E402
import figures  # noqa: E402
import beside  # noqa: E402
import results  # noqa: E402

RESULTS = ROOT / 'docs' / 'results'
INDEX = 'README.md'
# Pages of several files of data: who writes them says whether they are what it would write.
WRITERS = {f'{name}.md': ['bench/pages', 'check', name] for name in ('as-programs-call', 'between-nodes', 'inside-a-node', 'gpu')}
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
  return [name for name in names if name != INDEX and not any(f'({name}{end}' in row for row in rows for end in ')#')]


# ---- Numbers of ranks that somebody typed ----

RANKS = re.compile(r'(?<![\w,])(\d[\d,]*(?: to \d[\d,]*|(?:, \d[\d,]*)*(?: and \d[\d,]*)?)) ranks\b')
OTHERS = re.compile(r'\b(?:about|up to|more than) \d[\d,]* ranks')  # those of the paper, and of no measurement


def named_ranks(text):
  """The numbers in '2, 8 and 16 ranks'; a range names all powers of two in it."""
  found = set()
  for numbers in RANKS.findall(OTHERS.sub('', text)):
    ends = [int(end.replace(',', '')) for end in re.split(r' to |, | and ', numbers)]
    found.update([count for count in (2 ** power for power in range(16)) if ends[0] <= count <= ends[1]] if ' to ' in numbers else ends)
  return found


def measured_ranks(data):
  """All numbers of ranks below a value of JSON."""
  if isinstance(data, list):
    return set().union(*map(measured_ranks, data))
  if not isinstance(data, dict):
    return set()
  found = set().union(*map(measured_ranks, data.values()))
  return found | {data['ranks']} if isinstance(data.get('ranks'), int) else found


def wrong_ranks(text, rows_of_papers, data_of_name):
  """Rows that name numbers of ranks which their data do not have. What a paper's figure shows is the paper's; what is said of the
  verdict is ours."""
  wrong = []
  for line in text.splitlines():
    cells = [cell.strip() for cell in line.strip('|').split('|')]
    if not line.startswith('| ') or len(cells) < 2:
      continue
    names = re.findall(r'\]\(([\w/-]+)\.md\)', line) if rows_of_papers is not None else re.findall(r'`([\w-]+)`', cells[0])
    known = set().union(*(measured_ranks(data_of_name(name)) for name in names)) if names else set()
    of_paper = rows_of_papers is not None and rows_of_papers(cells)
    named = named_ranks(cells[-1] if of_paper or rows_of_papers is None else ' '.join(cells))
    if known and not named <= known:
      wrong.append(f'{cells[0]}, {cells[1]}: {sorted(named - known)} ranks are not in the data, which have {sorted(known)}')
  return wrong


def is_of_paper(cells):
  return bool(re.match(r'figures? |tables? |sections? ', cells[0]))


def data_named(name):
  """Of a page with a folder of data, of all its files."""
  files = sorted((RESULTS / name).glob('*.json'))
  return [json.loads(path.read_text()) for path in files] if files else data_of(RESULTS / f'{name}.md')


class Stored(unittest.TestCase):
  def test_rows_name_the_ranks_of_the_data(self):
    self.assertEqual(wrong_ranks((RESULTS / INDEX).read_text(), is_of_paper, data_named), [])
    self.assertEqual(wrong_ranks((ROOT / 'docs' / 'benchmark.md').read_text(), None, data_named), [])

  def test_each_page_is_checked_or_has_no_numbers(self):
    self.assertEqual([problem for page in pages(RESULTS) if (problem := problem_of(page, RESULTS))], [])

  def test_each_page_has_a_row_in_the_index(self):
    self.assertEqual(without_row(RESULTS), [])

  def test_pages_of_scripts_are_what_they_write(self):
    for name, command in WRITERS.items():
      with self.subTest(name):
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

  def test_each_page_is_a_test_of_its_own(self):
    listed = re.search(r'foreach\(page ([^)]*)\)', (ROOT / 'tests' / 'docs' / 'CMakeLists.txt').read_text())[1].split()
    self.assertEqual([f'{name}.md' for name in listed], list(WRITERS))

  def test_all_that_is_registered_is_there(self):
    self.assertEqual([name for name in [*WRITERS, *COMPUTED, *WITHOUT_NUMBERS] if not (RESULTS / name).is_file()], [])
    applied = [f'{name}.md' for name in applications.APPLICATIONS]
    self.assertEqual([name for name in applied if not (RESULTS / name).is_file()], [])


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
    stored = [str(path.relative_to(RESULTS).with_suffix('')) for path in figures.files_of_figures()]
    self.assertEqual([name for name in stored if name not in repeated], [])

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

  def test_ranks_that_nobody_measured(self):
    data = {'application': 'a', 'panels': [{'ranks': 2, 'rows': [{'ranks': 8}]}], 'ranks': 8}
    row = '| inside a node | calls of {} | `run` | [a](a.md) | none |'
    for text, expected in (('2 and 8 ranks', []), ('8 ranks', []), ('2 to 8 ranks', [4]), ('2, 8 and 16 ranks', [16])):
      found = wrong_ranks(row.format(text), is_of_paper, lambda name: data)
      self.assertEqual(found, [f'inside a node, calls of {text}: {expected} ranks are not in the data, which have [2, 8]'] if expected else [])
    of_paper = '| figure 1 | 64 ranks | `run` | [a](a.md) | agrees. {} |'
    self.assertEqual(wrong_ranks(of_paper.format('About 64 ranks. With 8 ranks').replace('About', 'They are about'), is_of_paper,
                                 lambda name: data), [])
    self.assertEqual(len(wrong_ranks(of_paper.format('With 4 ranks'), is_of_paper, lambda name: data)), 1)
    self.assertEqual(len(wrong_ranks('| `a` | calls of 4 ranks |', None, lambda name: data)), 1)

  def test_numbers_in_words(self):
    for text in ('takes 0.5 of it', '12 us', '3 µs a call', '20% less', '1.06 GB/s', '4 times as fast', 'in 300 ms'):
      self.assertTrue(measured_in(text), text)
    for text in ('sections 3.3 and 5', '16 hosts of 4 ranks', '1 agree, 7 disagree', '256 B to 32 KiB', 'figures 12 to 14', 'N = 512'):
      self.assertEqual(measured_in(text), [], text)


if __name__ == '__main__':
  unittest.main()
