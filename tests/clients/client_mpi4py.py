"""A Python program that knows nothing of Quadrille: mpi4py's buffer calls, in place too."""
import array
import sys

from mpi4py import MPI

try:
  import numpy
except ImportError:
  numpy = None

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
wrong = 0


def ints(values):
  values = list(values)
  return numpy.array(values, dtype='i') if numpy else array.array('i', values)


def expect(found, wanted):
  global wrong
  wrong += list(found) != list(wanted)


for turn in range(12):
  value = lambda source, to: turn * 10000 + source * 100 + to
  send = ints(value(rank, p) for p in range(size))
  transposed = [value(p, rank) for p in range(size)]

  receive = ints([-1] * size)
  comm.Alltoall([send, MPI.INT], [receive, MPI.INT])
  expect(receive, transposed)

  place = ints(send)
  comm.Alltoall(MPI.IN_PLACE, [place, MPI.INT])
  expect(place, transposed)

  # Rank s sends (s + d) % 3 ints to rank d, which lie in the opposite order.
  counts = [(rank + p) % 3 for p in range(size)]
  places = [sum(counts[p + 1:]) for p in range(size)]
  data = [0] * sum(counts)
  wanted = [0] * sum(counts)
  for p in range(size):
    for i in range(counts[p]):
      data[places[p] + i] = value(rank, p) + i
      wanted[places[p] + i] = value(p, rank) + i
  receive = ints([-1] * len(data))
  comm.Alltoallv([ints(data), counts, places, MPI.INT], [receive, counts, places, MPI.INT])
  expect(receive, wanted)
  place = ints(data)
  comm.Alltoallv(MPI.IN_PLACE, [place, counts, places, MPI.INT])
  expect(place, wanted)

  bytes_at = [p * MPI.INT.Get_size() for p in range(size)]
  receive = ints([-1] * size)
  comm.Alltoallw([send, [1] * size, bytes_at, [MPI.INT] * size],
                 [receive, [1] * size, bytes_at, [MPI.INT] * size])
  expect(receive, transposed)

  receive = ints([-1] * size)
  comm.Allgather([ints([rank]), MPI.INT], [receive, MPI.INT])
  expect(receive, range(size))
  place = ints(rank if p == rank else -1 for p in range(size))
  comm.Allgather(MPI.IN_PLACE, [place, MPI.INT])
  expect(place, range(size))
  receive = ints([-1] * size)
  comm.Allgatherv([ints([rank]), MPI.INT], [receive, [1] * size, list(range(size)), MPI.INT])
  expect(receive, range(size))

# Around a ring.
before, after = (rank - 1) % size, (rank + 1) % size
ring = comm.Create_dist_graph_adjacent([before], [after])
for turn in range(4):
  send = ints([turn * 100 + rank, turn * 100 + 50 + rank])
  wanted = [turn * 100 + before, turn * 100 + 50 + before]
  second = [wanted[1]]

  receive = ints([-1] * 2)
  ring.Neighbor_alltoall([send, MPI.INT], [receive, MPI.INT])
  expect(receive, wanted)
  receive = ints([-1] * 2)
  ring.Neighbor_allgather([send, MPI.INT], [receive, MPI.INT])
  expect(receive, wanted)
  receive = ints([-1])
  ring.Neighbor_alltoallv([send, [1], [1], MPI.INT], [receive, [1], [0], MPI.INT])
  expect(receive, second)
  receive = ints([-1])
  at = MPI.INT.Get_size()
  ring.Neighbor_alltoallw([send, [1], [at], [MPI.INT]], [receive, [1], [0], [MPI.INT]])
  expect(receive, second)
  receive = ints([-1] * 2)
  ring.Neighbor_allgatherv([send, MPI.INT], [receive, [2], [0], MPI.INT])
  expect(receive, wanted)
ring.Free()

wrong = comm.allreduce(wrong)
if rank == 0:
  print(f'{size} ranks, {wrong} wrong values')
sys.exit(0 if wrong == 0 else 1)
