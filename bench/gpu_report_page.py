"""The part of docs/results/gpu.md on one GPU that its ranks share: from docs/results/gpu/h100-*.json alone.

h100-openmpi.json and h100-intel.json are reports of bench/gpu/gpu_report.py, h100-traces.json has tables of
bench/gpu/trace/trace.py, and h100-chunks.json what `quadrille bench` printed.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'docs' / 'results' / 'gpu'
sys.path.insert(0, str(ROOT / 'bench' / 'gpu'))
import verdicts  # noqa: E402  pylint: disable=wrong-import-position

INTRODUCTION = """\
All ranks share one GPU. The driver gives the device to one process after the other, so a call in which several ranks use it
waits for turns. `ipc-pull` without leaders, in which each rank copies once, shows them: about 260 us a call with 2 ranks,
550 with 4 and 1,135 with 8, however small the blocks are. With a leader one rank alone uses the device, and nobody waits.
The MPI's messages wait for turns as well, probably in each of their rounds. That is most of the large ratios below. They
say nothing on ranks that have a device each.

Everything was measured once. A time is the median over the batches of one run, each as long as its slowest rank took; in
brackets is the 99th percentile. Run 1 was before one kernel moved all blocks inside a device: right bytes and the MPI's ways
are of it. Run 2 was with that kernel: Intel MPI's times are of it. Run 3 has all other steps of the report. It was later than
run 1, on a machine of the same kind. What is new in it, beside run 2:

- What launched the copies of a call launches them again when a call with the same buffers comes. From the eighth such call on
  that is a graph of the driver, where a cost model expects it to be faster than the kernel.
