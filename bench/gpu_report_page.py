"""The part of docs/results/gpu.md on one GPU that its ranks share: from docs/results/gpu/h100-*.json alone.

h100-openmpi.json and h100-intel.json are reports of bench/gpu/gpu_report.py, h100-traces.json has tables of
bench/gpu/trace/trace.py, and h100-chunks.json what `quadrille bench` printed. Numbers in words are fields, which gpu_numbers.py
computes.
"""

from gpu_stored import FOLDER, chunks_of, copies_of, load, size_text, span, steps_of, times_of, us_text, verdicts

INTRODUCTION = """\
All ranks share one GPU. The driver gives the device to one process after the other, so a call in which several ranks use it waits
for turns. `ipc-pull` without leaders, in which each rank copies once, shows them: with blocks of 64 B to 4 KiB {pull_2} us a call
with 2 ranks, {pull_4} with 4 and {pull_8} with 8. With a leader one rank alone uses the device, and nobody waits. The MPI's
messages wait for turns as well, probably in each of their rounds. That is probably most of the large ratios below. They say
nothing on ranks that have a device each.

Everything but the bare copies was measured once. A time is the median over the batches of one run, each as long as its slowest
rank took; in brackets is the 99th percentile. Run 1 was before one kernel moved all blocks inside a device: right bytes and the
MPI's ways are of it. Run 2 was with that kernel: Intel MPI's times are of it. Run 3 has all other steps of the report. It was
later than run 1, on a machine of the same kind. What is new in it, beside run 2:

- What launched the copies of a call launches them again when a call with the same buffers comes. From the eighth such call on
  that is a graph of the driver, where a cost model expects it to be faster than the kernel.
- A rank waits for the NULL stream once a call. Up to 1 GiB of pinned memory is kept, and chunks have 2 MiB.
- Blocks of the kernel's threads begin in another order.
- Batches have as many calls as are expected to take 5 ms, as those have by which the device's and the bus's rates are measured.
  In runs 1 and 2 they had {fewest_calls} to {most_calls} calls, and took {older_batches} us if they had several. Buffers have
  sizes that are powers of two ([why](#where-the-driver-puts-buffers)).

So times of run 3 are shorter than older ones partly because they were measured otherwise. How much the code did was not measured
apart. One thing was changed after run 3 because of what it showed, and was not measured again in calls: blocks of the kernel's
threads no longer begin in that other order, and its list has pieces of 16 KiB, as in run A of the [bare copies](#bare-copies).
"""
GOALS = """\
`check-` and `way-` are of run 1, all others of run 3. Right bytes were checked in run 1: `default`, `ipc-pull` with and without
leaders, `pipelined-copy-to-cpu` and `copy-to-cpu`, {collectives} collectives, {check_sizes} sizes, {check_ranks} ranks. Calls
that are timed were checked as well, in run 3 too, without a wrong byte. All that `default`, `ipc-pull:leader=1` and
`pipelined-copy-to-cpu` were to reach is reached. `copy-to-cpu` brings all to the host, exchanges it there, and brings it back,
one after the other: it does not reach its part of the bus. Bare copies are those of run 1. Their rate with 8 ranks ({probe_rate}
GB/s) was not seen again: [below](#bare-copies) a graph of such copies takes {probe_graph} us, which is {probe_graph_rate} GB/s.
"""
WAYS = """\
{crash} is a crash: the {mpi} of the Python registry has no support for CUDA of its own, only its messages by UCX have. Of the
ways that were tried just `pairwise` (2) of Alltoallv survives; its times are those of the MPI in Alltoallv below, but for those
over the host. Alltoall is compared with the MPI over the host: what is sent is copied to pinned memory, exchanged there, and
copied back, as a program would do by hand.
"""
SMALL = """\
With 8 ranks and 4 KiB the MPI over the host took {mpi_4k} us, with less than that {mpi_less}. Copies from the host to the device
wait for turns there ([a trace](#what-the-device-waits-for)). Why they do not with 4 KiB is not known.
"""
PAPER = """\
The MPI's times with 8 ranks rise to {mpi_512k} ms at 512 KiB and are {mpi_2m} ms at 2 MiB. The means over the sizes (above)
contain that.

Blocks of 512 KiB took {ours_512k_4} us with 4 ranks, longer than blocks of 2 MiB, and {ours_512k_8} us with 8. By the cost model
they were the kernel's. In run A of the [bare copies](#bare-copies) it takes {bare_512k_4} and {bare_512k_8} us for such blocks.
It is launched as there since.
"""
LARGE = """\
The rate of a copy in the device is measured with buffers of 64 MiB. A copy of 1 GiB is faster, so parts above 1.00 occur: 1 GiB
takes {call_1g} us here, and one plain copy of it {plain_1g} us ([bare copies](#bare-copies)). 256 MiB take {call_256m} us, and a
graph of these copies {graph_256m} us. So {beside_256m} us of a call are not the copies, by the median of the graphs.
"""
STAGED = """\
The MPI is given memory of the host. With `pipelined-copy-to-cpu` each rank's own block stays in the device and is not counted.
What the bus can do was measured before each step, so the verdicts go by the best of the three. In chunks the 99th percentile of
the batches is {late_4} times the median with 4 ranks, and {late_8} times with 8.
"""
CHUNKS = """\
How large chunks should be: microseconds of an alltoall, one run for each number of ranks. The MPI goes over the host as well.
Four chunks of a rank are under way, in one column eight.
"""
CHUNKS_SEEN = """\
With blocks of 2 MiB and more on 4 and 8 ranks, and of 64 MiB on 2, chunks of 512 KiB take {chunks_512k} times as long as those of
2 MiB. Larger ones gain {chunks_gain} at most, and take more memory. So 2 MiB is the default. Blocks of 128 KiB are faster over
the MPI; their times with 4 ranks were lost. With 2 ranks blocks of 512 KiB take {no_order} us, in no order of chunks: probably
turns of the driver.

How many chunks are under way matters little: from {least_depth} to {most_depth} chunks of 2 MiB times differ by {depths_apart} at
most (8 ranks, another run):
"""
BUFFERS = """\
Over which memory of the host `copy-to-cpu:inner=waitany-stride,stride=5` goes, run 3: microseconds, and beside `kept`. The paper
says that memory should be kept.
"""
BUFFERS_SEEN = """\
It holds here: kept memory is {kept_mean} times as fast as fresh, by the geometric mean. From 512 KiB on it is ahead at every
size, {kept_large} times as fast as fresh or pageable memory. Up to 32 KiB fresh memory takes {fresh_small} times as long as kept
memory. Up to 128 KiB pageable memory takes {pageable_small} times as long, but with 8 KiB {pageable_8k} times, which its means
contain.

Calls that wait for turns of the driver take {waits_4} us with 4 ranks and {waits_8} with 8, about as long as with `ipc-pull`
without leaders: probably all three kinds of memory wait with 2 KiB, and pageable memory with 8 KiB, too. So with kept and fresh
memory 8 KiB are faster than 2 KiB. Why these sizes wait and larger ones do not is not known.

Blocks of 8 MiB are slower than with the MPI: {mpi_8m_kept} times its time with kept memory, {mpi_8m_other} times with other
memory.
"""
STRIDES = """\
`waitany-stride` on 4 ranks, run 3: microseconds, by how many messages are under way. Each rank has {partners} partners, so
strides of 5, 10 and 15 are one and the same schedule.
"""
STRIDES_SEEN = """\
One message at a time takes {one_at_a_time} times as long with the device's memory, probably as each waits for turns of its own.
Over the host it is {host_mean} times by the mean, which says little: with 2 KiB it was faster, and strides that are the same
differ by up to {same_apart} ({same_apart_at}).
"""
COPIES = """\
In one process ranks x ranks blocks, a copy each: microseconds until all are done, least to largest over the runs that have the
size; the program's command lines were not kept. `plain` is one copy of as many bytes, `each` one call of the driver a copy. These
runs have letters: A to C are older, D has the kernel as it was launched in run 3, 256 threads and up to 4,224 blocks of them. In
B and C these begin in another order; in A, too, and the kernel's list had pieces of 16 KiB. So it is launched now, up to 66 MiB
in all, and with larger pieces beyond. For calls that come again a graph is launched where the cost model expects it to be faster
than the kernel.
"""
COPIES_SEEN = """\
Up to 32 KiB the kernel takes {kernel_small} us whatever the number of blocks (runs A to C). With 8 ranks and blocks of 4 KiB a
graph takes {graph_a_copy} us a copy, all included, and a batch {batch_a_copy}. From 256 MiB in all on a graph takes {graph_large}
times as long as one plain copy, and the kernel of run D takes {kernel_large} %
longer than that copy.

With blocks of 1 MiB the kernel of run 3 takes much longer than its bytes need: {d_1m_4} us with 4 ranks and {d_1m_8} with 8. A
graph takes {graph_1m_4} and {graph_1m_8} us in the same run. In B and C the kernel took {bc_1m_4} and {bc_1m_8} us, and in A
blocks of 512 KiB took {bare_512k_4} and {bare_512k_8}. The probable cause: each block of threads reads its piece of the list from
the host's memory, and those that read the same piece at a time wait for each other. From 64 MiB on the order of run 3 is a little
faster with 2 ranks; from 4 MiB on it is slower with 4 and 8, or the same. As many blocks of twice as many threads (`512x4224`)
take {d512_1m_4} and {d512_1m_8} us at 1 MiB. Other numbers of threads, and cache hints for loads and stores, were tried, too (in
the data): none is the fastest at all sizes.
"""
APART = """\
If the two addresses of a block differ by something that 16 does not divide, the kernel has to move smaller words (4 ranks, blocks
of 16 MiB, runs B and C):
"""
LAYOUT = """\
With 8 ranks and blocks of 8 MiB a call took {seen_us} us in run 2, and {seen_now} in run 3. Where its buffers were probably
explains more than half of the difference: buffers that are 8 KiB larger make such copies longer by {seen_part} % of it (first
table).

Microseconds for ranks x ranks copies between buffers of as many processes, opened by one of them. The buffers were allocated in
the order of the rows, each after those of the row before had been freed. Each of the two tables is one run, whose command line
was not kept:
"""
LAYOUT_AGAIN = 'In another order, and with blocks that begin elsewhere in the buffer, all are fast:\n'
LAYOUT_SEEN = """\
With 8 ranks and blocks of 8 and 16 MiB both ways take {more_slow} times as long if buffers are 8 KiB larger, and with the other
blocks {more_else} times. So it is the memory, not what copies: probably the driver puts such buffers together of leftovers. The
benchmark asked for such buffers then, a little more than a power of two, and now it asks for powers of two. A program's own
buffers may meet the same.
"""
TRACES = """\
Four ranks, by CUPTI, before the kernel. The first two stretches contain the calls of the MPI over the host as well, by turns with
Quadrille's, so their shares of the whole time say little; the rows of the copies inside the device (DtoD) do:

- With a leader the device waits for {batch_gap} us (median) between two copies of one batch, which take {batch_copy} us each: it
  idles for {batch_idle} of that time. So one kernel makes them now where that is faster.
- Without a leader a copy that is launched waits for {turn} us (median) if another rank's work was before it: the turns of the
  driver.
- In chunks over the host the device is busy for {piped_busy} of the time, but copies in each direction take {piped_to_host} and
  {piped_to_device} of it: part of the time one way of the bus is idle. Of the {piped_gaps} gaps between its works
  {piped_short} come before a copy to the host that was launched and had not begun: {piped_gap} us (median). Chunks had 512 KiB in run 1.
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
It waits for a stream once or twice less, and asks the driver about a pointer once less. In {no_call} % of a gap there is no call:
probably the other ranks come, and are told. With a graph a gap is not shorter.
"""
LARGER = """\
In chunks over the host, 4 ranks: two stretches in which the same bytes crossed the bus. Each copy of 2 MiB is faster than four of
512 KiB:
"""
SEEN = """\
What was looked at by hand, in runs of which no data were kept:

- Every call, with an oracle for its bytes, over the driver itself: `ipc-pull` with and without leaders on 2, 3 and 4 ranks;
  `copy-to-cpu`, `pipelined-copy-to-cpu`, `waitall-stride` and `spread-out` on 3 and 4; `waitany-stride` on 2, 3 and 4; `pairwise`
  on 2 and 3. All bytes were right.
- Calls in the order of streams, and on the host: `ipc-pull` with and without leaders on 2, 3 and 4 ranks, `copy-to-cpu` and
  `pipelined-copy-to-cpu` on 3 and 4, `pairwise` on 2 and 4. All bytes were right.
- Programs of Python with CuPy and Numba over mpi4py on 2 ranks. The first run found a fault: with CuPy, blocking calls whose
  messages go straight by UCX did not wait for the NULL stream, and some values were wrong. It is mended: runs after that had no
  wrong value, with CuPy and with Numba.
"""
WORDS = [words for name, words in list(globals().items()) if name.isupper() and isinstance(words, str)]


