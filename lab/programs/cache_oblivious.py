"""Figures 14 and 15 of the cache-oblivious paper: the FT problem of NPB (examples/ft) and heat transfer (examples/heat2d and
heat3d), with the MPI's own calls and with the orders of copies. Also the copies alone, whose misses the paper's tables count."""

import json
import pathlib
import re
import subprocess
import tempfile

from programs.common import (NO_MACHINE, NOT_MEASURED, Application, beyond, crowded, each_run, in_turns, judged, launch, processors,
                             product_of, speedups, times)

LINES = {'MPI': None, 'SH-Naive': 'sh-naive', 'SH-CO': 'sh-co', 'Quadrille': ''}
# The paper's block sizes for these numbers of ranks: nx * ny * nz * 16 / P^2 bytes.
CLASSES = {'S': 1 << 10, 'W': 2 << 10, 'A': 32 << 10, 'B': 128 << 10}


def run_line(options, ranks, line, collective, words):
  """The output of the program, natively or under Quadrille; two ranks have a processor each."""
  algorithm = LINES[line]
  settings = {'QUADRILLE_ALGORITHM': f'{collective}={algorithm}'} if algorithm else {}
  return launch(options.build, ranks, words, settings, bound=ranks <= processors(), under=algorithm is not None)


def extents(ranks, block):
  """The points of a volume that the ranks divide, with blocks of this size; x is the remaining factor."""
  y = z = ranks
  x = block // 16
  while x > 256 and y < 8 * ranks:
    x, y = x // 2, y * 2
    if x > 256 and z < 8 * ranks:
      x, z = x // 2, z * 2
  return x, y, z


def measure_14(options):
  panels = []
  for ranks in options.counts:
    rows = []
    for name, block in CLASSES.items():
      size = 'x'.join(map(str, extents(ranks, block)))
      # The largest runs fewer steps, without the check by one process, which would dominate the time.
      words = ['ft', '--size', size, '--iterations', '3' if name == 'B' else '6'] + (['--no-check'] if name in 'AB' else [])
      options.say(f'ft {size}, {ranks} ranks')
      turns = in_turns(LINES, options.runs, lambda line: run_line(options, ranks, line, 'alltoall', words))  # pylint: disable=cell-var-from-loop
      for line, said in turns.items():
        found = [re.search(r'total ([0-9.]+) s, MPI_Alltoall ([0-9.]+) s', text) for text in said]
        assert all(f'blocks of {block} B' in text for text in said), said[0]
        rows.append({'line': line, 'block': block, 'class': name, 'size': size, **each_run([float(one[2]) for one in found]),
                     **each_run([float(one[1]) for one in found], 'total_')})
    panels.append({'title': f'FT, {ranks} ranks', 'x': 'block', 'y': 'µs in MPI_Alltoall, all steps', 'rows': rows, 'ranks': ranks})
  return ("Volumes whose blocks have the sizes of the paper's classes S, W, A and B (1, 2, 32 and 128 KiB), which the paper too changed "
          'for numbers of ranks that are no power of two. The first two are checked with the checksums of one process.', panels)


HEATS = (('heat2d', 'alltoallv', (300, 600, 1200)), ('heat3d', 'alltoall', (8, 16, 32)))
STEPS = 1024  # as in the paper
CROWDED_STEPS = 64  # for far more ranks than processors, with steps that take a hundred times as long


def grid_of(program, ranks):
  """The paper's grids, 6 x 10 and 3 x 4 x 6, or the most even one."""
  known = {('heat2d', 60): (6, 10), ('heat3d', 72): (3, 4, 6), ('heat2d', 72): (6, 12), ('heat3d', 60): (3, 4, 5),
           ('heat2d', 2): (1, 2), ('heat3d', 2): (1, 1, 2), ('heat2d', 8): (2, 4), ('heat3d', 8): (2, 2, 2)}
  if (program, ranks) not in known:
    raise SystemExit(f'{program} has no grid of {ranks} ranks, but of {sorted(count for name, count in known if name == program)}')
  return known[program, ranks]