- A rank waits for the NULL stream once a call. Up to 1 GiB of pinned memory is kept, and chunks have 2 MiB.
- Blocks of the kernel's threads begin in another order.
- A batch lasts 5 ms, as long as those by which the device's and the bus's rates are measured. In runs 1 and 2 it lasted 200 us,
  so it was one call to eleven. Buffers have sizes that are powers of two ([why](#where-the-driver-puts-buffers)).

So times of run 3 are shorter than older ones partly because they were measured otherwise. How much the code did was not
measured apart. One thing was changed after run 3 because of what it showed, and was not measured again in calls: blocks of the
kernel's threads no longer begin in that other order, and its list has pieces of 16 KiB, as in run A of the [bare
copies](#bare-copies).
"""
GOALS = """\
`check-` and `way-` are of run 1, all others of run 3. Right bytes were checked in run 1: `default`, `ipc-pull` with and without
leaders, `pipelined-copy-to-cpu` and `copy-to-cpu`, 4 collectives, 7 sizes, 4 ranks. Calls that are timed were checked as
well, in run 3 too, without a wrong byte. All that `default`, `ipc-pull:leader=1` and `pipelined-copy-to-cpu` were to reach is
reached. `copy-to-cpu` brings all to the host, exchanges it there, and brings it back, one after the other, and does not reach it.
Bare copies are those of run 1. Their rate with 8 ranks (325 GB/s) was not seen again: [below](#bare-copies) a graph of such
copies takes 188 to 191 us, which is 1,400 GB/s.
"""
WAYS = """\
139 is a crash: the Open MPI 5.0.11 of the Python registry has no support for CUDA of its own, only its messages by UCX
have. Of its ways just `pairwise` (2) of Alltoallv survives; its times are those of the MPI below. Alltoall is compared with
the MPI over the host: what is sent is copied to pinned memory, exchanged there, and copied back, as a program would do by
hand.
"""
SMALL = """\
With 8 ranks and 4 KiB the MPI over the host took 80 us, with less than that 1,130. Copies from the host to the device wait for
turns there ([a trace](#what-the-device-waits-for)). Why they do not with 4 KiB is not known.
"""
PAPER = """\
The MPI's times with 8 ranks rise to 80 ms at 512 KiB and are 9 ms at 2 MiB. The means over the sizes (above) contain that.

Blocks of 512 KiB took 43 us with 4 ranks, longer than blocks of 2 MiB, and 89 us with 8. They were the kernel's, which took
longer for such blocks than in run A of the [bare copies](#bare-copies). It is launched as there since.
"""
LARGE = """\
The rate of a copy in the device is measured with buffers of 64 MiB. A copy of 1 GiB is faster, so parts above 1.00 occur:
1 GiB takes 722 to 737 us here, and one plain copy of it 721 to 728 us ([bare copies](#bare-copies)). Of 256 MiB some 5 to 13 us
of a call are not the copies: a graph of them takes 186 to 191 us.
"""
STAGED = """\
The MPI is given memory of the host. With `pipelined-copy-to-cpu` each rank's own block stays in the device and is not
counted. What the bus can do was measured before each step, so the verdicts go by the best of the three. The slowest batches in
chunks took 1.7 times as long as the median with 4 ranks, and 2.3 times with 8.
"""
CHUNKS = """\
How large chunks should be: microseconds of an alltoall, one run for each number of ranks. The MPI goes over the host as well.
Four chunks of a rank are under way, in one column eight.
"""
CHUNKS_SEEN = """\
With blocks of 2 MiB and more on 4 and 8 ranks, and of 64 MiB on 2, chunks of 512 KiB take 1.2 times as long as those of 2 MiB.
Larger ones gain 5 % at most, and take more memory. So 2 MiB is the default. Blocks of 128 KiB are faster over the MPI; their
times with 4 ranks were lost. With 2 ranks blocks of 512 KiB take 174 to 307 us, in no order of chunks: probably turns of the
driver.

How many chunks are under way matters little (8 ranks, another run):
"""
BUFFERS = """\
Over which memory of the host `copy-to-cpu:inner=waitany-stride,stride=5` goes, run 3: microseconds, and beside `kept`. The paper
says that memory should be kept.
"""
BUFFERS_SEEN = """\
It holds here: kept memory is 2.3 to 2.6 times as fast as fresh, by the geometric mean. From 512 KiB on it is ahead at every size,
3.1 to 6.1 times as fast. Up to 32 KiB fresh memory is as fast, and up to 128 KiB pageable memory takes 1.2 times as long at most,
but for 8 KiB, which the means of pageable memory contain.

Some 570 us with 4 ranks and 1,150 with 8 are what turns of the driver take (as with `ipc-pull` without leaders): kept and fresh
memory wait for them with 2 KiB, pageable memory with 2 and 8 KiB. So 8 KiB are faster than 2 KiB. Why these sizes wait and larger
ones do not is not known.

Blocks of 8 MiB are slower than with the MPI: 3.1 times its time with kept memory, 10 to 13 times with other memory.
"""
STRIDES = """\
`waitany-stride` on 4 ranks, run 3: microseconds, by how many messages are under way. Each rank has 3 partners, so strides of 5, 10
and 15 are one and the same schedule.
"""
STRIDES_SEEN = """\
One message at a time takes 2.7 to 3.0 times as long with the device's memory, probably as each waits for turns of its own. Over
the host it is 1.05 times by the mean, which says little: with 2 KiB it was faster, and strides that are the same differ by up
to 10 % (512 KiB).
"""
COPIES = """\
In one process ranks x ranks blocks, a copy each: microseconds until all are done, least to largest over the runs that have
the size; the program's command lines were not kept. `plain` is one copy of as many bytes, `each` one call of the driver a copy. These runs have letters: A to C are
older, D has the kernel as it was launched in run 3, 256 threads and up to 4,224 blocks of them. In B and C these begin in
another order; in A, too, and the kernel's list had pieces of 16 KiB. So it is launched now, up to 66 MiB in all, and with larger
pieces beyond. What is launched for calls that come again is a graph with 2 ranks, and with 4 and 8 where a graph takes as long as one plain copy or less than
the kernel; for smaller blocks it is the kernel.
"""
COPIES_SEEN = """\
With small blocks the kernel takes 12 to 15 us whatever their number, a graph about 0.85 us a copy and a batch about 4. With
the largest ones a graph takes as long as one plain copy, and the kernel 7 to 9 % longer (16 MiB, run D).

With blocks of 1 MiB the kernel of run 3 takes much longer than its bytes need: 51 us with 4 ranks and 107 with 8. A graph takes 20
and 67. In B and C the kernel took 28 and 60 to 66, and in A blocks of 512 KiB took 15 and 36. The probable cause: each block
of threads reads its piece of the list from the host's memory, and those that read the same piece at a time wait for each other. With larger blocks the order
of run 3 is a little faster with 2 ranks, and with 4 and 8 it is not. Blocks of 512 threads take 29 and 74 us at 1 MiB. Other
numbers of threads, and cache hints for loads and stores, were tried, too (in the data): none is the fastest at all sizes.
"""
APART = """\
If the two addresses of a block differ by something that 16 does not divide, the kernel has to move smaller words (4 ranks,
blocks of 16 MiB, runs B and C):
"""
LAYOUT = """\
Microseconds for ranks x ranks copies between buffers of as many processes, opened by one of them. The buffers were
allocated in the order of the rows, each after those of the row before had been freed. It was one run, whose command line was not
kept:
"""
LAYOUT_SEEN = """\
So it is the memory, not what copies: probably the driver puts such buffers together of leftovers. That is what the benchmark
asked for then, a little more than a power of two, and now it asks for powers of two. A program's own buffers may meet the same.
"""
TRACES = """\
Four ranks, by CUPTI, before the kernel. The first two stretches contain the calls of the MPI over the host as well, by
turns with Quadrille's, so their shares of the whole time say little; the rows of the copies inside the device (DtoD) do:

- With a leader the device waits for 4.3 us (median) between two copies of one batch, which take 1.1 us each: it idles for
  four fifths of that time. So one kernel makes them now where that is faster.
- Without a leader a copy that is launched waits for 135 us (median) if another rank's work was before it: the turns of the
  driver.
- In chunks over the host the device is busy for 92 % of the time, but copies in each direction take 73 and 72 % of it: part
  of the time one way of the bus is idle. What lies between its works is mostly 1.3 us, from one copy to the next. Chunks had
  512 KiB.
"""
TURNS = """\
By CUPTI: eight ranks with a leader, blocks of 64 B, and by turns with them the MPI over the host, with the kernel and before what
is new in run 3. The two largest kinds of gaps come before copies to the device, which wait for turns:
"""
LEADER = """\
What the leader of 8 ranks does between the copies of one call and those of the next, before and with what is new in run 3:
microseconds of a gap of the device (mean), and in brackets calls of the driver. CUPTI makes these longer, and the benchmark's
barriers between batches are in some of them.
"""
LEADER_SEEN = """\
It waits for a stream once or twice less, and asks the driver about a pointer once less. Most of a gap is no call: the other
ranks come, and are told. With a graph a gap is not shorter.
"""
LARGER = """\
In chunks over the host, 4 ranks: two stretches in which the same bytes crossed the bus. Each copy of 2 MiB is faster than four
of 512 KiB:
"""
SEEN = """\
What was looked at by hand, in runs of which no data were kept:

- Every call, with an oracle for its bytes, over the driver itself: `ipc-pull` with and without leaders on 2, 3 and 4 ranks;
  `copy-to-cpu`, `pipelined-copy-to-cpu`, `waitall-stride` and `spread-out` on 3 and 4; `waitany-stride` on 2, 3 and 4;
  `pairwise` on 2 and 3. All bytes were right.
- Calls in the order of streams, and on the host: `ipc-pull` with and without leaders on 2, 3 and 4 ranks, `copy-to-cpu` and
  `pipelined-copy-to-cpu` on 3 and 4, `pairwise` on 2 and 4. All bytes were right.
- Programs of Python with CuPy and Numba over mpi4py on 2 ranks. The first run found a fault: with CuPy, blocking calls
  whose messages go straight by UCX did not wait for the NULL stream, and some values were wrong. It is mended: runs after that
  had no wrong value, with CuPy and with Numba.
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


def large(report, beginning):
  rows = [[step['ranks'], size_text(row['bytes']), f'`{row["algorithm"]}`', f'`{row["served_by"]}`', with_p99(row, 'mpi'),
           with_p99(row, 'quadrille'), f'{row["bytes"] * step["ranks"] ** 2 / row["quadrille_us"] * 1e-3:,.0f}',
           f'{row["ceiling_part"]:.2f}']
          for name, step in steps_of(report, beginning) for row in verdicts.rows_of(report['steps'], name)]
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
  columns = [('plain', 'plain', 'ABCD'), ('batch', 'batch', 'ABC'), ('graph', 'graph', 'ABCD'), ('each', 'each', 'BC'),
             ('kernel of run 3, D', 'kernel 256x4224', 'D'), ('kernel, B and C', 'new 256x4224', 'BC'),
             ('kernel, A', 'new 256x4224 16K', 'A')]
  points = sorted({(one['ranks'], one['block']) for run in data['runs'] for one in run['copies'] if one['block'] >= 4096})
  rows = [[ranks, size_text(block)] + [span(copies_of(data, ranks, block, name, runs)) for _, name, runs in columns]
          for ranks, block in points]
  return verdicts.table(['ranks', 'block'] + [title for title, _, _ in columns], rows)


def apart(data):
  names = {'16': ('new 256x4224', 'graph', 'batch'), '8': ('kernel, apart by 8', '', ''), '1': ('kernel, apart by 1', '', ''),
           '4': ('kernel, apart by 4', 'graph, apart by 4', 'batch, apart by 4')}
  rows = [[f'by a multiple of {by}' if by == '16' else f'by {by}'] +
          [span(copies_of(data, 4, 16 << 20, name, 'BC')) for name in names[by]] for by in ('16', '8', '4', '1')]
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


def bus_in_chunks(data):
  rows = [[size_text(row['chunk']), us_text(row['stretch_us']), f'{row["busy_part"]:.1%}'] +
          [cell for way in ('to_host', 'to_device')
           for cell in (f'{row[way]["part"]:.1%}', us_text(row[way]['median_us']), f'{row[way]["GBps_of_one"]}')]
          for row in data['chunks']['rows']]
  head = ['chunk', 'stretch, us', 'device is busy']
  for way in ('to the host', 'to the device'):
    head += [f'copies {way}', 'one, us (median)', 'GB/s of one']
  return verdicts.table(head, rows)


def leader(data):
  """What takes less than 1 us in all of them is left out."""
  gaps = data['leader']['traces']
  found = [{name: (us, calls) for name, us, calls in one['rows']} for one in gaps]
  names = dict.fromkeys(name for one in found for name, (us, _) in one.items() if us >= 1)
  rows = [[name] + [leader_cell(*one[name]) if name in one else '-' for one in found] for name in names]
  rows.append(['a gap: median'] + [us_text(one['median_us']) for one in gaps])
  rows.append(['gaps'] + [one['gaps'] for one in gaps])
  return verdicts.table(['doing'] + [f'{one["block"]}, {one["when"]}, by {one["copies_by"]}' for one in gaps], rows)


def leader_cell(us, calls):
  return f'{us:.1f} ({calls:.1f})' if calls else f'{us:.1f}'


def times_of(report, name):
  """{algorithm: {bytes: row}}"""
  found = {}
  for row in verdicts.rows_of(report['steps'], name):
    found.setdefault(row['algorithm'], {})[row['bytes']] = row
  return found


def buffers(report):
  kinds, rows = ['kept', 'fresh', 'pageable'], []
  for name, step in steps_of(report, 'buffers-'):
    found = times_of(report, name)
    of = [found[f'copy-to-cpu:inner=waitany-stride,stride=5,buffers={kind}'] for kind in kinds]
    factors = [{size: other[size]['quadrille_us'] / of[0][size]['quadrille_us'] for size in other} for other in of[1:]]
    rows += [[step['ranks'], size_text(size), us_text(of[0][size]['mpi_us'])] + [with_p99(one[size], 'quadrille') for one in of] +
             [f'{one[size]:.2f}' for one in factors] for size in of[0]]
    means = [verdicts.geometric_mean(one.values()) for one in factors]
    rows.append([step['ranks'], 'geometric mean', '', '', '', ''] + [f'{mean:.2f}' for mean in means])
  return verdicts.table(['ranks', 'block', 'MPI', *kinds, 'fresh beside kept', 'pageable beside kept'], rows)


def strides(report, name='strides-4'):
  found, ranks, rows, usual = times_of(report, name), report['steps'][name]['ranks'], [], 5
  for title, of in (("the device's memory", 'waitany-stride:stride='),
                    ('over the host', 'copy-to-cpu:inner=waitany-stride,stride=')):
    lines = {stride: found[f'{of}{stride}'] for stride in (1, usual, 10, 15)}
    rows += [[title, size_text(size)] + [us_text(line[size]['quadrille_us']) for line in lines.values()] for size in lines[usual]]
    means = {stride: verdicts.geometric_mean([line[size]['quadrille_us'] / lines[usual][size]['quadrille_us'] for size in line])
             for stride, line in lines.items()}
    rows.append([title, 'mean beside 5'] + [f'{mean:.2f}' for mean in means.values()])
    rows.append([title, 'slower than 5?'] + [
        '' if stride == usual else 'identical here' if verdicts.are_one(f'{of}{stride}', f'{of}{usual}', ranks) else
        'yes' if mean > 1 else 'no' for stride, mean in means.items()])
  return verdicts.table(['by', 'block', 'stride 1', '5', '10', '15'], rows)


def chunk_of(algorithm):
  """(bytes of a chunk, chunks under way)"""
  return tuple(int(value) for value in re.findall(r'=(\d+)', algorithm))


def chunks(data):
  shapes = [(256 << 10, 4), (512 << 10, 4), (1 << 20, 4), (2 << 20, 4), (2 << 20, 8), (4 << 20, 4), (8 << 20, 4)]
  lines = []
  for run in sorted(data['runs'][:3], key=lambda run: run['ranks']):
    found = {(row['bytes'], chunk_of(row['algorithm'])): row for row in run['rows']}
    lines += [[run['ranks'], size_text(size), us_text(found[size, shapes[0]]['mpi_us'])] +
              [us_text(found[size, shape]['quadrille_us']) for shape in shapes] for size in sorted({size for size, _ in found})]
  head = ['ranks', 'block', 'MPI'] + [size_text(size) + (', 8 under way' if depth == 8 else '') for size, depth in shapes]
  return verdicts.table(head, lines)


def depths(data):
  found = {(row['bytes'], chunk_of(row['algorithm'])): row for row in data['runs'][3]['rows']}
  shapes = sorted({shape for _, shape in found})
  return verdicts.table(['block'] + [f'{depth} of {size_text(size)}' for size, depth in shapes],
                        [[size_text(size)] + [us_text(found[size, shape]['quadrille_us']) for shape in shapes]
                         for size in sorted({size for size, _ in found})])


def layout(data):
  first, second = (run['rows'] for run in data['runs'])
  seen = data['seen']
  said = [f'With {seen["ranks"]} ranks and blocks of {seen["block_MiB"]} MiB a call took {us_text(seen["call_us"])} us in run '
          f'{seen["run"]}. Where its buffers were explains most of it.', LAYOUT]
  rows = [[row['ranks'], f'{row["block_MiB"]} MiB', f'{row["block_MiB"] * row["ranks"]} MiB' +
           (f' + {size_text(row["more_bytes"])}' if row['more_bytes'] else ''), row['graph'], row['kernel']] for row in first]
  again = [[row['ranks'], f'{row["block_MiB"]} MiB', f'{row["size_MiB"]} MiB', size_text(row['at']) if row['at'] else '0',
            row['graph'], row['kernel']] for row in second]
  return [*said, *verdicts.table(['ranks', 'block', 'buffer of a rank', 'graph, us', 'kernel, us'], rows),
          'In another order, and with blocks that begin elsewhere in the buffer, all are fast:', '',
          *verdicts.table(['ranks', 'block', 'buffer of a rank', 'blocks begin at', 'graph, us', 'kernel, us'], again)]


def transform(data):
  rows = [[run['algorithm'], f'`{run["command"]}`', run['round_trip_ms'], run['alltoall_ms']] for run in data['runs']]
  head = ['staged by', 'command', 'there and back, ms', 'of it all-to-all (median of the ranks), ms']
  return [f'`fft2d`, {data["size"]} points, {data["ranks"]} ranks, one run each:', '', *verdicts.table(head, rows)]


def commands(reports, of_chunks):
  lines = [f'    {step["command"]}' for report in reports for name, step in report['steps'].items()
           if not name.startswith('way-')]
  return ['### Commands', '', *lines, *(f'    {run["command"]}' for run in of_chunks['runs']), '']


def intel(report):
  failed, header = report['steps']['paper-alltoallv-4'], report['steps']['small-alltoallv-4']['header']
  return ['### Intel MPI', '', f"{header['mpi']}, run 2, 4 ranks. The paper's sizes were not measured: the step was ended after "
          f'{failed["seconds"]:.0f} s.', '', *times(report, 'small-')]


def text():
  report, other, of_chunks, of_traces = (load(name) for name in ('openmpi', 'intel', 'chunks', 'traces'))
  page = verdicts.Page(report)
  page.machine()
  files = ', '.join(f'[{file.name}](gpu/{file.name})' for file in sorted(FOLDER.glob('h100-*.json')))
  header = report['steps']['check-alltoall-4']['header']
  lines = ['## One GPU, shared by its ranks', '', *page.lines,
           f'{header["cpu"]}, {header["mpi"]} with UCX. Files: {files}.', '', INTRODUCTION,
           *goals(report), *ways(report),
           '### Small blocks', '', 'Run 3.', '', *times(report, 'small-'), SMALL,
           "### The paper's sizes", '', 'Run 3.', '', *times(report, 'paper-'), PAPER, *intel(other),
           '### Large totals', '', '256 MiB in all, run 3. A byte that is moved counts once.', '', *large(report, 'large-alltoall-'),
           '1 GiB in all, run 3:', '', *large(report, 'large-1GiB-'), LARGE,
           '### Over the host', '', 'Run 3.', '', *staged(report), STAGED,
           CHUNKS, *chunks(of_chunks), CHUNKS_SEEN, *depths(of_chunks),
           '### Memory that is kept', '', BUFFERS, *buffers(report), BUFFERS_SEEN,
           '### Strides', '', STRIDES, *strides(report), STRIDES_SEEN,
           '### Bare copies', '', COPIES, *copies(load('copies')), COPIES_SEEN, APART, *apart(load('copies')),
           '### Where the driver puts buffers', '', *layout(load('layout')), LAYOUT_SEEN,
           '### What the device waits for', '', TURNS, *verdicts.table(of_traces['turns']['head'], of_traces['turns']['rows']),
           LEADER, *leader(of_traces), LEADER_SEEN, LARGER, *bus_in_chunks(of_traces), TRACES, *traces(of_traces),
           '### A program', '', *transform(load('fft2d')),
           '### Seen on the GPU', '', SEEN, *commands([report, other], of_chunks)]
  return '\n'.join(lines)
