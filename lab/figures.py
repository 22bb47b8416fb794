#!/usr/bin/env python3
"""The stored results of `quadrille-lab bench --figure`: their pages, and the index of what is reproduced of the papers.

  lab/figures.py pages --lab LAB   writes the page of each stored figure anew, with `LAB pages`, and their verdicts in the index
                                   and docs/results/maps.md
  lab/figures.py check --lab LAB   are all pages, marks and claims those of today's figures? do their tables have no other
                                   numbers than the data? does the index (docs/results/README.md) have all figures?
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import maps
from verdicts import summary

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'docs' / 'results'


def files_of_figures(results=RESULTS):
  """Those of figures on the host; figures on GPUs have a page of their own (bench/gpu_page.py)."""
  found = []
  for path in sorted(results.rglob('*.json')):
    data = json.loads(path.read_text())
    if isinstance(data, dict) and 'figure' in data and not data['figure'].startswith('gpu-'):
      found.append(path)
  return found


# What was measured there was measured over hosts that one machine plays.
PLAYED = 'hosts'
PLAYED_NOTE = ('One machine played the hosts, which share its {} processors: [between hosts](../hosts.md) says how, and how to repeat '
               'it.')


def with_note(text):
  """The data with a note of how there came to be hosts; the tool sees several, and does not know who plays them."""
  data = json.loads(text)
  if 'note' in data or data.get('hosts', 1) < 2:
    return text
  note = json.dumps(PLAYED_NOTE.format(data['processors']))
  return re.sub(r'^(  "processors": \d+,\n)', lambda found: f'{found[1]}  "note": {note},\n', text, count=1, flags=re.M)


def note_hosts(files):
  for path in files:
    text = path.read_text()
    if path.parent.name == PLAYED and with_note(text) != text:
      path.write_text(with_note(text))


def pages(lab, files, *options):
  return subprocess.run([lab, 'pages', *options, *map(str, files)], check=False).returncode


# ---- Every number of a table is one of the data ----

def numbers_in(json_value):
  """All numbers below a value of JSON."""
  if isinstance(json_value, bool) or json_value is None:
    return
  if isinstance(json_value, (int, float)):
    yield float(json_value)
  elif isinstance(json_value, (list, dict)):
    for one in json_value.values() if isinstance(json_value, dict) else json_value:
      yield from numbers_in(one)


def rounded(data):
  """The numbers of the data as a page may write them."""
  return {form.format(number) for number in set(numbers_in(data)) for form in ('{:.2f}', '{:.0f}', '{:.3f}')}


def table_lines(text):
  """The lines of tables of times: those between ``` that begin with a number."""
  inside = False
  for line in text.splitlines():
    if line.startswith('```'):
      inside = not inside
    elif inside and re.match(r' *\d', line):
      yield line


def foreign_numbers(text, data):
  """Numbers of the tables of a page that are none of its data."""
  known = rounded(data)
  return [number for line in table_lines(text) for number in re.findall(r'(?<!\w)(?<!\d\.)\d+(?:\.\d+)?(?!\w)', line)
          if number not in known]


def check_numbers(path):
  text = path.with_suffix('.md').read_text()
  data = json.loads(path.read_text())
  # A table of set-ups has the paper's milliseconds as microseconds beside ours.
  found = foreign_numbers(text, data)
  if not list(table_lines(text)):
    return [f'{path.with_suffix(".md")}: there is no table']
  return [f'{path.with_suffix(".md")}: {number} is no number of {path.name}' for number in found[:5]]


# ---- The index ----

INDEX = RESULTS / 'README.md'
# Of each paper, by the first word of its part of the index: how many figures it has, and which tables.
PAPERS = {'HINT': (18, ['I']), 'Isomorphic': (8, ['1', '2']), 'Non-uniform': (13, []), 'GPUs': (10, ['1', '2']),
          'Cache-oblivious': (15, ['1', '2'])}


def rows_of_index(text):
  """(part, cells) of each row of each part."""
  part = None
  for line in text.splitlines():
    if line.startswith('## '):
      part = line[3:].split()[0]
    elif part and line.startswith('| ') and not line.startswith('| |'):
      yield part, [cell.strip() for cell in line.strip('|').split('|')]


def names_in(first_cell):
  """'figures 12 to 14' are three."""
  several = re.match(r'figures (\d+) to (\d+)', first_cell)
  if several:
    return [f'figure {n}' for n in range(int(several[1]), int(several[2]) + 1)]
  one = re.match(r'(figure|table) (\w+)', first_cell)
  return [one[0]] if one else []


