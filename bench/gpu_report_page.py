"""The part of docs/results/gpu.md on one GPU that its ranks share: from docs/results/gpu/h100-*.json alone.

h100-openmpi.json and h100-intel.json are reports of bench/gpu/gpu_report.py, h100-traces.json has tables of
bench/gpu/trace/trace.py.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'docs' / 'results' / 'gpu'
sys.path.insert(0, str(ROOT / 'bench' / 'gpu'))
import verdicts  # noqa: E402  pylint: disable=wrong-import-position

INTRODUCTION = """\
All ranks share one GPU. The driver gives the device to one process after the other, so a call in which several ranks use it
waits for turns. `ipc-pull` without leaders, in which each rank copies once, shows them: about 295 us a call with 2 ranks,
575 with 4 and 1,140 with 8, however small the blocks are. With a leader one rank alone uses the device, and nobody waits.
The MPI's messages wait for turns as well, probably in each of their rounds. That is most of the large ratios below. They
say nothing on ranks that have a device each.

Everything was measured once. A time is the median over the batches of one run, each as long as its slowest rank took; in
brackets is the 99th percentile. Run 1 was before one kernel moved all blocks inside a device: then the driver's batches
did, and the kernel for small blocks alone. Run 2 was with that kernel, some 50 minutes later on a machine of the same kind.
The bus was slower there: 69 to 92 GB/s both ways before the steps of run 2, 96 to 100 before those of run 1. Two things
were changed after run 2 because of what it showed, and were not measured again: how the kernel is
launched (in which order its blocks begin, and how many threads those of small pieces have), and how much pinned memory is
kept (128 MiB then).
"""
GOALS = """\
`check-`, `small-` and `way-` are of run 1, all others of run 2. Right bytes were checked in run 1: `default`, `ipc-pull`
with and without leaders, `pipelined-copy-to-cpu` and `copy-to-cpu`, 4 collectives, 7 sizes, 4 ranks. Calls that are timed
were checked as well, without a wrong byte. With 2 ranks `default` had settled on `spread-out` in the step of large totals.
The rate of bare copies with 8 ranks that the report found (325 GB/s) was not seen again: [below](#bare-copies) a graph of
such copies takes 188 to 191 us, which is 1,400 GB/s.
"""
WAYS = """\
139 is a crash: the Open MPI 5.0.11 of the Python registry has no support for CUDA of its own, only its messages by UCX
have. Of its ways just `pairwise` (2) of Alltoallv survives; its times are those of the MPI below. Alltoall is compared with
the MPI over the host: what is sent is copied to pinned memory, exchanged there, and copied back, as a program would do by
hand.
"""
SMALL = """\
With 8 ranks and 4 KiB the MPI over the host took 81 us, with less than that 1,150. Why it did not wait for turns there is
not known.
"""
PAPER = """\
The MPI's times with 8 ranks rise to 80 ms at 512 KiB and are 9 ms at 2 MiB. The means over the sizes (above) contain that.
With 8 ranks and 8 MiB Quadrille took 646 us, though 64 bare copies of such blocks take 365 to 390 by a graph or a kernel,
and 560 by a batch: not explained.
"""
LARGE = """\
With 4 and 8 ranks some 30 us of a call are not the copies: the kernel alone takes 204 to 210 us for the 16 blocks of 16
MiB, and 203 to 207 for the 64 of 4 MiB ([bare copies](#bare-copies)).
"""
STAGED = """\
With `pipelined-copy-to-cpu` each rank's own block stays in the device and is not counted. What the bus can do was measured
before each step, and differed, so the verdicts go by the best of the three. `copy-to-cpu` with 2 ranks needs 256 MiB of
pinned memory in each process, and 128 MiB are kept at most.
"""
COPIES = """\
In one process ranks x ranks blocks, a copy each: microseconds until all are done, least to largest over the runs that have
the size. `plain` is one copy of as many bytes, `each` one call of the driver a copy. The kernel of runs 2 and 3 has 256
threads and up to 4,224 blocks; in run 1 its list had pieces of 16 KiB. These runs are numbered apart from those above.

With small blocks the kernel takes 12 to 15 us whatever their number, a graph about 0.85 us a copy and a batch about 4. With
the largest ones a graph takes as long as one plain copy, and the kernel 7 % longer (8 ranks, 16 MiB, runs 2 and 3).
"""
APART = """\
If the two addresses of a block differ by something that 16 does not divide, the kernel has to move smaller words (4 ranks,
blocks of 16 MiB):
"""
TRACES = """\
Four ranks, by CUPTI, before the kernel. The first two stretches contain the calls of the MPI over the host as well, by
turns with Quadrille's, so their shares of the whole time say little; the rows of the copies inside the device (DtoD) do:

- With a leader the device waits for 4.3 us (median) between two copies of one batch, which take 1.1 us each: it idles for
  four fifths of that time. So one kernel makes them now where that is faster.
- Without a leader a copy that is launched waits for 135 us (median) if another rank's work was before it: the turns of the
  driver.
- In chunks over the host the device is busy for 92 % of the time, but copies in each direction take 73 and 72 % of it: part
  of the time one way of the bus is idle. What lies between its works is mostly 1.3 us, from one copy to the next.
"""
SEEN = """\
- Every call, with an oracle for its bytes, over the driver itself: `ipc-pull` with and without leaders on 2, 3 and 4 ranks;
  `copy-to-cpu`, `pipelined-copy-to-cpu`, `waitall-stride` and `spread-out` on 3 and 4; `waitany-stride` on 2, 3 and 4;
  `pairwise` on 2 and 3. All bytes were right.
- Calls in the order of streams, and on the host: `ipc-pull` with and without leaders on 2, 3 and 4 ranks, `copy-to-cpu` and
  `pipelined-copy-to-cpu` on 3 and 4, `pairwise` on 2 and 4. All bytes were right.
- Programs of Python with CuPy and Numba over mpi4py on 2 ranks. The first run found a fault: with CuPy, blocking calls
  whose messages go straight by UCX did not wait for the NULL stream, and 9 values were wrong. It is mended: then 4 of 4
  runs had 0 wrong values, with CuPy and with Numba.
"""


def load(name):
  return json.loads((FOLDER / f'h100-{name}.json').read_text())


def size_text(size):
  for unit, name in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
    if size % unit == 0:
      return f'{size // unit} {name}'
  return f'{size} B'


def us_text(us):
  return f'{us:,.0f}' if us >= 99.95 else f'{us:.1f}'


def with_p99(row, whose):
  return f'{us_text(row[whose + "_us"])} ({us_text(row[whose + "_p99_us"])})'


def steps_of(report, beginning):
  return [(name, report['steps'][name]) for name in report['steps'] if name.startswith(beginning)]


def lines_of(part):
  return [line.replace('## ', '### ', 1) for line in part.lines]


def goals(report):
  page = verdicts.Page(report)
  page.goals()
  return lines_of(page) + [GOALS]


def ways(report):
  page = verdicts.Page(report)
  page.ways()
  return lines_of(page) + [WAYS]


def times(report, beginning):
  """Beside the MPI: what is chosen, and `ipc-pull` without leaders."""
  rows = []
  for name, step in steps_of(report, beginning):
    found = {(row['bytes'], row['algorithm']): row for row in verdicts.rows_of(report['steps'], name)}
    for (size, algorithm), row in found.items():
      if algorithm == 'default':
        rows.append([row['collective'], step['ranks'], size_text(size), with_p99(row, 'mpi'), with_p99(row, 'quadrille'),
                     f'{row["ratio"]:.4f}', f'`{row["served_by"]}`', with_p99(found[size, 'ipc-pull'], 'quadrille')])
  head = ['call', 'ranks', 'block', 'MPI, us', 'Quadrille, us', 'ratio', 'by', '`ipc-pull` without leaders, us']
  return verdicts.table(head, rows)


def large(report):
  rows = [[step['ranks'], size_text(row['bytes']), f'`{row["algorithm"]}`', f'`{row["served_by"]}`', with_p99(row, 'mpi'),
           with_p99(row, 'quadrille'), f'{row["bytes"] * step["ranks"] ** 2 / row["quadrille_us"] * 1e-3:,.0f}',
           f'{row["ceiling_part"]:.2f}']
          for name, step in steps_of(report, 'large-') for row in verdicts.rows_of(report['steps'], name)]
  head = ['ranks', 'block', 'asked for', 'by', 'MPI, us', 'Quadrille, us', 'GB/s', 'part of one copy in the device']
  return verdicts.table(head, rows)


def staged(report):
  rows = [(step['ranks'], row) for name, step in steps_of(report, 'staged-')
          for row in verdicts.rows_of(report['steps'], name)]
  best = max(verdicts.bus_rate(row, ranks) for ranks, row in rows)
  lines = []
  for ranks, row in rows:
    part, bus = verdicts.part_of_bus(row, ranks), verdicts.bus_rate(row, ranks)
    lines.append([ranks, size_text(row['bytes']), f'`{row["algorithm"]}`', with_p99(row, 'mpi'), with_p99(row, 'quadrille'),
                  f'{row["ratio"]:.2f}', f'{part * bus / 1000:.1f}', f'{part:.2f} of {bus / 1000:.1f}',
                  f'{part * bus / best:.2f}'])
  head = ['ranks', 'block', 'algorithm', 'MPI, us', 'Quadrille, us', 'ratio', 'GB/s of the bus, both ways',
          'part of the bus before the step, GB/s', 'part of the best']
  return verdicts.table(head, lines)


def span(values):
  if not values:
    return '-'
  return us_text(min(values)) if len(values) == 1 else f'{us_text(min(values))} to {us_text(max(values))}'


def copies_of(data, ranks, block, name, runs):
  return [one[name] for run in data['runs'] if run['run'] in runs for one in run['copies']
          if one['ranks'] == ranks and one['block'] == block and name in one]


def copies(data):
  columns = [('plain', 'plain', (1, 2, 3)), ('batch', 'batch', (1, 2, 3)), ('graph', 'graph', (1, 2, 3)),
             ('each', 'each', (2, 3)), ('kernel, runs 2 and 3', 'new 256x4224', (2, 3)),
             ('kernel, run 1', 'new 256x4224 16K', (1,))]
  points = sorted({(one['ranks'], one['block']) for run in data['runs'] for one in run['copies']
                   if 4096 <= one['block'] <= 16 << 20})
  rows = [[ranks, size_text(block)] + [span(copies_of(data, ranks, block, name, runs)) for _, name, runs in columns]
          for ranks, block in points]
  return verdicts.table(['ranks', 'block'] + [title for title, _, _ in columns], rows)


def apart(data):
  names = {'16': ('new 256x4224', 'graph', 'batch'), '8': ('kernel, apart by 8', '', ''), '1': ('kernel, apart by 1', '', ''),
           '4': ('kernel, apart by 4', 'graph, apart by 4', 'batch, apart by 4')}
  rows = [[f'by a multiple of {by}' if by == '16' else f'by {by}'] +
          [span(copies_of(data, 4, 16 << 20, name, (2, 3))) for name in names[by]] for by in ('16', '8', '4', '1')]
  return verdicts.table(['addresses differ', 'kernel, us', 'graph, us', 'batch, us'], rows)


def traces(data):
  lines = []
  for trace in data['traces']:
    lines += [f'#### {trace["algorithm"]}', '', trace['busy'], '',
              *verdicts.table(trace['device']['head'], trace['device']['rows']),
              f'{trace["gaps"]}, in which the rank whose work came next was:', '',
              *verdicts.table(trace['times']['head'], trace['times']['rows'][:6]),
              'The largest kinds of gaps:', '', *verdicts.table(trace['kinds']['head'], largest_kinds(trace)),
              f'![a few calls: {trace["algorithm"]}](gpu/h100-trace-{trace["name"]}.svg)', '']
  return lines


def largest_kinds(trace):
  """Those of the copies inside the device, and the first of the others."""
  rows = trace['kinds']['rows']
  return [row for n, row in enumerate(rows) if n < 4 or 'DtoD' in row[2]]


def transform(data):
  rows = [[run['algorithm'], f'`{run["command"]}`', run['round_trip_ms'], run['alltoall_ms']] for run in data['runs']]
  head = ['staged by', 'command', 'there and back, ms', 'of it all-to-all (median of the ranks), ms']
  return [f'`fft2d`, {data["size"]} points, {data["ranks"]} ranks, one run each:', '', *verdicts.table(head, rows)]


def commands(reports):
  lines = [f'    {step["command"]}' for report in reports for name, step in report['steps'].items()
           if not name.startswith('way-')]
  return ['### Commands', '', *lines, '']


def intel(report):
  failed, header = report['steps']['paper-alltoallv-4'], report['steps']['small-alltoallv-4']['header']
  return ['### Intel MPI', '', f"{header['mpi']}, run 2, 4 ranks. The paper's sizes were not measured: the step was ended after "
          f'{failed["seconds"]:.0f} s.', '', *times(report, 'small-')]


def text():
  report, other = load('openmpi'), load('intel')
  page = verdicts.Page(report)
  page.machine()
  files = ', '.join(f'[{file.name}](gpu/{file.name})' for file in sorted(FOLDER.glob('h100-*.json')))
  header = report['steps']['check-alltoall-4']['header']
  lines = ['## One GPU, shared by its ranks', '', *page.lines,
           f'{header["cpu"]}, {header["mpi"]} with UCX. Files: {files}.', '', INTRODUCTION,
           *goals(report), *ways(report),
           '### Small blocks', '', 'Run 1.', '', *times(report, 'small-'), SMALL,
           "### The paper's sizes", '', 'Run 2.', '', *times(report, 'paper-'), PAPER, *intel(other),
           '### Large totals', '', '256 MiB in all, run 2. A byte that is moved counts once.', '', *large(report), LARGE,
           '### Over the host', '', 'Run 2.', '', *staged(report), STAGED,
           '### Bare copies', '', COPIES, *copies(load('copies')), APART, *apart(load('copies')),
           '### What the device waits for', '', TRACES, *traces(load('traces')),
           '### A program', '', *transform(load('fft2d')),
           '### Seen on the GPU', '', SEEN, *commands([report, other])]
  return '\n'.join(lines)
