#!/usr/bin/env python3
"""Figures 11 and 12 of Fan et al., HPDC 2022: whole programs, with MPI_Alltoallv and with two-phase Bruck.

  lab/applications.py run --build build/openmpi --out FOLDER [--ranks 4,8,16] [--runs 3]   measures, writes data and pages
  lab/applications.py check [FILE...]    is each page what its data say? (default: those in docs/results)

bruck-11 is the transitive closure (examples/closure) of a graph of high diameter and of one of low diameter; bruck-12 is each
exchange of k-CFA (examples/kcfa --trace).
"""

import argparse
import csv
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'docs' / 'results'
NAMES = ['bruck-11', 'bruck-12']
SOURCE = 'Fan et al., Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication (HPDC 2022), figure '
LINES = {'MPI': 'mpi', 'two-phase': 'two-phase-bruck:radix=2,eager=0', 'two-phase, radix 4': 'two-phase-bruck:radix=4'}
CHAIN, TERMS = 200, 16


# ---- Running ----

def launch(build, ranks, words):
  environment = os.environ | {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                              'OMPI_MCA_rmaps_base_oversubscribe': '1', 'QUADRILLE_NODES': 'blocked:1'}
  mpirun = shutil.which('mpirun.openmpi') or 'mpirun'
  return subprocess.run([mpirun, '-n', str(ranks), f'{build}/bin/{words[0]}', *words[1:]], env=environment, check=True,
                        capture_output=True, text=True).stdout


def write_chain(path):
  """A path with a leaf at each vertex: as many iterations as vertices, each with little to send."""
  edges = [f'{i} {i + 1}\n{i} {CHAIN + 1 + i}\n' for i in range(CHAIN)]
  path.write_text(''.join(edges))


def closure_row(build, ranks, line, graph, runs):
  said = [launch(build, ranks, ['closure', '--algorithm', LINES[line], *graph]) for _ in range(runs)]
  seconds = [float(re.search(r'data ([0-9.]+) s', text)[1]) for text in said]
  total = [float(re.search(r'total ([0-9.]+) s', text)[1]) for text in said]
  found = re.search(r'closure: (\d+) tuples in (\d+) iterations', said[0])
  return {'line': line, 'ranks': ranks, 'us': statistics.median(seconds) * 1e6, 'total_us': statistics.median(total) * 1e6,
          'least_us': min(seconds) * 1e6, 'most_us': max(seconds) * 1e6, 'tuples': int(found[1]), 'iterations': int(found[2])}


def measure_11(build, counts, runs):
  panels = []
  with tempfile.TemporaryDirectory() as folder:
    chain = pathlib.Path(folder) / 'chain.txt'
    write_chain(chain)
    for title, graph in (('high diameter: a path with leaves', ['--graph', str(chain)]), ('low diameter: packages of Debian', [])):
      rows = [closure_row(build, ranks, line, graph, runs) for ranks in counts for line in LINES]
      panels.append({'title': title, 'x': 'ranks', 'y': 'µs in the exchanges of tuples, all iterations', 'rows': rows})
  return panels


def measure_12(build, ranks, runs):
  rows = []
  with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / 'trace.csv'
    for line, algorithm in LINES.items():
      traces = []
      for _ in range(runs):
        launch(build, ranks, ['kcfa', '--k', '1', '--terms', str(TERMS), '--algorithm', algorithm, '--trace', str(file)])
        traces.append(list(csv.DictReader(file.open())))
      for exchange in zip(*traces):
        first = exchange[0]
        rows.append({'line': line, 'iteration': int(first['iteration']), 'ranks': ranks, 'largest': int(first['largest_block_bytes']),
                     'mean': float(first['mean_block_bytes']),
                     'us': statistics.median(float(one['data_seconds']) for one in exchange) * 1e6})
  return [{'title': f'{ranks} ranks', 'x': 'iteration', 'y': 'µs in the exchange of facts', 'rows': rows},
          {'title': 'N', 'x': 'iteration', 'y': 'N, bytes of the largest block',
           'rows': [{'line': 'N', 'iteration': row['iteration'], 'us': row['largest']} for row in rows if row['line'] == 'MPI']}]


# ---- What follows ----

def times(panel, line):
  return {row[panel['x']]: row['us'] for row in panel['rows'] if row['line'] == line}


def claims_of(data):
  """(text, number of the paper, number here, verdict): the paper's numbers of ranks are out of reach."""
  panels, ranks = data['panels'], data['ranks']
  if data['application'] == 'bruck-11':
    out_of_reach = f'cannot be tested here: it is about 2048 ranks, and there were {ranks}'
    claims = []
    for panel, text, paper in ((panels[0], 'graph 1, many iterations: two-phase faster than the MPI, 97 against 87 s in all', '1.11'),
                               (panels[1], 'graph 2, few iterations: two-phase slower than the MPI', 'below 1')):
      claims.append((text, paper, times(panel, 'MPI')[ranks] / times(panel, 'two-phase')[ranks], out_of_reach))
    return claims
  mpi, ours = times(panels[0], 'MPI'), times(panels[0], 'two-phase')
  ahead = sum(ours[i] < mpi[i] for i in mpi) / len(mpi)
  small = sum(n < 1000 for n in times(panels[1], 'N').values()) / len(mpi)
  far = f'cannot be tested here: it is about 4096 ranks, and there were {ranks}'
  deciles = statistics.quantiles(list(mpi.values()), n=10)
  return [('two-phase is faster in the most iterations (share of them)', 'above 0.5', ahead, far),
          ('N is below 1,000 bytes in the most iterations (share of them)', 'above 0.5', small, far),
          ('the time of an exchange varies with the iteration (its 9th decile over its 1st)', 'above 1', deciles[-1] / deciles[0],
           'agrees' if deciles[-1] > 1.25 * deciles[0] else 'disagrees')]