def with_p99(row, whose):
  return f'{us_text(row[whose + "_us"])} ({us_text(row[whose + "_p99_us"])})'


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


def chunks(data):
  shapes = [(256 << 10, 4), (512 << 10, 4), (1 << 20, 4), (2 << 20, 4), (2 << 20, 8), (4 << 20, 4), (8 << 20, 4)]
  lines = []
  for run in sorted(data['runs'][:3], key=lambda run: run['ranks']):
    found = chunks_of(run)
    lines += [[run['ranks'], size_text(size), us_text(found[size, shapes[0]]['mpi_us'])] +
              [us_text(found[size, shape]['quadrille_us']) for shape in shapes] for size in sorted({size for size, _ in found})]
  head = ['ranks', 'block', 'MPI'] + [size_text(size) + (', 8 under way' if depth == 8 else '') for size, depth in shapes]
  return verdicts.table(head, lines)


def depths(data):
  found = chunks_of(data['runs'][3])
  shapes = sorted({shape for _, shape in found})
  return verdicts.table(['block'] + [f'{depth} of {size_text(size)}' for size, depth in shapes],
                        [[size_text(size)] + [us_text(found[size, shape]['quadrille_us']) for shape in shapes]
                         for size in sorted({size for size, _ in found})])


def layout(data):
  first, second = (run['rows'] for run in data['runs'])
  rows = [[row['ranks'], f'{row["block_MiB"]} MiB', f'{row["block_MiB"] * row["ranks"]} MiB' +
           (f' + {size_text(row["more_bytes"])}' if row['more_bytes'] else ''), row['graph'], row['kernel']] for row in first]
  again = [[row['ranks'], f'{row["block_MiB"]} MiB', f'{row["size_MiB"]} MiB', size_text(row['at']) if row['at'] else '0',
            row['graph'], row['kernel']] for row in second]
  return [LAYOUT, *verdicts.table(['ranks', 'block', 'buffer of a rank', 'graph, us', 'kernel, us'], rows),
          LAYOUT_AGAIN,
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
  said = (f"{header['mpi']}, run {failed['run']}, {failed['ranks']} ranks. The paper's sizes were not measured: the step was ended "
          f'after {failed["seconds"]:.0f} s.')
  return ['### Intel MPI', '', said, '', *times(report, 'small-')]


def text(said):
  """`said`: what gpu_numbers.py computes for the words."""
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
  return '\n'.join(said.fill(line) if line in WORDS else line for line in lines)
