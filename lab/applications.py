#!/usr/bin/env python3
"""The papers' figures of whole programs, and those of several MPIs: measures them, and writes their pages.

  lab/applications.py run --build build/openmpi --out FOLDER [--only NAME] [--runs 3]   measures, writes data and pages
  lab/applications.py check [FILE...]    is each page what its data say? (default: those in docs/results)
  lab/applications.py pages [FILE...]    writes the pages from their data
  lab/applications.py list               the names, and what they are
"""

import argparse
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from programs import bruck, cache_oblivious, hint  # noqa: E402  pylint: disable=wrong-import-position
from programs.common import ROOT, Options, facts, times  # noqa: E402  pylint: disable=wrong-import-position

RESULTS = ROOT / 'docs' / 'results'
APPLICATIONS = {one.name: one for room in (bruck, cache_oblivious, hint) for one in room.APPLICATIONS}
# Numbers of ranks that each is measured with.
RANKS = {'bruck-11': '4,8,16', 'bruck-12': '16', 'co-copies': '60,64,72', 'co-14': '2,8,60', 'co-15': '2,8', 'hint-3': '1,2', 'hint-12': '2,8,16,32', 'hint-15': '2,8,16,32',
         'hint-18': '2,8'}


# ---- Pages ----


def table_of(panel):
  lines = list(dict.fromkeys(row['line'] for row in panel['rows']))
  xs = sorted({row[panel['x']] for row in panel['rows']})
  width = max(20, *(len(line) for line in lines))
  # Of thousands of exchanges the page has some; the data and the picture have all.
  step = max(1, len(xs) // 20)
  text = f'{panel["x"]:>10}' + ''.join(f' {line:>{width}}' for line in lines) + '\n'
  for x in xs[::step]:
    text += f'{x:>10}' + ''.join(f' {times(panel, line)[x]:>{width}.2f}' for line in lines) + '\n'
  return f'{panel["title"]}, {panel["y"]}:\n\n```\n{text}```\n\n'


def totals_of(panel):
  """Where the rows have the time of the whole program, too."""
  if not all('total_us' in row for row in panel['rows']):
    return ''
  whole = {**panel, 'y': 'µs of the whole', 'rows': [{**row, 'us': row['total_us']} for row in panel['rows']]}
  return table_of(whole)


def number_of(here):
  return '-' if here is None else f'{here:.2f}'


def page_of(data, has_picture):
  one = APPLICATIONS[data['application']]
  text = f'# {one.title}\n\nSource: {one.source}.\n\n'
  where = f'{data["ranks"]} ranks at most on {data["processors"]} processors of {data["cpu"]}, {data["mpi"]}'
  if one.alone:
    where = f'{one.alone}: {data["processors"]} of {data["cpu"]}'
  text += f'`{data["command"]}`, {where}; the median of {data["runs"]} runs. {one.lines}\n\n'
  if data['ranks'] > data['processors'] and not one.alone:
    text += 'With more ranks than processors the time slices of the system are measured too.\n\n'
  text += f'{data["how"]}\n\n'
  if has_picture:
    text += f'![{one.name}]({one.name}.svg)\n\n'
  text += ''.join(table_of(panel) + totals_of(panel) for panel in data['panels'])
  text += '| the paper says | paper | here | verdict |\n|---|---|---|---|\n'
  text += ''.join(f'| {claim} | {paper} | {number_of(here)} | {verdict} |\n' for claim, paper, here, verdict in one.claims(data))
  return text + f'\nAll numbers: [{one.name}.json]({one.name}.json).\n'


# ---- Commands ----


def progress(name, begin):
  def say(text):
    print(f'[{time.monotonic() - begin:4.0f} s] {name}: {text}', file=sys.stderr, flush=True)
  return say


def run(options):
  begin = time.monotonic()
  for name, one in APPLICATIONS.items():
    if options.only and name != options.only:
      continue
    ranks = options.ranks or RANKS[name]
    wanted = Options(pathlib.Path(options.build).resolve(), [int(count) for count in ranks.split(',')], options.runs, progress(name, begin))
    how, panels = one.measure(wanted)
    data = {'application': name, 'command': f'lab/applications.py run --only {name} --ranks {ranks} --runs {options.runs}'}
    data |= facts(wanted) | {'how': how, 'panels': panels}
    path = options.out / f'{name}.json'
    path.write_text(json.dumps(data, indent=1) + '\n')
    path.with_suffix('.md').write_text(page_of(data, path.with_suffix('.svg').is_file()))
    print(f'{path} is written', flush=True)
  return 0


def summary_of(data):
  """The verdicts on the paper's claims, as the index has them: '1 agree, 2 cannot be tested here'."""
  verdicts = [verdict for claim, _, _, verdict in APPLICATIONS[data['application']].claims(data) if not claim.startswith('(not in')]
  counts = [(sum(verdict.startswith(word) for verdict in verdicts), shown) for word, shown in
            (('agrees', 'agree'), ('disagrees', 'disagree'), ('cannot', 'cannot be tested here'))]
  return ', '.join(f'{number} {shown}' for number, shown in counts if number) or 'no number to compare with'


def index_problem(path, index):
  """The row of the index that leads to the page must have its verdicts."""
  summary = summary_of(json.loads(path.read_text()))
  rows = [line for line in index.splitlines() if f'({path.stem}.md)' in line]
  if not rows:
    return f'there is no row of {path.stem} in the index'
  # They begin a cell, and are all that it says of verdicts: "1 agree" is in "11 agree" and in "1 agree, 4 disagree".
  said = re.search(rf'\| {re.escape(summary)}([.:]| \|)', rows[0])
  return None if said else f'the row of {path.stem} in the index does not say "{summary}"'


def problem_of(path):
  data = json.loads(path.read_text())
  page = path.with_suffix('.md')
  text = page.read_text() if page.is_file() else ''
  return None if text == page_of(data, path.with_suffix('.svg').is_file()) else f'{page} is not what its data say'


def check(files):
  wrong = [problem for problem in map(problem_of, files) if problem]
  index = (RESULTS / 'README.md').read_text()
  wrong += [problem for path in files if path.parent == RESULTS and (problem := index_problem(path, index))]
  for problem in wrong:
    print(problem, file=sys.stderr)
  return 1 if wrong else 0


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['run', 'check', 'pages', 'list'])
  parser.add_argument('files', nargs='*', type=pathlib.Path)
  parser.add_argument('--build', default='build/openmpi')
  parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('build/results'))
  parser.add_argument('--ranks', help='numbers of ranks, with commas; default: those of each figure')
  parser.add_argument('--runs', type=int, default=3)
  parser.add_argument('--only', choices=list(APPLICATIONS))
  options = parser.parse_args()
  files = options.files or [path for path in (RESULTS / f'{name}.json' for name in APPLICATIONS) if path.is_file()]
  if options.what == 'list':
    for one in APPLICATIONS.values():
      print(f'{one.name:10} {one.title}')
    return 0
  if options.what == 'check':
    return check(files)
  if options.what == 'pages':
    for path in files:
      path.with_suffix('.md').write_text(page_of(json.loads(path.read_text()), path.with_suffix('.svg').is_file()))
    return 0
  options.out.mkdir(parents=True, exist_ok=True)
  return run(options)


if __name__ == '__main__':
  sys.exit(main())