def table_of(panel):
  lines = list(dict.fromkeys(row['line'] for row in panel['rows']))
  xs = sorted({row[panel['x']] for row in panel['rows']})
  # Of thousands of exchanges the page has some; the data and the picture have all.
  step = max(1, len(xs) // 20)
  text = f'{panel["x"]:>10}' + ''.join(f' {line:>20}' for line in lines) + '\n'
  for x in xs[::step]:
    text += f'{x:>10}' + ''.join(f' {times(panel, line)[x]:>20.2f}' for line in lines) + '\n'
  return f'{panel["title"]}, {panel["y"]}:\n\n```\n{text}```\n\n'


def page_of(data, has_picture):
  name, number = data['application'], data['application'].removeprefix('bruck-')
  title = {'11': 'transitive closure', '12': 'k-CFA, exchange by exchange'}[number]
  text = f'# Non-uniform Bruck, figure {number}: {title}\n\nSource: {SOURCE}{number}.\n\n'
  text += (f'`{data["command"]}`, {data["ranks"]} ranks at most on {data["processors"]} processors of {data["cpu"]}, '
           f'{data["mpi"]}; the median of {data["runs"]} runs. Each rank is taken for a node of its own. `two-phase` is the paper\'s form, '
           'radix 2 with sizes beside the data. Times are of the rank that took longest.\n\n')
  if data['ranks'] > data['processors']:
    text += 'More ranks than processors: the time slices of the system are measured too.\n\n'
  text += f'{data["how"]}\n\n'
  if has_picture:
    text += f'![{name}]({name}.svg)\n\n'
  text += ''.join(map(table_of, data['panels']))
  text += '| the paper says | paper | here | verdict |\n|---|---|---|---|\n'
  text += ''.join(f'| {claim} | {paper} | {here:.2f} | {verdict} |\n' for claim, paper, here, verdict in claims_of(data))
  return text + f'\nAll numbers: [{name}.json]({name}.json).\n'


# ---- Commands ----

def cpu_name():
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    if line.startswith('model name'):
      return ' '.join(line.partition(':')[2].split())
  return platform.machine()


def facts(build, counts, runs):
  version = subprocess.run([shutil.which('mpirun.openmpi') or 'mpirun', '--version'], capture_output=True, text=True, check=True).stdout
  said = subprocess.run([f'{build}/bin/quadrille', '--version'], capture_output=True, text=True, check=True).stdout
  mpi = re.sub(r'^\S+ \(Open(RTE|PRRTE)\)', 'Open MPI', version.splitlines()[0])
  return {'ranks': max(counts), 'processors': len(os.sched_getaffinity(0)), 'cpu': cpu_name(), 'mpi': mpi,
          'quadrille': said.splitlines()[0], 'runs': runs}


def run(options):
  counts = [int(count) for count in options.ranks.split(',')]
  for name in NAMES:
    if options.only and name != options.only:
      continue
    data = {'application': name, 'command': f'lab/applications.py run --ranks {options.ranks} --runs {options.runs}'}
    data |= facts(options.build, counts, options.runs)
    if name == 'bruck-11':
      data['how'] = (f'The closure of a path of {CHAIN} edges with a leaf at each vertex, and of the packages of Debian that `closure` '
                     'comes with: the paper\'s two graphs took 2,933 and 89 iterations.')
      data['panels'] = measure_11(options.build, counts, options.runs)
    else:
      data['how'] = f'`kcfa --k 1 --terms {TERMS}`; the paper analysed a larger program with k = 8, on 4,096 ranks.'
      data['panels'] = measure_12(options.build, max(counts), options.runs)
    path = options.out / f'{name}.json'
    path.write_text(json.dumps(data, indent=1) + '\n')
    path.with_suffix('.md').write_text(page_of(data, path.with_suffix('.svg').is_file()))
    print(f'{path} is written', flush=True)
  return 0


def problem_of(path):
  data = json.loads(path.read_text())
  page = path.with_suffix('.md')
  text = page.read_text() if page.is_file() else ''
  return None if text == page_of(data, path.with_suffix('.svg').is_file()) else f'{page} is not what its data say'


def check(files):
  wrong = [problem for problem in map(problem_of, files) if problem]
  for problem in wrong:
    print(problem, file=sys.stderr)
  return 1 if wrong else 0


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['run', 'check', 'pages'])
  parser.add_argument('files', nargs='*', type=pathlib.Path)
  parser.add_argument('--build', default='build/openmpi')
  parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('build/results'))
  parser.add_argument('--ranks', default='4,8,16')
  parser.add_argument('--runs', type=int, default=3)
  parser.add_argument('--only', choices=NAMES)
  options = parser.parse_args()
  files = options.files or [path for path in (RESULTS / f'{name}.json' for name in NAMES) if path.is_file()]
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