def summary_of(data):
  """'1 agree, 2 cannot be tested here', of the claims that have a verdict; 'by simulation 1 agree'."""
  how = 'by simulation ' if 'network' in data else ''
  return how + summary([claim.get('verdict') for claim in data.get('claims', [])])


def verdict_of(cells, folder=RESULTS):
  """What the verdict of a row must begin with: that of the data of the pages that it links to. Empty if there are none."""
  summaries = []
  for page in re.findall(r'\]\(([\w/-]+)\.md\)', cells[3]):
    path = folder / f'{page}.json'
    data = json.loads(path.read_text()) if path.is_file() else {}
    if data.get('claims') and f'--figure {data["figure"]}`' in cells[2]:
      summaries.append(summary_of(data))
  if summaries and any(is_missing(figure, folder) for figure in re.findall(r'`--figure ([\w-]+)`', cells[2])):
    summaries.append('measured: not measured yet')
  return ' / '.join(summaries)


def is_missing(figure, folder):
  """No data of a figure on the host, neither of one node nor over hosts; those on GPUs have a page of their own."""
  return not figure.startswith('gpu-') and not any((place / f'{figure}.json').is_file() for place in (folder, folder / PLAYED))


def with_hosts(cells, folder=RESULTS):
  """The cell of pages, with those over hosts of the figures that the command names."""
  pages_of_row = cells[3]
  for figure in re.findall(r'--figure ([\w-]+)`', cells[2]):
    link = f'[{PLAYED}]({PLAYED}/{figure}.md)'
    if (folder / PLAYED / f'{figure}.json').is_file() and link not in pages_of_row:
      pages_of_row += f', {link}' if pages_of_row else link
  return pages_of_row


def index_of(text, folder=RESULTS):
  """The index with what the data say; what somebody wrote behind it, after a full stop, stays."""
  lines = text.splitlines()
  for i, line in enumerate(lines):
    cells = [cell.strip() for cell in line.strip('|').split('|')]
    if len(cells) != 5 or not line.startswith('| '):
      continue
    cells[3] = with_hosts(cells, folder)
    if verdict_of(cells, folder):
      behind = cells[4].partition('. ')[2]
      cells[4] = verdict_of(cells, folder) + (f'. {behind}' if behind else '')
      lines[i] = '| ' + ' | '.join(cells) + ' |'
  return '\n'.join(lines) + '\n'


def write_index():
  INDEX.write_text(index_of(INDEX.read_text()))


def known_figures(lab):
  said = subprocess.run([lab, 'bench', '--figure', '?'], capture_output=True, text=True, check=False).stderr
  return said.partition('known are ')[2].strip().split(', ')


def check_index(text, figures, folder=RESULTS):
  wrong, found = [], {part: [] for part in PAPERS}
  for part, cells in rows_of_index(text):
    found.setdefault(part, []).extend(names_in(cells[0]))
    if len(cells) != 5 or not cells[1] or not cells[4]:
      wrong.append(f'the row of {part}, {cells[0]} is not complete')
    elif not cells[4].startswith(verdict_of(cells, folder)):
      wrong.append(f'{part}, {cells[0]}: the verdict is not that of the data: {verdict_of(cells, folder)}')
  for part, (count, tables) in PAPERS.items():
    expected = [f'figure {n}' for n in range(1, count + 1)] + [f'table {name}' for name in tables]
    wrong += [f'{part}: there is no row of {name}' for name in expected if name not in found[part]]
    wrong += [f'{part}: {name} is none of the paper' for name in found[part] if name not in expected]
  wrong += [f'there is no row of --figure {name}' for name in figures if f'`--figure {name}`' not in text]
  return wrong


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['pages', 'check'])
  parser.add_argument('--lab', required=True)
  options = parser.parse_args()
  files = files_of_figures()
  if options.what == 'pages':
    note_hosts(files)
    status = pages(options.lab, files)
    write_index()
    maps.write(options.lab)
    return status
  wrong = [problem for path in files for problem in check_numbers(path)]
  wrong += maps.problems(options.lab)
  wrong += [f'{path}: it says nothing of who played the hosts' for path in files
            if path.parent.name == PLAYED and 'note' not in json.loads(path.read_text())]
  wrong += check_index(INDEX.read_text(), known_figures(options.lab))
  for problem in wrong:
    print(problem, file=sys.stderr)
  status = pages(options.lab, files, '--check')
  print(f'{len(files)} figures, {len(wrong)} wrong')
  return 1 if wrong or status or not files else 0


if __name__ == '__main__':
  sys.exit(main())
