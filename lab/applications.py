#!/usr/bin/env python3
"""The papers' figures of whole programs, and those of several MPIs: measures, and writes pages.

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
from programs.common import NO_NUMBER, ROOT, Options, facts, facts_line, lines_of  # noqa: E402  pylint: disable=wrong-import-position
from programs.common import number_of, time_text  # noqa: E402  pylint: disable=wrong-import-position
from verdicts import summary  # noqa: E402  pylint: disable=wrong-import-position

RESULTS = ROOT / 'docs' / 'results'
APPLICATIONS = {one.name: one for room in (bruck, cache_oblivious, hint) for one in room.APPLICATIONS}
# Numbers of ranks that each is measured with.
RANKS = {'bruck-11': '4,8,16', 'bruck-12': '16', 'co-copies': '60,64,72', 'co-14': '2,8,60,72', 'co-15': '2,8,60,72',
         'hint-3': '1,2', 'hint-12': '2,8,16,32', 'hint-15': '2,8,16,32', 'hint-18': '2,8,16,32'}


# ---- Pages ----


def block_of(panel, lines, xs):
  cells = {(row['line'], row[panel['x']]): time_text(row) for row in panel['rows']}
  width = max(20, *map(len, lines), *(len(cells[line, x]) for line in lines for x in xs))
  text = f'{panel["x"]:>10}' + ''.join(f' {line:>{width}}' for line in lines) + '\n'
  for x in xs:
    text += f'{x:>10}' + ''.join(f' {cells[line, x]:>{width}}' for line in lines) + '\n'
  return text


def groups_of(lines):
  """Those on one MPI stand side by side, as all of several MPIs have no place in a row."""
  groups = {}
  for line in lines:
    groups.setdefault(line.rpartition(' on ')[2], []).append(line)
  return [lines] if len(groups) == len(lines) else list(groups.values())


def table_of(panel):
  xs = sorted({row[panel['x']] for row in panel['rows']})
  # Of thousands of exchanges the page has some; the data and the picture have all.
  some = xs[::max(1, len(xs) // 20)]
  blocks = '\n'.join(block_of(panel, lines, some) for lines in groups_of(lines_of(panel)))
  return f'{panel["title"]}, {panel["y"]}:\n\n```\n{blocks}```\n\n'


def whole_of(row, x):
  """The row with the time of the whole program as its time."""
  total = {key.removeprefix('total_'): value for key, value in row.items() if key.startswith('total_')}
  return {'line': row['line'], x: row[x], **total}


def totals_of(panel):
  """Where the rows have the time of the whole program, too."""
  if not all('total_us' in row for row in panel['rows']):
    return ''
  return table_of({**panel, 'y': 'µs of the whole', 'rows': [whole_of(row, panel['x']) for row in panel['rows']]})


def runs_text(data):
  if data['runs'] == 1:
    return 'one run'
  spread = any('least_us' in row for panel in data['panels'] for row in panel['rows'])
  return f'the median of {data["runs"]} runs' + (', in brackets the least and the most' if spread else '')


def claims_text(claims):
  if not claims:
    return ''
  text = '| the paper says | paper | here | verdict |\n|---|---|---|---|\n'
  return text + ''.join(f'| {claim} | {paper} | {number_of(here)} | {verdict} |\n' for claim, paper, here, verdict in claims) + '\n'


def page_of(data, has_picture):
  one = APPLICATIONS[data['application']]
  text = f'# {one.title}\n\n' + (f'Source: {one.source}.\n\n' if one.source else '')
  where = f'{data["ranks"]} ranks at most on {data["processors"]} processors of {data["cpu"]}, {data["mpi"]}'
  if one.alone:
    where = f'{one.alone}, {data["processors"]} processors of {data["cpu"]}'
  text += f'`{data["command"]}`, {where}; {runs_text(data)}. {one.lines}\n\n'
  if data['ranks'] > data['processors'] and not one.alone:
    text += 'With more ranks than processors the time slices of the system are measured too.\n\n'
  text += f'{data["how"]}\n\n'
  if 'facts' in data:
    text += f'{facts_line(data["facts"])}\n\n'
  if has_picture:
    text += f'![{one.name}]({one.name}.svg)\n\n'
  text += ''.join(one.table(panel) if one.table else table_of(panel) + totals_of(panel) for panel in data['panels'])
  claims = claims_text(one.claims(data))
  text += ('## Compared\n\n' if claims and one.table else '') + claims
  return text + f'All numbers: [{one.name}.json]({one.name}.json).\n'


# ---- Commands ----


def progress(name, begin):
  def say(text):
    print(f'[{time.monotonic() - begin:4.0f} s] {name}: {text}', file=sys.stderr, flush=True)
  return say


def text_of(data):
  """JSON with a list of numbers in a line."""
  lines = json.dumps(data, indent=1)
  return re.sub(r'\[[-0-9.,e+\s]+\]', lambda found: '[' + ', '.join(found[0][1:-1].replace(',', ' ').split()) + ']', lines) + '\n'


def run(options):
  begin = time.monotonic()
  for name, one in APPLICATIONS.items():
    if options.only and name != options.only:
      continue
    ranks = options.ranks or RANKS[name]
    wanted = Options(pathlib.Path(options.build).resolve(), [int(count) for count in ranks.split(',')], options.runs, progress(name, begin))
    known = facts(wanted, one)
    how, panels = one.measure(wanted)
    data = {'application': name, 'command': f'lab/applications.py run --only {name} --ranks {ranks} --runs {options.runs}'}
    data |= known | {'how': how, 'panels': panels}
    path = options.out / f'{name}.json'
    path.write_text(text_of(data))
    path.with_suffix('.md').write_text(page_of(data, path.with_suffix('.svg').is_file()))
    print(f'{path} is written', flush=True)
  return 0


# ---- The index ----


def summary_of(data):
  """The verdicts on the paper's claims, as the index has them: '1 agree, 2 disagree at this scale, 3 cannot be tested here'."""
  claims = APPLICATIONS[data['application']].claims(data)
  return summary([claim.verdict.partition(':')[0] for claim in claims]) or NO_NUMBER


def write_index():
  """Puts in what the data say; what somebody wrote behind it, after a full stop, stays."""
  index = RESULTS / 'README.md'
  lines = index.read_text().splitlines()
  for i, line in enumerate(lines):
    found = re.search(r'--only ([\w-]+)`.*\]\(\1\.md\) \| ', line)
    path = RESULTS / f'{found[1]}.json' if found else None
    if path and path.is_file():
      behind = line[found.end():].removesuffix(' |').partition('. ')[2]
      lines[i] = line[:found.end()] + summary_of(json.loads(path.read_text())) + (f'. {behind}' if behind else '') + ' |'
  index.write_text('\n'.join(lines) + '\n')


def index_problem(path, index):
  """The row of the index that leads to the page must have its verdicts."""
  summary = summary_of(json.loads(path.read_text()))
  rows = [line for line in index.splitlines() if f'({path.stem}.md)' in line]
  # Other rows may lead there as well.
  rows.sort(key=lambda row: f'--only {path.stem}`' not in row)
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
      print(f'{one.name:14} {one.title}')
    return 0
  if options.what == 'check':
    return check(files)
  if options.what == 'pages':
    for path in files:
      path.with_suffix('.md').write_text(page_of(json.loads(path.read_text()), path.with_suffix('.svg').is_file()))
    if not options.files:
      write_index()
    return 0
  options.out.mkdir(parents=True, exist_ok=True)
  return run(options)


if __name__ == '__main__':
  sys.exit(main())
