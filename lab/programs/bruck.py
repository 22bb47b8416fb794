"""Figures 11 and 12 of Fan et al., HPDC 2022, with MPI_Alltoallv and with two-phase Bruck: the transitive closure
(examples/closure) of a graph of high diameter and of one of low diameter; each exchange of k-CFA (examples/kcfa --trace)."""

import bisect
import csv
import pathlib
import re
import statistics
import tempfile

from programs.common import NO_OTHER_WAY, NOT_MEASURED, Application, beyond, bindings, each_run, in_turns, judged, launch, runs_of, speedups, times, with_near_side

LINES = {'MPI': 'mpi', 'two-phase': 'two-phase-bruck:radix=2,eager=0', 'two-phase, radix 4': 'two-phase-bruck:radix=4'}
EACH_A_NODE = {'QUADRILLE_NODES': 'blocked:1'}
LONGEST, CHAINS, TERMS = 2932, 2, 16
GRAPHS = {'high diameter: chains': ['--generate', f'chains:{CHAINS},{LONGEST}'], 'low diameter: packages of Debian': []}


def closure_row(ranks, line, said):
  found = re.search(r'closure: (\d+) tuples in (\d+) iterations', said[0])

  def seconds(what):
    return [float(re.search(rf'{what} ([0-9.]+) s', text)[1]) for text in said]
  return {'line': line, 'ranks': ranks, **each_run(seconds('data')), **each_run(seconds('total'), 'total_'),
          'tuples': int(found[1]), 'iterations': int(found[2])}


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
  rows, ranks, wholes = [], max(options.counts), {line: [] for line in LINES}
  with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / 'trace.csv'

    def trace(line):
      options.say(line)
      said = launch(options.build, ranks,
                    ['kcfa', '--k', '1', '--terms', str(TERMS), '--algorithm', LINES[line], '--trace', str(file)], EACH_A_NODE)
      wholes[line].append(float(re.search(r'^total ([0-9.]+) s', said, re.M)[1]))
      return list(csv.DictReader(file.open()))
    for line, traces in in_turns(LINES, options.runs, trace).items():
      for exchange in zip(*traces):
        first = exchange[0]
        rows.append({'line': line, 'iteration': int(first['iteration']), 'largest': int(first['largest_block_bytes']),
                     'mean': float(first['mean_block_bytes']), **each_run([float(one['data_seconds']) for one in exchange])})
  sizes = [{'line': 'N', 'iteration': row['iteration'], 'us': [row['largest']]} for row in rows if row['line'] == 'MPI']
  return (f'`kcfa --k 1 --terms {TERMS}`; the paper analysed a larger program with k = 8, on 4,096 ranks.',
          [{'title': f'{ranks} ranks', 'x': 'iteration', 'y': 'µs in the exchange of facts', 'rows': rows},
           {'title': 'N', 'x': 'iteration', 'y': 'N, bytes of the largest block', 'rows': sizes},
           {'title': 'in all', 'x': 'ranks', 'y': 'µs of the whole program',
            'rows': [{'line': line, 'ranks': ranks, **each_run(seconds)} for line, seconds in wholes.items()]}])


def claims_11(data):
  wanted = (('graph 1, many iterations: two-phase faster than the MPI, 97 against 87 s in all', '1.11'),
            ('graph 2, few iterations: two-phase slower than the MPI in all', 'below 1'))
  claims = []
  for panel, (text, paper) in zip(data['panels'], wanted):
    here = speedups(panel, 'two-phase', 'MPI', 'total_', lambda ranks: ranks == data['ranks'])
    claims.append(judged(f'{text} (the MPI\'s time over its own)', paper, here, data['ranks'], 2048))
  claims[1] = with_near_side(claims[1], claims[0].here, 'on graph 1')
  grown = growth(data['panels'][0])
  claims.append(judged('graph 1: the improvement of the time in the exchanges grows with the ranks (that with the most over that with the '
                       'fewest)', 'above 1', grown, data['ranks'], 2048, '' if grown else f'{NOT_MEASURED}: there is one number of ranks'))
  return claims + [row for panel in data['panels'] for row in all_ranks(panel)]


def growth(panel):
  """For each run, the gain of two-phase with the most ranks over its gain with the fewest."""
  counts = sorted(times(panel, 'MPI'))
  gains = [speedups(panel, 'two-phase', 'MPI', where=lambda ranks, count=count: ranks == count) for count in counts]
  return [most / fewest for fewest, most in zip(gains[0], gains[-1])] if len(counts) > 1 else []


def all_ranks(panel):
  """Faster or slower, for each number of ranks."""
  return [beyond(f'{panel["title"]}, {ranks} ranks: the MPI\'s time {what} over that of two-phase',
                 speedups(panel, 'two-phase', 'MPI', of, lambda count, ranks=ranks: count == ranks))
          for ranks in sorted(times(panel, 'MPI')) for of, what in (('', 'in the exchanges'), ('total_', 'in all'))]


def ranked(values):
  """The ranks of the values; equal values share their mean rank."""
  order = sorted(values)
  return [bisect.bisect_left(order, value) + bisect.bisect_right(order, value) for value in values]


def rank_correlation(some, others):
  """Spearman's correlation; 0 if one side is constant."""
  if len(set(some)) < 2 or len(set(others)) < 2:
    return 0.0
  return statistics.correlation(ranked(some), ranked(others))


def each_exchange(panel, line):
  """[{iteration: us}], one dictionary for each run."""
  runs = runs_of(panel, line)
  return [{x: us[i] for x, us in runs.items()} for i in range(min(map(len, runs.values())))]


def share_ahead(ours, mpi):
  return sum(ours[i] < mpi[i] for i in mpi) / len(mpi)


def claims_12(data):
  panels, ranks = data['panels'], data['ranks']
  mpi, ours, sizes = each_exchange(panels[0], 'MPI'), each_exchange(panels[0], 'two-phase'), times(panels[1], 'N')
  sums = [sum(one.values()) / sum(two.values()) for one, two in zip(mpi, ours)]
  ahead = [share_ahead(two, one) for one, two in zip(mpi, ours)]
  follows = [rank_correlation([sizes[i] for i in one], list(one.values())) for one in mpi]
  small = sum(n < 1000 for n in sizes.values()) / len(sizes)
  whole = speedups(panels[2], 'two-phase', 'MPI')
  ours_alone = f'{NO_OTHER_WAY}: N follows from the input, which is ours'
  return [judged(text, paper, here, ranks, 4096, reason) for text, paper, here, reason in (
      ('the whole program: two-phase faster, 271 against 235 s (the MPI\'s time over its own)', '1.15', whole, ''),
      ('all exchanges together: two-phase faster, 74 against 38 s (the MPI\'s time over its own)', '1.95', sums, ''),
      ('two-phase is faster in the most iterations (share of them)', 'above 0.5', ahead, ''),
      ('N is below 1,000 bytes in the most iterations (share of them)', 'above 0.5', [small], ours_alone),
      ('the time of an exchange varies with the load of the iteration (rank correlation of N and the MPI\'s time)', 'above 0.5', follows, ''))]


def free(options):
  """Ranks that count as nodes of their own run on any processor that the launcher allows."""
  return bindings(options, fits=False)


APPLICATIONS = [
    Application('bruck-11', 'Non-uniform Bruck, figure 11: transitive closure', measure_11, claims_11, bindings=free),
    Application('bruck-12', 'Non-uniform Bruck, figure 12: k-CFA, exchange by exchange', measure_12, claims_12, bindings=free)]
