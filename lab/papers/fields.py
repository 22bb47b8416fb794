"""The numbers in the text of the papers' pages, and the checks of its sentences without numbers."""

import json
import statistics

from programs.common import lines_of, speedups

KIB, MIB = 1 << 10, 1 << 20
CHOSEN, ORDER = 'Quadrille on ', 'hint-hilbert on '


def span(values):
  """The smallest and the largest."""
  least, largest = f'{min(values):.2f}', f'{max(values):.2f}'
  return least if least == largest else f'{least} to {largest}'


def mpis_of(panel):
  return [line.removeprefix(ORDER) for line in lines_of(panel) if line.startswith(ORDER)]


def order_over_chosen(stored, ranks, size):
  """{MPI: the median time in HINT's order over the median time of Quadrille}."""
  panel = f'{ranks} ranks'
  mpis = mpis_of(next(one for one in stored.data['panels'] if one['title'] == panel))
  return [statistics.median(stored.runs(panel, ORDER + mpi, size)) / statistics.median(stored.runs(panel, CHOSEN + mpi, size)) for mpi in mpis]


def rows(stored, plot=0):
  return stored.data['plots'][plot]['rows']


def sizes(stored, plot=0):
  return list(dict.fromkeys(row['bytes'] for row in rows(stored, plot)))


def first_ahead(stored, fast, slow):
  """The smallest size from which on a line is faster in all runs."""
  ahead = [size for size in sizes(stored) if min(stored.ratios(0, slow, fast, size)) > 1]
  behind = [size for size in sizes(stored) if size not in ahead]
  return next(size for size in ahead if size > max(behind, default=0))


def mib(size):
  assert size % MIB == 0, size
  return f'{size // MIB} MiB'


# The largest N at which two-phase is faster than spread-out, as measured in the paper (figures 6 and 9).
MEASURED_BORDERS = {256: 1024, 512: 1024, 1024: 1024, 2048: 1024, 4096: 1024, 8192: 512, 16384: 256, 32768: 128}


def bruck_ends(data):
  """{ranks: the largest N up to which Bruck is faster at all sizes}; 0 if it is slower at the smallest."""
  cells, ends = sorted(data['cells'], key=lambda cell: cell['bytes']), {}
  for cell in cells:
    before = ends.setdefault(cell['ranks'], (0, True))
    ahead = before[1] and 'bruck' in cell['algorithm']
    ends[cell['ranks']] = (cell['bytes'] if ahead else before[0], ahead)
  return {ranks: end for ranks, (end, _) in ends.items()}


def borders(data):
  """The numbers of ranks at which the formulas deviate from the paper's measurements."""
  ends = bruck_ends(data)
  same = [ranks for ranks, end in MEASURED_BORDERS.items() if ends[ranks] == end]
  further = [ranks for ranks, end in MEASURED_BORDERS.items() if ends[ranks] > end]
  assert sorted(same + further) == sorted(MEASURED_BORDERS) and max(same) < min(further), ends
  return (f'Up to {max(same):,} ranks Bruck is ahead up to the N that the paper measured. From {min(further):,} ranks on it is ahead further: '
          'a loaded network is perhaps slower than the constants say.')


def gains(stored, rival, chosen, ranks):
  """{order of the paper: total time over that of Quadrille's choice, mean of the grids}."""
  panel = next(one for one in stored.data['panels'] if one['ranks'] == ranks)
  orders = [line for line in lines_of(panel) if line.startswith('hint-') and line.endswith(rival)]
  return [statistics.median(speedups(panel, f'{chosen}{rival}', order, 'total_')) for order in orders]


def means(stored, slow, fast):
  """The geometric mean over the sizes, for each panel and run."""
  return [statistics.geometric_mean(run) for plot in range(len(stored.data['plots']))
          for run in zip(*(stored.ratios(plot, slow, fast, size) for size in sizes(stored, plot)))]


def basis_ahead(stored, plot):
  return [size for size in sizes(stored, plot) if min(stored.ratios(plot, 'packed', 'basis, packed', size)) > 1]


