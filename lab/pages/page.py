"""The common parts of the pages of results: fields of a template, tables, claims with verdicts, and the check that each number has data.

A template (NAME.md.in) is the page with fields, for example `{mean}`. A part of a page computes the fields, checks sentences, and
creates tables and claims. A number typed into a template is an error (typed()), and so is a sentence that the data contradict.
"""

import pathlib
import re
import statistics
import sys
import textwrap
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / 'docs' / 'results'
sys.path[:0] = [str(ROOT / 'lab'), str(ROOT / 'bench')]
from programs.common import (  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
  AT_THIS_SCALE,
  MEASURED,
  NO_MACHINE,
  NO_OTHER_WAY,
  NOT_MEASURED,
  SIMULATED,
  UNTOLD,
  bounds_of,
  word_of,
)
from programs import words  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import load  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

# ---- Numbers as text ----

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def size_text(size):
  for unit, name in ((MIB, 'MiB'), (KIB, 'KiB')):
    if size >= unit and size % unit == 0:
      return f'{size // unit} {name}'
  return f'{size} B'


def us_text(us):
  return f'{us:,.0f}' if us >= 99.95 else f'{us:.1f}' if us >= 9.995 else f'{us:.2f}'


def span(values, text=us_text):
  """The smallest and the largest; one number if both read the same."""
  if not values:
    return '-'
  least, largest = text(min(values)), text(max(values))
  return least if least == largest else f'{least} to {largest}'


def ratios_text(values, digits=2):
  return span(list(values), lambda value: f'{value:.{digits}f}')


def middle(values, digits=2):
  """'0.33 (0.25..0.37)': median, minimum and maximum."""
  values = list(values)
  text = f'{statistics.median(values):.{digits}f}'
  return f'{text} ({min(values):.{digits}f}..{max(values):.{digits}f})' if len(values) > 1 else text


def percent(value, digits=0):
  return f'{100 * value:.{digits}f} %'


def near(number, aim):
  """The ratio with a third digit, if two digits would read as the aim itself."""
  return f'{number:.3f}' if f'{number:.2f}' == f'{aim:.2f}' and f'{number:.3f}' != f'{aim:.3f}' else f'{number:.2f}'


def mean(values):
  return statistics.geometric_mean(values)


def by_size(pairs):
  return ', '.join(f'{size_text(size)}: {value:.2f}' for size, value in pairs)


def names(words):
  words = list(words)
  return ', '.join(words[:-1]) + f' and {words[-1]}' if len(words) > 1 else words[0]


def measured_on(heads):
  """'Measured on 2026-11-27 with Quadrille at 0123456789ab'; for several heads, all dates and commits."""
  dates = sorted({one['date'][:10] for one in heads})
  commits = dict.fromkeys(f'`{one["commit"]}`' for one in heads if one.get('commit'))
  return f'Measured on {names(dates)} with Quadrille at {names(commits)}'


# ---- Tables and claims ----

table = words.table


class Claim(typing.NamedTuple):
  source: str
  text: str
  paper: str
  here: str
  verdict: str  # 'agrees', 'disagrees', or 'cannot be told: ' and the reason; details follow
  how: str = ''

  def row(self):
    how = f', {self.how}' if self.verdict.startswith(('agrees', 'disagrees')) and self.how != MEASURED else ''
    return [self.source, self.text, self.paper, self.here, self.verdict + how]


def untold(reason, more=''):
  return f'{UNTOLD}: {reason}' + (f': {more}' if more else '')


def judged(paper, here):
  """The verdict on a number of the paper by the numbers of our runs."""
  word = word_of(bounds_of(paper), here)
  return word if word in ('agrees', 'disagrees') else untold(word)


def claims_table(claims):
  return table(['source', 'claim', 'paper', 'here', 'verdict'], [claim.row() for claim in claims])


def reached(holds):
  return 'reached' if holds else 'not reached'


# ---- The page ----

SEVERAL = r'\d[\d,]*(?:(?:,| and| to) \d+)*'
# Texts that are not results: names, numbers of ranks, hosts and runs, sizes, figures of papers.
KNOWN = [
  r'`[^`]*`',
  r'\]\([^)]*\)',
  r'\{\w+\}',
  r'^#+ .*$',
  r'^    .*$',
  r'[Ff]igures? \d+\b(?:\([a-z]\))?(?:(?:,| and| to) \d+)*',
  r'[Rr]uns? \d(?: and \d| to \d)?\b',
  r'[Ss]ection \d[\d.]*',
  r'HPDC \d{4}',
  r'arXiv [\d.]+',
  rf'(?<![\d.,]){SEVERAL} (?:ranks|hosts|nodes|[KMG]iB|B)\b',
  r'\b(?:with|on|of) \d(?:(?:,| and) \d)*\b(?![.,]?\d| (?:to|us|ns|ms|times|%))',
  r'H100',
  r'mpi4py',
  r'fft[23]d',
  r'heat2d',
  r'(?:Open MPI|MPICH) \d(?:[\d.]*\d)?',
  r'radix \d+',
  r'\b\d+ x \d+\b',
  r'between 0 and',
  r'MVAPICH2',
  r'issue \d+',
  r'99th percentile',
]


def typed(text):
  return words.typed(text, KNOWN)


WIDTH = 128


def wrapped(part):
  """Wraps a paragraph or a list again, because fields have made its lines longer. Other text is unchanged."""
  if part.startswith(('|', '#', '    ', '<!--')):
    return part
  items = re.split(r'\n(?=- )', part)
  return '\n'.join(
    textwrap.fill(
      ' '.join(item.split()),
      WIDTH,
      subsequent_indent='  ' * item.startswith('- '),
      break_long_words=False,
      break_on_hyphens=False,
    )
    for item in items
  )


class Page:
  """The fields, tables and sentences of a template."""

  def __init__(self, name, template=None):
    self.name, self.fields, self.sentences, self.claims = name, {}, [], []
    self.pictures = {}  # {file name: SVG}
    self.of_code = []  # (words, file, text): a number in the words must match this text of a source file
    self.words = (pathlib.Path(__file__).with_name(f'{name}.md.in')).read_text(encoding='utf-8') if template is None else template

  def numbers(self, **fields):
    assert not fields.keys() & self.fields.keys(), fields.keys() & self.fields.keys()
    self.fields.update(fields)

  def claim_table(self, name, claims):
    self.claims += claims
    self.numbers(**{name: claims_table(claims)})

  def holds(self, words, is_so):
    """Adds a sentence of the page, or its beginning, and whether the data confirm it."""
    self.sentences.append((words, bool(is_so)))

  def code(self, words, file, text):
    self.of_code.append((words, file, text))

  def text(self):
    return '\n\n'.join(map(wrapped, self.words.format_map(self.fields).strip().split('\n\n'))) + '\n'

  def problems(self):
    left = self.words
    for said, _, _ in self.of_code:
      left = re.sub(r'\s+'.join(map(re.escape, said.split())), '_', left)
    sayings = [(said.format_map(self.fields), is_so) for said, is_so in self.sentences] + [(said, True) for said, _, _ in self.of_code]
    found = words.problems_of(self.words, self.text(), self.fields, sayings, typed(left))
    found += [
      f'the code says otherwise: {said} ({file}: {text})'
      for said, file, text in self.of_code
      if text not in (ROOT / file).read_text(encoding='utf-8')
    ]
    return [f'{self.name}: {one}' for one in found]