def steps_of(ranks):
  return STEPS if ranks <= 4 * processors() else CROWDED_STEPS


def measure_15(options):
  panels = []
  for program, call, sizes in HEATS:
    for ranks in options.counts:
      grid, steps, rows = grid_of(program, ranks), steps_of(ranks), []
      for n in sizes:
        size = 'x'.join(str(n if program == 'heat2d' else n * part) for part in grid)
        words = [program, '--exchange', call, '--grid', 'x'.join(map(str, grid)), '--size', size, '--iterations', str(steps), '--json']
        options.say(f'{program} {size}, {ranks} ranks')
        turns = in_turns(LINES, options.runs, lambda line: json.loads(  # pylint: disable=cell-var-from-loop
            run_line(options, ranks, line, f'neighbor_{call}', words).splitlines()[0]))  # pylint: disable=cell-var-from-loop
        for line, said in turns.items():
          assert len({one['checksum'] for one in said}) == 1, said
          rows.append({'line': line, 'N': n, 'size': size, 'steps': steps, 'checksum': said[0]['checksum'],
                       **each_run([one['communication_s'] for one in said]),
                       **each_run([one['total_s'] for one in said], 'total_')})
      panels.append({'title': f'{program}, {ranks} ranks', 'x': 'N', 'y': f'µs in the exchange of ghost points, {steps:,} steps', 'rows': rows,
                     'ranks': ranks})
  return ('`heat2d` on N x N points with MPI_Neighbor_alltoallv, `heat3d` on a cube of N points a side at each rank with '
          f'MPI_Neighbor_alltoall: {STEPS:,} steps as in the paper, but {CROWDED_STEPS} with more than four ranks a processor, which take far '
          f'longer; each table says how many. Set-up counts for more in fewer steps. The time of communication has packing and '
          'unpacking in it. The communicator is set up after ten calls, which is a part of the time of Quadrille. All lines end in the same '
          'field, bit by bit.', panels)


def why_not(ranks, wanted, cores):
  shared = crowded(ranks, cores)
  return f'{NO_MACHINE}: the claim is about {wanted} ranks with a processor each; {shared.partition(": ")[2]}' if shared else ''


def claim_of(panels, cores, mpi, beginning, wanted, line, rival, words, number):
  """Claims about the panel with the paper's number of ranks, or with the most. The installed MPI stands for the paper's MPIs."""
  panel = next((one for one in panels if one['ranks'] == wanted), max(panels, key=lambda one: one['ranks'], default=None))
  if panel is None:
    return judged(words, number, [], reason=f'{NOT_MEASURED}: {beginning}')
  ranks = panel['ranks']
  here = f'{mpi} and {ranks} ranks here' if rival == 'MPI' else f'{ranks} ranks here'
  return judged(f'{words} ({here})', number, speedups(panel, line, rival, 'total_'), ranks, wanted,
                why_not(ranks, wanted, cores))


def claims_of(data, wanted):
  """`wanted`: (beginning of a panel's title, ranks of the paper, line, its rival, the paper's words, its number)."""
  claims = []
  for beginning, *rest in wanted:
    panels = [panel for panel in data['panels'] if panel['title'].startswith(beginning)]
    claims.append(claim_of(panels, data['processors'], data['mpi'], beginning, *rest))
  return claims + [beyond(f'{panel["title"]}: time {what}, the MPI\'s over Quadrille\'s', speedups(panel, 'Quadrille', 'MPI', of))
                   for panel in data['panels'] for of, what in (('', 'in the exchange'), ('total_', 'in all'))]


def claims_14(data):
  return claims_of(data, [
      ('FT', 60, 'SH-CO', 'SH-Naive', 'total time, SH-CO over SH-Naive, Xeon Phi, 60 ranks', '1.16'),
      ('FT', 60, 'SH-CO', 'MPI', 'the same over Intel MPI', '1.80'),
      ('FT', 72, 'SH-CO', 'SH-Naive', 'SH-NUMA-CO over SH-Naive, four Xeon E7, 72 ranks (one NUMA domain here, so SH-CO)', '1.14'),
      ('FT', 72, 'SH-CO', 'MPI', 'the same over MVAPICH2', '1.52')])