def hint_fields(found):
  many = max(panel['ranks'] for panel in found['hint-12'].data['panels'])
  stream, ranks = first_ahead(found['hint-8'], 'streaming', 'temporal'), found['hint-8'].data['ranks']
  stores = {row['line']: row['us'] for row in found['hint-3'].data['panels'][0]['rows'] if row['threads'] == 1}
  one_thread = [theirs / ours for theirs, ours in zip(stores['ordinary stores'], stores['streaming stores'])]
  return {'ranks_12': str(many), 'size_4k': '4 KiB', 'order_4k': span(order_over_chosen(found['hint-12'], many, 4 * KIB)),
          'size_16k': '16 KiB', 'order_16k': span(order_over_chosen(found['hint-12'], many, 16 * KIB)), 'few_12': str(FEW),
          'ranks_18': str(many), 'orders_18': span(gains(found['hint-18'], 'Open MPI 4.1', CHOSEN, many)),
          'stream_from': mib(stream), 'stream_all': mib(2 * ranks * ranks * stream), 'ranks_8': str(ranks),
          'one_thread': span(one_thread), 'l3': mib(found['hint-8'].data['facts']['l3_bytes'])}


def fields_of(found, map_of):
  """{page: {field: text}} of the stored figures, {name: Stored}; `map_of` gives the data of a map."""
  basis = found['iso-basis']
  return {'hint': hint_fields(found),
          'isomorphic': {'zero_copy': span(means(basis, 'zero copy', 'packed')), 'basis_at': f'{basis_ahead(basis, 1)[0]} B'},
          'bruck': {'borders': borders(json.loads(map_of('map-paper')))}, 'cache-oblivious': {}}


# ---- Sentences without numbers ----

FEW = 8  # the largest number of ranks at which the paper's order gains nothing


def is_behind(stored):
  """Whether two-phase is slower than the MPI in all runs, for each panel and size."""
  return [max(stored.ratios(plot, 'mpi', 'two-phase', size)) < 1 for plot in range(len(stored.data['plots'])) for size in sizes(stored, plot)]


def is_never_faster(stored):
  return all(min(order_over_chosen(stored, panel['ranks'], size)) > 0.995
             for panel in stored.data['panels'] if panel['ranks'] <= FEW for size in dict.fromkeys(row['bytes'] for row in panel['rows']))


def ends_of(stored, what):
  """The smallest and the largest of the runs, in the rows about `what`."""
  return [tuple(map(float, row.here.rstrip(')').partition('(')[2].split('..'))) for row in stored.rows if what in row.text]


def sayings(found, played):
  """[(page, sentence, whether the data confirm it)]"""
  bruck = [f'bruck-{number}' for number in (6, 7, 8, 9, 10)]
  basis, eight, copies = found['iso-basis'], found['hint-8'], found['co-copies']
  below = [size for size in sizes(eight) if size < first_ahead(eight, 'streaming', 'temporal')]
  on_hosts = [one for name in bruck for one in is_behind(played[name])]
  return [
      ('hint', 'With smaller blocks streaming is slower.', all(max(eight.ratios(0, 'temporal', 'streaming', size)) < 1 for size in below)),
      ('hint', 'ranks and fewer it is never faster.', is_never_faster(found['hint-12'])),
      ('hint', 'The ranks have a processor each.', found['hint-10'].data['ranks'] <= found['hint-10'].data['processors']),
      ('isomorphic', 'On the rings with many neighbours a basis is faster at', basis_ahead(basis, 1) == basis_ahead(basis, 2) == sizes(basis, 1)[:1]),
      ('bruck', '`two-phase` is slower than the MPI in every run at every size of figures 6 to 10.',
       all(one for name in bruck for one in is_behind(found[name]))),
      ('bruck', 'Over played hosts it is slower, too, but for single runs.', sum(on_hosts) > 0.9 * len(on_hosts)),
      ('cache-oblivious', 'With the largest blocks Morton order is slower in every run;', all(most < 1 for _, most in ends_of(copies, '4 and 32 KiB'))),
      ('cache-oblivious', 'with the smallest the runs mostly differ.',
       statistics.mean(least < 1 < most for least, most in ends_of(copies, '8 and 64 B')) > 0.5)]
