"""Figures 11 and 12 of Fan et al., HPDC 2022, with MPI_Alltoallv and with two-phase Bruck: the transitive closure
(examples/closure) of a graph of high diameter and of one of low diameter; each exchange of k-CFA (examples/kcfa --trace)."""

import csv
import pathlib
import re
import statistics
import tempfile

from programs.common import Application, in_turns, launch, spread, times

SOURCE = 'Fan et al., Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication (HPDC 2022), figure '
LINES = {'MPI': 'mpi', 'two-phase': 'two-phase-bruck:radix=2,eager=0', 'two-phase, radix 4': 'two-phase-bruck:radix=4'}
EACH_A_NODE = {'QUADRILLE_NODES': 'blocked:1'}
ABOUT_LINES = ("Each rank is taken for a node of its own. `two-phase` is the paper's form, radix 2 with sizes beside the data. Times are "
               'of the rank that took longest.')
LONGEST, CHAINS, TERMS = 2932, 2, 16
GRAPHS = {'high diameter: chains': ['--generate', f'chains:{CHAINS},{LONGEST}'], 'low diameter: packages of Debian': []}


def closure_row(ranks, line, said):
  total = [float(re.search(r'total ([0-9.]+) s', text)[1]) for text in said]
  found = re.search(r'closure: (\d+) tuples in (\d+) iterations', said[0])
  return {'line': line, 'ranks': ranks, **spread([float(re.search(r'data ([0-9.]+) s', text)[1]) for text in said]),
          'total_us': statistics.median(total) * 1e6, 'tuples': int(found[1]), 'iterations': int(found[2])}


def measure_11(options):
  panels = []
  for title, graph in GRAPHS.items():
    rows = []
    for ranks in options.counts:
      options.say(f'{title}, {ranks} ranks')
      turns = in_turns(LINES, options.runs, lambda line: launch(  # pylint: disable=cell-var-from-loop
          options.build, ranks, ['closure', '--algorithm', LINES[line], *graph], EACH_A_NODE))  # pylint: disable=cell-var-from-loop
      rows += [closure_row(ranks, line, said) for line, said in turns.items()]
    panels.append({'title': title, 'x': 'ranks', 'y': 'µs in the exchanges of tuples, all iterations', 'rows': rows})
  iterations = [panel['rows'][0]['iterations'] for panel in panels]
  return (f'The closure of {CHAINS} chains, the longest of {LONGEST:,} edges, in {iterations[0]:,} iterations, and of the packages of Debian '
          f'that `closure` comes with, in {iterations[1]}: the paper\'s two graphs took 2,933 and 89 iterations.', panels)


def measure_12(options):
  rows, ranks = [], max(options.counts)
  with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / 'trace.csv'

    def trace(line):
      options.say(line)
      launch(options.build, ranks, ['kcfa', '--k', '1', '--terms', str(TERMS), '--algorithm', LINES[line], '--trace', str(file)], EACH_A_NODE)
      return list(csv.DictReader(file.open()))
    for line, traces in in_turns(LINES, options.runs, trace).items():
      for exchange in zip(*traces):
        first = exchange[0]
        rows.append({'line': line, 'iteration': int(first['iteration']), 'ranks': ranks, 'largest': int(first['largest_block_bytes']),
                     'mean': float(first['mean_block_bytes']),
                     'us': statistics.median(float(one['data_seconds']) for one in exchange) * 1e6})
  sizes = [{'line': 'N', 'iteration': row['iteration'], 'us': row['largest']} for row in rows if row['line'] == 'MPI']
  return (f'`kcfa --k 1 --terms {TERMS}`; the paper analysed a larger program with k = 8, on 4,096 ranks.',
          [{'title': f'{ranks} ranks', 'x': 'iteration', 'y': 'µs in the exchange of facts', 'rows': rows},
           {'title': 'N', 'x': 'iteration', 'y': 'N, bytes of the largest block', 'rows': sizes}])


def claims_11(data):
  panels, ranks = data['panels'], data['ranks']
  out_of_reach = f'cannot be tested here: it is about 2048 ranks, and there were {ranks}'
  return [(text, paper, times(panel, 'MPI')[ranks] / times(panel, 'two-phase')[ranks], out_of_reach) for panel, text, paper in
          ((panels[0], 'graph 1, many iterations: two-phase faster than the MPI, 97 against 87 s in all', '1.11'),
           (panels[1], 'graph 2, few iterations: two-phase slower than the MPI', 'below 1'))]


def claims_12(data):
  panels, ranks = data['panels'], data['ranks']
  mpi, ours = times(panels[0], 'MPI'), times(panels[0], 'two-phase')
  ahead = sum(ours[i] < mpi[i] for i in mpi) / len(mpi)
  small = sum(n < 1000 for n in times(panels[1], 'N').values()) / len(mpi)
  far = f'cannot be tested here: it is about 4096 ranks, and there were {ranks}'
  deciles = statistics.quantiles(list(mpi.values()), n=10)
  return [('two-phase is faster in the most iterations (share of them)', 'above 0.5', ahead, far),
          ('N is below 1,000 bytes in the most iterations (share of them)', 'above 0.5', small, far),
          ('the time of an exchange varies with the iteration (its 9th decile over its 1st)', 'above 1', deciles[-1] / deciles[0],
           'agrees' if deciles[-1] > 1.25 * deciles[0] else 'disagrees')]


APPLICATIONS = [
    Application('bruck-11', 'Non-uniform Bruck, figure 11: transitive closure', SOURCE + '11', ABOUT_LINES, measure_11, claims_11),
    Application('bruck-12', 'Non-uniform Bruck, figure 12: k-CFA, exchange by exchange', SOURCE + '12', ABOUT_LINES, measure_12, claims_12)]
