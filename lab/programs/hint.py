"""Figure 3 of the HINT paper, STREAM's copy by streaming and ordinary stores, and figures 12 to 18: Alltoall against the MPIs that are at hand, at 8, 16 and 32 ranks, and a transform by
pencils like P3DFFT's (examples/fft3d) on the paper's grids."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

from programs.common import Application, ROOT, in_turns, launch, processors, speedup, spread, times, totals

SOURCE = ('Ramesh et al., HINT: Designing Cache-Efficient MPI_Alltoall using Hybrid Memory Copy Ordering and Non-Temporal Instructions, '
          'figure')
SMALL, LARGE = '256,1K,4K,16K,32K', '64K,256K,1M'
INPUT = ROOT / 'examples' / 'data' / 'anatomical.nii.gz'


def mpis_at_hand(build):
  """(name, launcher, settings, the tool of its ABI) of the MPIs that `make setup` has installed."""
  folder = build.parent
  both = {'openmpi': build / 'bin' / 'quadrille', 'mpich': folder / 'mpich' / 'bin' / 'quadrille'}
  oversubscribed = {'PRTE_MCA_rmaps_default_mapping_policy': ':oversubscribe'}
  found = [('Open MPI 4.1', ['/usr/bin/mpirun.openmpi'], {}, both['openmpi']),
           ('Open MPI 5.0', [folder / 'venv-openmpi5' / 'bin' / 'mpirun'], oversubscribed, both['openmpi']),
           ('MPICH 5.0', [folder / 'venv' / 'bin' / 'mpirun'], {}, both['mpich']),
           ('Intel MPI 2021', [folder / 'venv-intel' / 'bin' / 'mpirun'],
            {'I_MPI_ROOT': str(folder / 'venv-intel'), 'I_MPI_FABRICS': 'shm'}, both['mpich'])]
  here = []
  for name, launcher, settings, tool in found:
    if pathlib.Path(launcher[0]).exists() and tool.exists():
      library = pathlib.Path(launcher[0]).parent.parent / 'lib'
      if 'venv' in str(library):
        settings = settings | {'LD_LIBRARY_PATH': str(library), 'PATH': f'{library.parent / "bin"}:{os.environ["PATH"]}'}
      here.append((name, [str(launcher[0])], settings, str(tool)))
  return here


def measure_alltoall(options, sizes):
  panels, names = [], []
  for ranks in options.counts:
    rows = []
    for name, launcher, settings, tool in mpis_at_hand(options.build):
      names.append(name)
      runs = []
      for run in range(options.runs):
        options.say(f'{name}, {ranks} ranks, run {run + 1}')
        with tempfile.NamedTemporaryFile(suffix='.json') as file:
          words = [tool, 'bench', 'alltoall', '--sizes', sizes, '--algorithms', 'default', '--no-ceiling', '--json', file.name]
          launch(options.build, ranks, words, settings, launcher)
          runs.append(json.loads(pathlib.Path(file.name).read_text())['rows'])
      for rows_of_size in zip(*runs):
        assert not any(row['errors'] for row in rows_of_size)
        size = rows_of_size[0]['bytes']
        for line, key in ((name, 'mpi_us'), (f'Quadrille on {name}', 'quadrille_us')):
          us = [row[key] for row in rows_of_size]
          rows.append({'line': line, 'bytes': size, 'us': statistics.median(us), 'least_us': min(us), 'most_us': max(us)})
    panels.append({'title': f'{ranks} ranks', 'x': 'bytes', 'y': 'µs a call of MPI_Alltoall', 'rows': rows, 'ranks': ranks})
  named = ', '.join(dict.fromkeys(names))
  return (f'`quadrille bench alltoall --sizes {sizes} --algorithms default` under {named}: in each run the MPI and Quadrille take '
          'turns, with the same data.', panels)


def lines_of(panel):
  return list(dict.fromkeys(row['line'] for row in panel['rows']))


def verdict(here, percent, ranks, cores):
  if ranks > cores:
    return f'cannot be tested here: {ranks} ranks shared {cores} processors'
  if here is None:
    return 'cannot be tested here: none of these MPIs was there'
  return 'agrees' if here >= percent else 'disagrees'


def claims_alltoall(data, wanted):
  """`wanted`: (ranks, the paper's words, percent by which HINT takes less time at the best size, its rival here)."""
  claims = []
  for ranks, words, percent, rivals in wanted:
    panel = next((one for one in data['panels'] if one['ranks'] == ranks), None)
    if panel is None:
      claims.append((words, f'{percent} %', None, f'cannot be tested here: {ranks} ranks were not measured'))
      continue
    gains = []
    for rival in [line for line in lines_of(panel) if any(line.startswith(one) for one in rivals)]:
      mpi, ours = times(panel, rival), times(panel, f'Quadrille on {rival}')
      gains.append(100 * max(1 - ours[size] / mpi[size] for size in mpi))
    here = max(gains) if gains else None
    claims.append((words, f'{percent} %', here, verdict(here, percent, ranks, data['processors'])))
  for panel in data['panels']:
    for rival in [line for line in lines_of(panel) if not line.startswith('Quadrille')]:
      here = speedup(times(panel, f'Quadrille on {rival}'), times(panel, rival))
      claims.append((f'(not in the paper) {panel["title"]}, {rival}: its time over Quadrille\'s, mean of all sizes', '-', here,
                     'agrees' if here > 1 else 'disagrees'))
  return claims


def figures(numbers, percents):
  """Claims of three figures: [(machine, rivals of the paper, its rival here)], a percent for each number of ranks."""
  machines = (('Cascade Lake', 'Intel MPI and MVAPICH2-X', ['Intel MPI', 'MPICH']), ('Skylake', 'HPC-X and MVAPICH2-X', ['Open MPI', 'MPICH']),
              ('AMD', 'HPC-X and MVAPICH2-X', ['Open MPI', 'MPICH']))
  wanted = []
  for number, (machine, rivals, here), row in zip(numbers, machines, percents):
    for ranks, percent in zip((8, 16, 32), row):
      wanted.append((ranks, f'figure {number}, {machine}, {ranks} ranks: up to so much less time than {rivals}', percent, here))
  return wanted


# ---- P3DFFT ----

GRIDS = ('128x256x256', '256x256x512', '256x512x512')
LINES = {'MPI': False, 'Quadrille': True}  # under it?
# (ranks, grid): percent by which the whole takes less time than with Intel MPI.
PAPER_18 = {(8, GRIDS[0]): 4.8, (8, GRIDS[1]): 15.1, (16, GRIDS[1]): 11.2, (16, GRIDS[2]): 22.2, (32, GRIDS[2]): 11.0}


def measure_18(options):
  panels = []
  for ranks in options.counts:
    rows = []
    for grid in GRIDS if ranks == 16 else GRIDS[:2]:  # the largest takes minutes, and the paper's best is with 16 ranks
      words = ['fft3d', '--input', str(INPUT), '--size', grid, '--decomposition', 'pencil', '--repeat', '12', '--warmup', '2',
               '--max-seconds', '20']
      options.say(f'fft3d {grid}, {ranks} ranks')
      turns = in_turns(LINES, options.runs, lambda line: launch(  # pylint: disable=cell-var-from-loop
          options.build, ranks, words, bound=ranks <= processors(), under=LINES[line]))  # pylint: disable=cell-var-from-loop
      for line, said in turns.items():
        found = [json.loads(re.search(r'^\{.*\}$', text, re.M)[0]) for text in said]
        assert all(one['error_max'] < 1e-10 for one in found)
        points = 1
        for extent in grid.split('x'):
          points *= int(extent)
        rows.append({'line': line, 'points': points, 'grid': grid, **spread([one['alltoall_s'] for one in found]),
                     'total_us': statistics.median(one['total_s'] for one in found) * 1e6})
    panels.append({'title': f'{ranks} ranks', 'x': 'points', 'y': 'µs in the all-to-alls of a round trip', 'rows': rows, 'ranks': ranks})
  return (f'`fft3d --decomposition pencil --repeat 12` on grids of {", ".join(GRIDS)} points, forward and back, as P3DFFT is measured: two exchanges each '
          'way. The time of a round trip is the whole, with the transforms of FFTW.', panels)


def claims_18(data):
  claims = []
  for (ranks, grid), percent in PAPER_18.items():
    panel = next((one for one in data['panels'] if one['ranks'] == ranks), None)
    points = next((row['points'] for row in panel['rows'] if row['grid'] == grid), None) if panel else None
    if points is None:
      continue
    here = 100 * (1 - totals(panel, 'Quadrille')[points] / totals(panel, 'MPI')[points])
    claims.append((f'{grid}, {ranks} ranks: so much less time in all than Intel MPI', f'{percent} %', here,
                   verdict(here, percent, ranks, data['processors'])))
  for panel in data['panels']:
    for of, what in ((times, 'in the exchanges'), (totals, 'in all')):
      here = speedup(of(panel, 'Quadrille'), of(panel, 'MPI'))
      claims.append((f'(not in the paper) {panel["title"]}: time {what}, the MPI\'s over Quadrille\'s', '-', here,
                     'agrees' if here > 1 else 'disagrees'))
  return claims


# ---- STREAM ----

ELEMENTS = 100_000_000  # doubles, as in the paper
STORES = {'memcpy': 'ordinary stores', 'NT': 'streaming stores'}


def copies_of_stream(build, threads):
  """{kind of stores: seconds of one copy of all elements}."""
  each = ELEMENTS * 8 // threads // 64 * 64
  said = subprocess.run([f'{build}/bin/copy_ceiling', '--bytes', str(each), '--threads', str(threads)], check=True, capture_output=True,
                        text=True).stdout
  rates = re.findall(r'^(memcpy|NT)\b.*: +(\d+) MB/s$', said, re.M)
  return {STORES[kind]: ELEMENTS * 8 / (float(rate) * 1e6) for kind, rate in rates}


def measure_3(options):
  rows = []
  for threads in options.counts:
    options.say(f'{threads} threads')
    runs = [copies_of_stream(options.build, threads) for _ in range(options.runs)]
    rows += [{'line': line, 'threads': threads, **spread([run[line] for run in runs])} for line in STORES.values()]
  return (f'`copy_ceiling` copies {ELEMENTS:,} doubles, as the paper does: each thread its share, from a buffer of its own to another, pinned '
          'to a processor.',
          [{'title': 'STREAM\'s copy', 'x': 'threads', 'y': 'µs of a copy of all', 'rows': rows}])


def claims_3(data):
  panel = data['panels'][0]
  claims = []
  for threads in sorted(times(panel, 'ordinary stores')):
    here = times(panel, 'ordinary stores')[threads] / times(panel, 'streaming stores')[threads]
    claims.append((f'{threads} thread{"s" * (threads > 1)}: bandwidth of streaming stores over that of ordinary ones', 'below 1', here,
                   'agrees' if here < 1 else 'disagrees'))
  return claims + [('more than 4 threads: the same', 'above 1', None,
                    f'cannot be tested here: there are {data["processors"]} processors')]


TURNS = 'Each MPI is compared with Quadrille on the same MPI; a time is that of the slowest rank, the median of the calls.'
APPLICATIONS = [
    Application('hint-3', 'HINT, figure 3: bandwidth of streaming and ordinary stores', SOURCE + ' 3',
                'A line is a kind of stores.', measure_3, claims_3, alone='one process, whose threads have a processor each'),
    Application('hint-12', 'HINT, figures 12 to 14: small and medium blocks against the MPIs at hand', SOURCE + 's 12 to 14', TURNS,
                lambda options: measure_alltoall(options, SMALL),
                lambda data: claims_alltoall(data, figures((12, 13, 14), ((67, 75, 76), (78, 81, 81), (90, 90, 90))))),
    Application('hint-15', 'HINT, figures 15 to 17: large blocks against the MPIs at hand', SOURCE + 's 15 to 17', TURNS,
                lambda options: measure_alltoall(options, LARGE),
                lambda data: claims_alltoall(data, figures((15, 16, 17), ((37, 37, 30), (22, 36, 23), (73, 73, 73))))),
    Application('hint-18', 'HINT, figure 18: a 3D FFT by pencils', SOURCE + ' 18',
                '`MPI` is the program alone, `Quadrille` the same program under `quadrille run`. Times are of the rank that took longest.',
                measure_18, claims_18)]
