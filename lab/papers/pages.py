"""The page of a paper: a template (NAME.md.in), filled from the data.

  @data NAME          the files of a figure (simulated, of one machine, over hosts), each with its claims
  @map NAME           a map as text, which `quadrille-lab show --map` draws
  {field}             a number in the text, which fields.py computes

Other text must not have numbers of ours. Lines that begin with `Paper:` have the paper's numbers; `typed` finds other numbers.
"""

import pathlib
import subprocess

import applications
from programs import words
from stored import RESULTS

HERE = pathlib.Path(__file__).resolve().parent
PAGES = ('hint', 'isomorphic', 'bruck', 'cache-oblivious')
MAPS = {'map-paper': 'paper', 'map-aries': 'aries'}


def table(head, rows):
  return words.table(head, rows) + '\n'


def claims_table(rows):
  if not rows:
    return ''
  with_compared = any(row.compared for row in rows)
  head = ['the paper says', *(['compared'] if with_compared else []), 'paper', 'here', 'verdict']
  return table(head, [[row.text, *([row.compared] if with_compared else []), row.paper, row.here, row.words()] for row in rows])


def several(count, what):
  return f'{count} {what}{"s" if count > 1 else ""}'


def where_of(stored):
  """'simulated', or the number of ranks and the machine."""
  data = stored.data
  if 'counts' in data:
    return 'Counted'
  if 'network' in data:
    return f'Simulated on the network `{data["network"]["name"]}`'
  alone = applications.APPLICATIONS[stored.name].alone if stored.name in applications.APPLICATIONS else ''
  if alone:
    return f'Measured: {alone}, on {several(data["processors"], "processor")}'
  hosts = data.get('hosts', 1)
  counts = sorted({panel['ranks'] for panel in data.get('panels', []) if 'ranks' in panel}) or [data['ranks']]
  ranks = ', '.join(map(str, counts)) + (' rank' if counts == [1] else ' ranks')
  mpi = data.get('mpi') or data['header']['mpi']
  on = f'{hosts} [played hosts](hosts.md)' if hosts > 1 else several(data['processors'], 'processor')
  return f'Measured: {ranks} on {on}, {mpi}'


def data_text(stored):
  link = stored.path.relative_to(RESULTS)
  return f'{where_of(stored)}: [{stored.name}.json]({link}).\n\n{claims_table(stored.rows)}'


def order_of(stored):
  return (not stored.is_computed, stored.is_played)


def files_of_name(name, found):
  return sorted((one for one in found.values() if one.name in (name, f'{name}-simulated')), key=order_of)


def map_text(lab, name):
  said = subprocess.run([lab, 'show', '--map', '--model', MAPS[name], '--map-json', '/dev/stderr'], capture_output=True, text=True, check=True)
  return said.stdout, said.stderr


class Page:
  """A template with its data; `fields` are computed numbers."""

  def __init__(self, name, found, lab, fields, sayings=()):
    self.name, self.found, self.lab, self.fields, self.sayings = name, found, lab, fields, sayings
    self.words = (HERE / f'{name}.md.in').read_text(encoding='utf-8')
    self.used = []  # the files that the page shows

  def expanded(self, line):
    what, _, name = line.partition(' ')
    if what == '@map':
      return f'```\n{map_text(self.lab, name)[0]}```\n'
    if what != '@data':
      return line.format_map(self.fields)
    files = files_of_name(name, self.found)
    assert files, f'{self.name}: there are no data of {name}'
    self.used += files
    return '\n'.join(map(data_text, files))

  def text(self):
    self.used = []
    return '\n'.join(self.expanded(line) for line in self.words.split('\n'))

  def path(self):
    return RESULTS / f'{self.name}.md'

  def problems(self):
    found = words.problems_of(self.words, self.words, self.fields, self.sayings, typed(self.words))
    wrong = [f'{self.name}: {one}' for one in found]
    if not self.path().is_file() or self.path().read_text(encoding='utf-8') != self.text():
      wrong.append(f'{self.path()} is not what the data say; run lab/papers write')
    return wrong


# Texts with digits that are not results.
NO_RESULT = [r'`[^`]*`', r'\]\([^)]*\)', r'\{\w+\}', r'^#.*$', r'^@.*$', r'^Paper: .*$', r'^    .*$', r'(?i:figures?|tables?|equations?|sections?) \d[\d., and to]*',
             r'HPDC \d{4}', r'\b[LXE]\d\b', r'\b[23]D\b', r'P3DFFT', r'MVAPICH2', r'Open MPI \d', r'd = \d', r'\d ranks? on each']


def typed(template):
  return words.typed(template, NO_RESULT)