def claims_15(data):
  return claims_of(data, [
      ('heat2d', 60, 'SH-CO', 'SH-Naive', 'total time in two dimensions, SH-CO over SH-Naive, 60 ranks', '1.15'),
      ('heat2d', 60, 'SH-CO', 'MPI', 'the same over MVAPICH2', '1.85'),
      ('heat3d', 72, 'SH-CO', 'SH-Naive', 'in three dimensions, SH-NUMA-CO over SH-Naive, 72 ranks (one NUMA domain here, so SH-CO)', '1.27'),
      ('heat3d', 72, 'SH-CO', 'MPI', 'the same over MVAPICH2', '1.79')])


# ---- The copies alone ----

ORDERS = ('row', 'morton', 'row-numa', 'morton-numa')
COPIED = {'alltoall': [], 'allgather': [], 'neighbor_alltoall': ['--neighborhood', 'moore:2,2'],
          'neighbor_allgather': ['--neighborhood', 'moore:2,2']}
DOMAINS, COPY_SIZES = 4, '8,64,512,4K,32K'  # the paper's machine, and sizes of its tables


def copy_times(options, ranks, collective):
  """[(order, bytes, seconds)] of one run."""
  with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / 'rows.json'
    words = ['bench', collective, '--copy-phase', '--cold', '--ranks', str(ranks), '--domains', str(DOMAINS), '--orders', ','.join(ORDERS),
             '--sizes', COPY_SIZES, '--threads', str(processors()), '--json', str(file), *COPIED[collective]]
    subprocess.run([f'{product_of(options.build)}/bin/quadrille-lab', *words], check=True, stdout=subprocess.DEVNULL)
    rows = json.loads(file.read_text())['rows']
  assert all(row['errors'] == 0 for row in rows), rows
  return [(row['order'], row['bytes'], row['us'] * 1e-6) for row in rows]


def measure_copies(options):
  panels = []
  for collective in COPIED:
    for ranks in options.counts:
      options.say(f'copies of {collective}, {ranks} ranks')
      runs = [copy_times(options, ranks, collective) for _ in range(options.runs)]
      rows = [{'line': order, 'bytes': size, **each_run([seconds for _, _, seconds in of_one])}
              for of_one in zip(*runs) for order, size, _ in of_one[:1]]
      panels.append({'title': f'{collective}, {ranks} ranks', 'x': 'bytes', 'y': 'µs of the copies', 'rows': rows, 'ranks': ranks})
  return (f'`quadrille-lab bench COLLECTIVE --copy-phase --cold --domains {DOMAINS}`: each rank begins with caches that hold its own buffers, as '
          f'if it had a processor of its own; the time is that of all copies, by threads that play the ranks. The ranks are taken for those '
          f'of {DOMAINS} NUMA domains, but the machine has one memory, so the orders for NUMA show what they cost, not what they gain. '
          'Neighbours are 24 on a torus of two dimensions. In each run the orders take turns.', panels)


def claims_copies(data):
  return [beyond(f'{panel["title"]}, {sizes}: time of rows over that of Morton order', speedups(panel, 'morton', 'row', where=where))
          for panel in data['panels']
          for sizes, where in (('8 and 64 B', lambda size: size <= 64), ('512 B', lambda size: size == 512), ('4 and 32 KiB', lambda size: size > 512))
          if any(map(where, times(panel, 'row')))]


APPLICATIONS = [
    Application('co-14', 'Cache-oblivious paper, figure 14: 3D FFT', measure_14, claims_14),
    Application('co-15', 'Cache-oblivious paper, figure 15: heat transfer', measure_15, claims_15),
    Application('co-copies', 'Cache-oblivious paper, sections 3 and 4: the copies alone', measure_copies, claims_copies,
                alone='ranks that threads of one process play', bindings=lambda options: {})]
