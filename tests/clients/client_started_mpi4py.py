"""A Python program that knows nothing of Quadrille: mpi4py's calls that are started and completed apart.

  client_started_mpi4py.py              nonblocking ones
  client_started_mpi4py.py persistent   persistent ones, of MPI 4
"""
import array
import sys

from mpi4py import MPI

persistent = sys.argv[1:] == ['persistent']
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
wrong = 0


def ints(values):
  return array.array('i', values)


def expect(found, wanted, what):
  global wrong
  if list(found) != list(wanted):
    wrong += 1
    print(f'rank {rank}, {what}: {list(found)} is not {list(wanted)}', file=sys.stderr)


def begin(on, name, *arguments):
  """Starts the call; a persistent one is started twice, the first time over the same data."""
  if not persistent:
    return getattr(on, 'I' + name[0].lower() + name[1:])(*arguments)
  request = getattr(on, name + '_init')(*arguments)
  request.Start()
  request.Wait()
  request.Start()
  return request


def complete(started, way, others=()):
  requests = [*started, *others]
  if persistent:  # MPICH 5.0.2's own MPI_Testall and MPI_Testsome report errors in lists of them in which there is none
    way = (0, 2, 4)[way % 3]
  if way % 5 == 0:
    MPI.Request.Waitall(requests, [MPI.Status() for _ in requests])
  elif way % 5 == 1:
    while not MPI.Request.Testall(requests):
      pass
  elif way % 5 == 2:
    for _ in range(len(requests)):
      assert MPI.Request.Waitany(requests) != MPI.UNDEFINED
  elif way % 5 == 3:
    left = len(requests)
    while left > 0:
      left -= len(MPI.Request.Testsome(requests) or [])
  else:
    for request in requests:
      while not request.Get_status():
        pass
      request.wait()
  for request in started:
    if persistent:
      request.Free()


def collect(*calls):
  return [begin(*call) for call in calls]


if persistent and MPI.Get_library_version().startswith('Open MPI v4'):
  if rank == 0:
    print('skipped: mpi4py finds no persistent collectives in Open MPI 4')
  sys.exit(0)

for turn in range(15):
  value = lambda source, to: turn * 10000 + source * 100 + to
  send = ints(value(rank, p) for p in range(size))
  transposed = [value(p, rank) for p in range(size)]

  # Rank s sends (s + d) % 3 ints to rank d, which lie in the opposite order.
  counts = [(rank + p) % 3 for p in range(size)]
  places = [sum(counts[p + 1:]) for p in range(size)]
  data = [0] * sum(counts)
  wanted = [0] * sum(counts)
  for p in range(size):
    for i in range(counts[p]):
      data[places[p] + i] = value(rank, p) + i
      wanted[places[p] + i] = value(p, rank) + i
  data = ints(data)
  plain, by_v, by_w, gathered, by_gatherv = (ints([-1] * n) for n in (size, len(data), size, size, size))
  mine = ints([rank])
  at = [p * MPI.INT.Get_size() for p in range(size)]
  ones, types = [1] * size, [MPI.INT] * size
  started = collect(
      (comm, 'Alltoall', [send, MPI.INT], [plain, MPI.INT]),
      (comm, 'Alltoallv', [data, counts, places, MPI.INT], [by_v, counts, places, MPI.INT]),
      (comm, 'Alltoallw', [send, ones, at, types], [by_w, ones, at, types]),
      (comm, 'Allgather', [mine, MPI.INT], [gathered, MPI.INT]),
      (comm, 'Allgatherv', [mine, MPI.INT], [by_gatherv, ones, list(range(size)), MPI.INT]))
  # A message of the program's own in the same list.
  out, came = ints([value(rank, 77)]), ints([-1])
  messages = (comm.Irecv([came, MPI.INT], (rank - 1) % size, 3), comm.Isend([out, MPI.INT], (rank + 1) % size, 3))
  complete(started, turn, messages)
  expect(plain, transposed, 'alltoall')
  expect(by_v, wanted, 'alltoallv')
  expect(by_w, transposed, 'alltoallw')
  expect(gathered, range(size), 'allgather')
  expect(by_gatherv, range(size), 'allgatherv')
  expect(came, [value((rank - 1) % size, 77)], 'message')

  if not persistent:
    place = ints(send)
    complete([comm.Ialltoall(MPI.IN_PLACE, [place, MPI.INT])], turn + 1)
    expect(place, transposed, 'alltoall in place')

# Around a ring.
before, after = (rank - 1) % size, (rank + 1) % size
ring = comm.Create_dist_graph_adjacent([before], [after])
for turn in range(15):
  send = ints([turn * 100 + rank, turn * 100 + 50 + rank])
  wanted = [turn * 100 + before, turn * 100 + 50 + before]
  plain, gathered, by_gatherv = ints([-1] * 2), ints([-1] * 2), ints([-1] * 2)
  by_v, by_w = ints([-1]), ints([-1])
  at = MPI.INT.Get_size()
  complete(collect(
      (ring, 'Neighbor_alltoall', [send, MPI.INT], [plain, MPI.INT]),
      (ring, 'Neighbor_alltoallv', [send, [1], [1], MPI.INT], [by_v, [1], [0], MPI.INT]),
      (ring, 'Neighbor_alltoallw', [send, [1], [at], [MPI.INT]], [by_w, [1], [0], [MPI.INT]]),
      (ring, 'Neighbor_allgather', [send, MPI.INT], [gathered, MPI.INT]),
      (ring, 'Neighbor_allgatherv', [send, MPI.INT], [by_gatherv, [2], [0], MPI.INT])), turn)
  expect(plain, wanted, 'neighbor_alltoall')
  expect(by_v, wanted[1:], 'neighbor_alltoallv')
  expect(by_w, wanted[1:], 'neighbor_alltoallw')
  expect(gathered, wanted, 'neighbor_allgather')
  expect(by_gatherv, wanted, 'neighbor_allgatherv')
  ring.Barrier()
ring.Free()

wrong = comm.allreduce(wrong)
if rank == 0:
  print(f'{size} ranks, {wrong} wrong values')
sys.exit(0 if wrong == 0 else 1)
