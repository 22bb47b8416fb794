"""The measurements on a machine with GPUs, in steps. A step is one run of `quadrille bench`, or a few, takes some minutes at
most, and has results of its own."""

import dataclasses

MIB = 1 << 20
RANKS = (2, 4, 8)
SMALL = '64:4K:x4'
PAPER = '2K:8M:x4'  # figure 2 of Namugwanya et al.
# Open MPI's algorithms of alltoallv, whose default crashes with device memory on 4 to 63 ranks, and of alltoall.
WAYS_OF_OPENMPI = {'alltoallv': {1: 'linear', 2: 'pairwise'}, 'alltoall': {1: 'linear', 2: 'pairwise', 4: 'linear sync'}}
PULL = 'ipc-pull,ipc-pull:leader=1'
OVER_HOST = 'copy-to-cpu:inner=single-copy,buffers=kept,copy-to-cpu:inner=waitany-stride,buffers=kept'
PIPED, PIPED_BY_LEADERS = 'pipelined-copy-to-cpu', 'pipelined-copy-to-cpu:leader=1'
# The MPI's own collectives may crash with device memory; only the steps about them use them.
MESSAGES = {'QUADRILLE_MPI_DEVICE': 'messages'}
# Inside a node its defaults are 2 MiB and 4.
CHUNKS = [f'{PIPED}:chunk={size},depth={depth}' for size, depth in
          ((128 << 10, 4), (512 << 10, 2), (512 << 10, 4), (512 << 10, 8), (2 << 20, 4), (8 << 20, 4))]


@dataclasses.dataclass
class Step:
  name: str
  about: str
  ranks: int
  bench: list  # arguments of `quadrille bench`, or of `quadrille-lab bench` for a figure
  # The collective whose fastest algorithm of Open MPI is forced; empty: Open MPI's own choice.
  against: str = ''
  settings: dict = dataclasses.field(default_factory=dict)


def openmpi_way(collective, way):
  """Settings that force one of Open MPI's algorithms."""
  return {'OMPI_MCA_coll_tuned_use_dynamic_rules': '1', f'OMPI_MCA_coll_tuned_{collective}_algorithm': str(way)}


def block_of(total, ranks):
  """The bytes of a block if all ranks together exchange `total`, as arguments."""
  return str(total // (ranks * ranks))


LARGE, LARGEST = 256 * MIB, 1024 * MIB


def right_bytes(ranks, quick):
  """All algorithms for device memory, at sizes on both sides of their thresholds."""
  sizes = '64,4K' if quick else '8,64,1000,4K,32K,100000,1M'
  for collective in ('alltoall', 'alltoallv', 'allgather', 'alltoallw', 'allgatherv'):
    yield Step(f'check-{collective}-{ranks}', 'every algorithm for such memory moves the right bytes', ranks,
               [collective, '--sizes', sizes, '--algorithms', f'default,{PULL},{PIPED},{PIPED_BY_LEADERS},copy-to-cpu', '--iterations', '2',
                '--warmup', '0', '--no-ceiling'], settings=MESSAGES)


def large_step(name, ranks, total):
  return Step(name, 'large totals: at least 0.85 of the rate of a copy in the device', ranks,
              ['alltoall', '--sizes', block_of(total, ranks), '--algorithms', 'default,ipc-pull:leader=1'], against='alltoall')


def steps(quick=False, ranks=RANKS):
  """The steps, the most valuable first, in case the time runs out."""
  for step in all_steps(quick, ranks):
    if quick and '--iterations' not in step.bench:
      step.bench += ['--iterations', '2', '--warmup', '0']
    yield step


def all_steps(quick, ranks):
  small, paper = ('64,1K', '2K,32K') if quick else (SMALL, PAPER)
  for n in ranks:
    yield from right_bytes(n, quick)
  for n in ranks:
    for collective, ways in WAYS_OF_OPENMPI.items():
      for way, name in ways.items():
        yield Step(f'way-{collective}-{way}-{n}', f"whether the MPI's {name} {collective} supports device memory, and how fast", n,
                   [collective, '--sizes', '4K' if quick else '64,4K,1M', '--algorithms', 'default'],
                   settings=openmpi_way(collective, way))
  for n in ranks:
    for collective in ('alltoall', 'alltoallv'):
      yield Step(f'small-{collective}-{n}', 'small blocks: at most 0.5 of the time of the MPI', n,
                 [collective, '--sizes', small, '--algorithms', 'default,' + PULL], against=collective)
  large, largest = (MIB, MIB) if quick else (LARGE, LARGEST)
  for n in ranks:
    yield large_step(f'large-alltoall-{n}', n, large)
  for n in ranks:
    yield Step(f'paper-alltoallv-{n}', "the paper's sizes: at least 1.5 times as fast as the MPI, by the geometric mean", n,
               ['alltoallv', '--sizes', paper, '--algorithms', 'default,' + PULL], against='alltoallv')
  for n in ranks:
    yield Step(f'staged-alltoallv-{n}', 'through host memory: at least 0.85 of the bus, both ways at once', n,
               ['alltoallv', '--sizes', block_of(large, n), '--algorithms', f'{OVER_HOST},{PIPED},{PIPED_BY_LEADERS}', '--stage-mpi'])
  for n in ranks:
    yield Step(f'led-alltoallv-{n}', 'through host memory in chunks: each rank copies its own, or one rank copies all', n,
               ['alltoallv', '--sizes', f'{small},{paper}', '--algorithms', f'{PIPED},{PIPED_BY_LEADERS}', '--stage-mpi'],
               settings=MESSAGES)
  for n in ranks:
    yield Step(f'chunks-{n}', 'through host memory in chunks: sizes of chunks, chunks in flight, and the smallest block', n,
               ['alltoallv', '--sizes', paper + ',' + block_of(large, n), '--algorithms', ','.join([*CHUNKS, 'copy-to-cpu'])],
               settings=MESSAGES)
  for n in ranks:
    yield Step(f'buffers-{n}', "the paper's claim: reused host memory, against fresh and pageable memory", n,
               ['alltoallv', '--sizes', paper, '--algorithms',
                ','.join(f'copy-to-cpu:inner=waitany-stride,stride=5,buffers={b}' for b in ('kept', 'fresh', 'pageable'))],
               against='alltoallv')
    yield Step(f'strides-{n}', "the paper's claim: stride 5, against 1, 10 and 15", n,
               ['alltoallv', '--sizes', paper, '--algorithms',
                ','.join(f'waitany-stride:stride={s},copy-to-cpu:inner=waitany-stride,stride={s}' for s in (1, 5, 10, 15))],
               against='alltoallv')
  for n in ranks:
    yield large_step(f'large-1GiB-alltoall-{n}', n, largest)
  for figure in range(1, 11):
    if figure == 6:  # needs no GPU
      continue
    yield Step(f'figure-{figure}', f'figure {figure} of Namugwanya et al.', max(ranks),
               ['--figure', f'gpu-{figure}'] + (['--shrink', '1024'] if quick else []))
