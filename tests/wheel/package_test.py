"""The Python package on real ranks: data against mpi4py's own results, and mistakes.

  mpirun -n 3 python package_test.py           all calls by name
  mpirun -n 2 python package_test.py large     counts of more than an int, in 2 GiB of memory
  mpirun -n 2 python package_test.py enable    quadrille.enable(): MPI's own functions are served
  python package_test.py bench                 quadrille.bench()
  python package_test.py notebook              its DataFrame, and quadrille.plot(); needs pandas and matplotlib
"""

import array
import itertools
import mmap
import sys
import traceback

import quadrille
from package_buffers import allocated, arrays_of_numpy, expect, has_numpy, numbers, shown_by_dlpack


def sides(MPI, comm, name, round_, destinations, sources):
  """Send and receive messages of a collective, by its name, for any numbers of blocks."""
  rank, size = comm.Get_rank(), comm.Get_size()
  collective = name.replace("neighbor_", "")
  many = 3 + round_
  data = lambda count: numbers(rank * 100000 + round_ * 1000 + i for i in range(count))
  empty = lambda count: numbers([-1] * count)
  # Blocks of different sizes that both ends know: by the two ranks among all, by the direction among neighbours.
  out, into = ([[(a + b + round_) % 3 * 2 + 1 for b in range(size)] for a in range(size)],) * 2
  if name.startswith("neighbor_"):
    sends, receives = [2] * destinations, [2] * sources
  else:
    sends, receives = out[rank], [into[other][rank] for other in range(size)]
  starts = lambda counts: list(itertools.accumulate([0, *counts]))[:-1]
  if collective == "alltoall":
    return data(many * destinations), empty(many * sources)
  if collective == "allgather":
    return data(many), [empty(many * sources), many, MPI.INT64_T]
  if collective == "alltoallv":
    return [data(sum(sends)), sends], [empty(sum(receives)), (receives, starts(receives)), MPI.INT64_T]
  if collective == "alltoallw":
    place = lambda counts: [8 * start for start in starts(counts)]
    return ([data(sum(sends)), sends, place(sends), [MPI.INT64_T] * len(sends)],
            [empty(sum(receives)), (receives, place(receives)), ["q"] * len(receives)])
  assert collective == "allgatherv"
  counts = [4] * sources if name.startswith("neighbor_") else [2 + other for other in range(size)]
  own = 4 if name.startswith("neighbor_") else 2 + rank
  return data(own), [empty(sum(counts)), counts]


def received(message):
  return (message[0] if isinstance(message, list) else message).tolist()


def for_mpi4py(MPI, message):
  """mpi4py takes the same, but for types by their code in lists."""
  if isinstance(message, list) and isinstance(message[-1], list) and message[-1] and isinstance(message[-1][0], str):
    return [*message[:-1], [MPI.INT64_T] * len(message[-1])]
  return message


def neighbors(comm, MPI):
  if isinstance(comm, MPI.Cartcomm):
    return 2 * comm.Get_dim(), 2 * comm.Get_dim()
  if isinstance(comm, MPI.Distgraphcomm):
    sources, destinations, _ = comm.Get_dist_neighbors_count()
    return destinations, sources
  return comm.Get_size(), comm.Get_size()


def check(MPI, comm, name):
  """A collective in its three forms, several rounds, against the method of mpi4py with the same name."""
  destinations, sources = neighbors(comm, MPI) if name.startswith("neighbor_") else (comm.Get_size(),) * 2
  method = getattr(comm, name[0].upper() + name[1:])
  for round_ in range(4):
    send, wanted = sides(MPI, comm, name, round_, destinations, sources)
    before = received(send)
    method(for_mpi4py(MPI, send), for_mpi4py(MPI, wanted))
    _, recv = sides(MPI, comm, name, round_, destinations, sources)
    assert -1 in received(recv) and -1 not in received(wanted)
    getattr(quadrille, name)(send, recv, comm)
    assert received(recv) == received(wanted), f"{name}: {received(recv)} is not {received(wanted)}"
    _, recv = sides(MPI, comm, name, round_, destinations, sources)
    request = getattr(quadrille, "i" + name)(send, recv, comm)
    while not request.test():
      pass
    assert received(recv) == received(wanted), f"i{name}"
    assert received(send) == before
  send, recv = sides(MPI, comm, name, 1, destinations, sources)
  data, wanted = (send[0] if isinstance(send, list) else send), sides(MPI, comm, name, 1, destinations, sources)[1]
  with getattr(quadrille, name + "_init")(send, recv, comm) as request:
    for start in range(3):
      for i in range(len(data)):
        data[i] += 7 * start
      target = recv[0] if isinstance(recv, list) else recv
      for i in range(len(target)):
        target[i] = -1
      request.start()
      request.wait()
      method(for_mpi4py(MPI, send), for_mpi4py(MPI, wanted))
      assert received(recv) == received(wanted), f"{name}_init, start {start}"
  expect(quadrille.Error, "already", request.start)


def sparse(MPI, comm):
  """Each rank sends r + 1 numbers to the next and 2 to itself; the last sends nothing."""
  size, rank = comm.Get_size(), comm.Get_rank()
  is_silent = rank == size - 1
  to_next = lambda r: [100 * r + i for i in range(r + 1)]
  wanted = []
  for source in range(size - 1):
    wanted += [(source, to_next(source))] if (source + 1) % size == rank else []
    wanted += [(source, [source, -source])] if source == rank else []
  if is_silent:
    got = quadrille.exchange({}, comm=comm, recvtype=MPI.INT64_T)
  else:
    got = quadrille.exchange({(rank + 1) % size: numbers(to_next(rank)), rank: numbers([rank, -rank])}, comm=comm)
  assert [(source, block.tolist()) for source, block in got] == sorted(wanted), f"{got} is not {wanted}"
  assert len(got) == len(wanted) and got.sources == [source for source, _ in sorted(wanted)]
  # A message as of alltoallv: one rank twice, an empty block, places of one's own, another type at the receiver.
  data = numbers([7, 8, 9])
  got = quadrille.exchange([data, [1, 0, 2], [2, 0, 0], MPI.INT64_T], [0, 0, 0], comm, "i4")
  assert got.sources == ([other for other in range(size) for _ in range(3)] if rank == 0 else [])
  if rank == 0:
    assert got.counts == [2, 0, 4] * size, got.counts
    assert [got.block(i).cast("B").cast("q").tolist() for i in range(3)] == [[9], [], [7, 8]], got
    assert got[-1][1].tolist() == got[2][1].tolist()
  with_gaps(MPI, comm)
  expect(TypeError, "not a communicator", quadrille.exchange, {0: data}, None, 5)
  expect(ValueError, "names its destinations itself", quadrille.exchange, {0: data}, [1], comm)
  expect(ValueError, "recvtype must be given", quadrille.exchange, {}, None, comm)
  expect(TypeError, "different types", quadrille.exchange, {0: data, 1: array.array("b", [1])}, None, comm)
  expect(ValueError, "counts are given for", quadrille.exchange, [data, [1]], [0, 0], comm)
  assert expect(quadrille.Error, "Quadrille_Exchange", quadrille.exchange, {size: data}, None, comm).code is not None


def with_gaps(MPI, comm):
  """Each rank sends an element to itself and two to the next. The receiver takes them as columns of three, or with a lower
  bound that is not 0."""
  size, rank = comm.Get_size(), comm.Get_rank()
  column = MPI.INT64_T.Create_vector(2, 1, 3).Create_resized(0, 8)
  at = lambda displacement: MPI.INT64_T.Create_hindexed([1], [displacement])
  elements = lambda to: 1 if to == rank else 2
  # The type, where its numbers are, and where its bytes end.
  for kind, places, end in (column, (0, 24), 32), (at(-16), (-16,), -8), (at(136), (136,), 144):
    kind.Commit()
    send = {to: numbers(1000 * rank + 10 * to + i for i in range(len(places) * elements(to)))
            for to in {rank, (rank + 1) % size}}
    got = quadrille.exchange(send, comm=comm, recvtype=kind)
    assert got.sources == sorted({rank, (rank - 1) % size}), got
    for source, block in got:
      starts = [8 * element + place - places[0] for element in range(elements(source)) for place in places]
      assert len(block) == end - places[0] + 8 * (elements(source) - 1), (places, len(block))
      found = [int.from_bytes(block[start:start + 8], sys.byteorder) for start in starts]
      assert found == [1000 * source + 10 * rank + i for i in range(len(starts))], (places, source, found)


def between_groups(MPI, comm):
  """Blocks of different sizes between the even ranks and the odd ones."""
  size, rank = comm.Get_size(), comm.Get_rank()
  half = comm.Split(rank % 2, rank)
  inter = half.Create_intercomm(0, comm, 1 - rank % 2)
  others = inter.Get_remote_size()
  blocks = lambda sender, receiver: [1000 * sender + 10 * receiver + i for i in range(receiver + 1)]
  sent = [blocks(rank, 2 * other + 1 - rank % 2) for other in range(others)]
  sizes = [len(block) for block in sent]
  recv = numbers([-1] * (others * (rank + 1)))
  quadrille.alltoallv([numbers(sum(sent, [])), sizes, [sum(sizes[:i]) for i in range(others)], MPI.INT64_T],
                      [recv, [rank + 1] * others, [(rank + 1) * i for i in range(others)], MPI.INT64_T], inter)
  wanted = sum((blocks(2 * other + 1 - rank % 2, rank) for other in range(others)), [])
  assert recv.tolist() == wanted, f"{recv.tolist()} is not {wanted}"
  inter.Free()


def gathered_wide(MPI, ring):
  size, rank = ring.Get_size(), ring.Get_rank()
  left, right = (rank - 1) % size, (rank + 1) % size
  gaps = MPI.INT64_T.Create_vector(3, 1, 2).Commit()  # three numbers with gaps
  send, whole = numbers(rank * 10 + i for i in range(3)), [left * 10 + i for i in range(3)]
  for form in ("", "i", "init"):
    recv = numbers([-1] * 9)
    message = [recv, (numbers([3, 1]), numbers([0, 24])), [MPI.INT64_T, gaps]]
    if form == "":
      quadrille.neighbor_allgatherw(send, message, ring)
    elif form == "i":
      quadrille.ineighbor_allgatherw(send, message, ring).wait()
    else:
      with quadrille.neighbor_allgatherw_init(send, message, ring) as request:
        request.start()
    assert recv.tolist()[:3] == whole and recv.tolist()[3::2] == [right * 10 + i for i in range(3)], recv
    assert recv.tolist()[4::2] == [-1] * 3
  gaps.Free()
  assert not hasattr(quadrille, "allgatherw")


def enqueued(MPI, comm):
  """Without a driver a stream means nothing, and the calls wait."""
  size, rank = comm.Get_size(), comm.Get_rank()
  class OfTorch:
    cuda_stream = 0
  class OfCuda:
    def __cuda_stream__(self):
      return 0, 0
  class OfNumba:
    class handle:
      value = 0
  wanted = [other * 10 + rank for other in range(size)]
  for stream in (None, 0, OfTorch(), OfCuda(), OfNumba()):
    send, recv = numbers(rank * 10 + i for i in range(size)), numbers([-1] * size)
    quadrille.alltoall_enqueue(send, recv, comm, stream)
    quadrille.enqueue_status(comm)
    assert recv.tolist() == wanted
    recv = numbers([-1] * size)
    quadrille.alltoallv_enqueue([send, [1] * size], [recv, [1] * size], comm, stream)
    assert recv.tolist() == wanted
  recv = numbers([-1] * size)
  places = [8 * i for i in range(size)]
  quadrille.alltoallw_enqueue([send, [1] * size, places, ["q"] * size], [recv, [1] * size, places, ["q"] * size], comm)
  assert recv.tolist() == wanted
  recv = numbers([-1] * size)
  request = quadrille.alltoall_init(send, recv, comm)
  for _ in range(3):
    request.start_enqueue(None)
  assert recv.tolist() == wanted
  request.free()
  expect(quadrille.Error, "freed already", request.start_enqueue)
  expect(TypeError, "a str is not a stream", quadrille.alltoall_enqueue, send, recv, comm, "stream")


def one_of_several(comm):
  size, rank = comm.Get_size(), comm.Get_rank()
  sends = [numbers([rank + 100 * i] * size) for i in range(3)]
  wanted = [[other + 100 * i for other in range(size)] for i in range(3)]

  def test(requests):
    index, flag = None, False
    while not flag:
      index, flag = quadrille.testany(requests)
    return index

  for take in (quadrille.waitany, test):
    recvs = [numbers([-1] * size) for _ in range(3)]
    requests = [quadrille.ialltoall(send, recv, comm) for send, recv in zip(sends, recvs)]
    taken = [take(requests) for _ in range(4)]
    assert sorted(taken[:3]) == [0, 1, 2] and taken[3] is None, taken
    assert [recv.tolist() for recv in recvs] == wanted
    expect(quadrille.Error, "complete already", requests[0].start)
    requests = [quadrille.alltoall_init(send, recv, comm) for send, recv in zip(sends, recvs)]
    for _ in range(2):
      quadrille.startall(requests[:2])
      taken = [take(requests) for _ in range(3)]
      assert sorted(taken[:2]) == [0, 1] and taken[2] is None, taken
    for request in requests:
      request.free()
  assert quadrille.waitany([]) is None and quadrille.testany([]) == (None, True)


def freed_by_an_error(comm):
  """A call that completes requests and returns an error has freed them."""
  from quadrille import _library
  library, size = _library.library(), comm.Get_size()
  call = library.call

  def complain(name, *arguments):
    call(name, *arguments)
    if name == "Waitall" or arguments[-1]._obj.value:
      raise quadrille.Error("as if a block had been too long")

  def test_all(requests):
    while not quadrille.testall(requests):
      pass

  for take in quadrille.waitall, test_all:
    requests = [quadrille.ialltoall(numbers(range(size)), numbers([-1] * size), comm) for _ in range(3)]
    library.call = complain
    try:
      expect(quadrille.Error, "too long", take, requests)
    finally:
      del library.call
    assert not any(request._handle.value for request in requests)


def collectives():
  from mpi4py import MPI
  comm = MPI.COMM_WORLD
  size, rank = comm.Get_size(), comm.Get_rank()
  assert not quadrille.enabled()
  assert expect(quadrille.TooLate, "MPI is initialised already", quadrille.enable).code is None
  assert quadrille.version() == tuple(map(int, quadrille.__version__.split(".")))
  for name in ("alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"):
    check(MPI, comm, name)
    check(MPI, comm.Split(rank % 2, -rank), name)
  if size > 1:
    between_groups(MPI, comm)
  ring = comm.Create_cart([size], periods=[True])
  for name in ("alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"):
    check(MPI, ring, "neighbor_" + name)

  # A rank without neighbours on a side may give any buffer for it.
  line = comm.Create_dist_graph_adjacent([rank - 1] if rank else [], [rank + 1] if rank + 1 < size else [])
  recv = numbers([-1])
  quadrille.neighbor_alltoall(numbers([rank]), recv, line)
  assert recv.tolist() == [rank - 1 if rank else -1], recv.tolist()
  line.Free()

  # Isomorphic neighbourhoods: the k-th block comes from the process at the opposite of the k-th offset.
  offsets = (1, 1, 0, -1, 2)
  iso = quadrille.iso_neighborhood(ring, [[offset] for offset in offsets], check=True)
  assert isinstance(iso, MPI.Distgraphcomm) and iso.Get_dist_neighbors_count()[:2] == (5, 5)
  send, recv = numbers(rank * 10 + i for i in range(5)), numbers([-1] * 5)
  quadrille.neighbor_alltoall(send, recv, iso)
  right = [(rank - offset) % size * 10 + i for i, offset in enumerate(offsets)]
  assert recv.tolist() == right, f"{recv.tolist()} is not {right}"
  # Open MPI takes a distributed graph that was made of a Cartesian communicator for the latter: no judge.
  judged = iso.Get_topology() == MPI.DIST_GRAPH
  assert judged or "Open MPI" in MPI.Get_library_version()
  for name in ("alltoall", "alltoallw", "allgather") if judged else ():
    check(MPI, iso, "neighbor_" + name)
  quadrille.set_iso_sizes(iso)
  quadrille.set_iso_sizes(iso, False)
  quadrille.set_algorithm(iso, "neighbor_alltoall", "torus")
  recv = numbers([-1] * 5)
  with quadrille.neighbor_alltoall_init(send, recv, iso) as request:
    request.start()
  assert recv.tolist() == right, f"{recv.tolist()} is not {right}"
  iso.Free()
  plane = comm.Create_cart([1, size], periods=[True, True])
  iso = quadrille.iso_neighborhood(plane, [(0, 1), (1, 0), (3, -1)], iso_sizes=True)
  send, recv = numbers(rank * 10 + i for i in range(3)), numbers([-1] * 3)
  quadrille.neighbor_alltoallv([send, [1, 1, 1]], [recv, [1, 1, 1]], iso)
  assert recv.tolist() == [(rank - offset) % size * 10 + i for i, offset in enumerate((1, 0, -1))]
  iso.Free()
  expect(quadrille.Error, "", quadrille.iso_neighborhood, comm, [[1]])
  expect(ValueError, "each offset needs 1 entries", quadrille.iso_neighborhood, ring, [[1, 2]])

  # In place, other datatypes, memory that is no array.
  both = numbers(rank * 10 + i for i in range(size))
  quadrille.alltoall(MPI.IN_PLACE, both, comm)
  assert both.tolist() == [other * 10 + rank for other in range(size)]
  all_ = numbers([rank if i == rank else -1 for i in range(size)])
  quadrille.allgather(MPI.IN_PLACE, all_, comm)
  assert all_.tolist() == list(range(size))
  pair = MPI.INT64_T.Create_vector(2, 1, 2).Commit()
  send, recv = numbers(range(rank, rank + 4 * size)), numbers([-1] * (2 * size))
  # From each four numbers the first and the third.
  wide = pair.Create_resized(0, 32).Commit()
  quadrille.alltoall([send, 1, wide], [recv, 2, MPI.INT64_T], comm)
  assert recv.tolist() == [other + 4 * rank + gap for other in range(size) for gap in (0, 2)], recv.tolist()
  text = bytearray(size)
  quadrille.alltoall(bytes([65 + rank]) * size, text, comm)
  assert text == bytes(65 + other for other in range(size))

  # What an array on a device shows of itself. Its memory is the host's here.
  class Shown:
    def __init__(self, values):
      self.values = values
      self.__cuda_array_interface__ = {"shape": (len(values),), "typestr": "<i8", "version": 3,
                                       "data": (values.buffer_info()[0], False)}
  send, recv = numbers(rank * 10 + i for i in range(size)), numbers([-1] * size)
  quadrille.alltoall(Shown(send), Shown(recv), comm)
  assert recv.tolist() == [other * 10 + rank for other in range(size)]

  # Requests together.
  sends = [numbers([rank + 100 * i] * size) for i in range(3)]
  recvs = [numbers([-1] * size) for _ in range(3)]
  requests = [quadrille.alltoall_init(send, recv, comm) for send, recv in zip(sends, recvs)]
  for _ in range(2):
    quadrille.startall(requests)
    quadrille.waitall(requests)
  assert [recv.tolist() for recv in recvs] == [[other + 100 * i for other in range(size)] for i in range(3)]
  for request in requests:
    request.free()
  requests = [quadrille.ialltoall(send, recv, comm) for send, recv in zip(sends, recvs)]
  while not quadrille.testall(requests):
    pass
  one_of_several(comm)
  freed_by_an_error(comm)
  expect(quadrille.Error, "complete already", requests[0].start)

  shown_by_dlpack(MPI, comm)
  allocated(MPI, comm)
  sparse(MPI, comm)
  gathered_wide(MPI, ring)
  enqueued(MPI, comm)

  # Mistakes.
  short = numbers([0] * (size + 1))
  expect(ValueError, f"{size + 1} elements cannot be divided into {size} blocks", quadrille.alltoall, short,
         numbers([0] * size), comm)
  expect(ValueError, "a block ends at byte", quadrille.alltoall, [short, 2, MPI.INT64_T], numbers([0] * 2 * size), comm)
  expect(ValueError, "counts are given for", quadrille.alltoallv, [short, [1]], short, comm)
  expect(TypeError, "not a communicator", quadrille.alltoall, short, short, 5)
  expect((TypeError, BufferError), "receive buffer", quadrille.alltoall, bytes(size), bytes(size), comm)
  expect(ValueError, "a topology", quadrille.neighbor_alltoall, short, short, comm)
  expect(ValueError, "need datatypes", quadrille.alltoallw, short, short, comm)
  expect(ValueError, "not allowed", quadrille.alltoall, numbers([0] * size), MPI.IN_PLACE, comm)
  expect(OverflowError, "more than an int", quadrille.alltoall_enqueue, [MPI.BOTTOM, 2**31, MPI.BYTE], [None, 0, MPI.BYTE],
         comm)
  expect(OverflowError, "more than an MPI_Count", quadrille.alltoall, [MPI.BOTTOM, 2**63, MPI.BYTE], [None, 0, MPI.BYTE],
         comm)
  loose = MPI.INT.Create_contiguous(2)  # not committed
  assert expect(quadrille.Error, "Quadrille_Alltoall", quadrille.alltoall, [short, 0, loose], [short, 0, loose],
                comm).code is not None
  expect(quadrille.Error, "Quadrille_Set_algorithm", quadrille.set_algorithm, comm, "alltoall", "no-such-thing")
  numpy = has_numpy()
  if numpy:
    arrays_of_numpy(numpy, MPI, comm)
  comm.Barrier()
  if rank == 0:
    print("all tests of the package passed" + (", with numpy" if numpy else ""))


def large():
  """One rank sends one byte more than 2**31 times, and a displacement is as large; the other ranks know nothing of it."""
  from mpi4py import MPI
  comm = MPI.COMM_WORLD
  size, rank = comm.Get_size(), comm.Get_rank()
  many = 2**31 + 12345
  again = MPI.BYTE.Create_resized(0, 0).Commit()
  to_last = [many if rank == 0 and to == size - 1 else 0 for to in range(size)]
  from_first = [many if rank == size - 1 and source == 0 else 0 for source in range(size)]
  room = mmap.mmap(-1, many + 1 if rank == size - 1 else 1)
  for form in (quadrille.alltoallv, lambda *call: quadrille.ialltoallv(*call).wait()):
    room[0] = room[-1] = 0
    form([bytes([77]), (to_last, [0] * size), again], [room, (from_first, [1 - (count > 0) for count in from_first])], comm)
    if rank == size - 1:
      assert room[0] == room[many // 2] == room[2**31] == room[many - 1] == 77 and room[many] == 0
  # The last byte of the room, by a displacement of more than an int.
  one = [1 if rank == 0 and to == size - 1 else 0 for to in range(size)]
  from_one = [1 if rank == size - 1 and source == 0 else 0 for source in range(size)]
  places = [many if count else 0 for count in from_one]
  quadrille.alltoallw([bytes([55]), one, [0] * size, [MPI.BYTE] * size], [room, (from_one, places), [MPI.BYTE] * size], comm)
  if rank == size - 1:
    assert room[many] == 55
  # One count for all: each rank calls the function that its own count needs.
  nothing = MPI.BYTE.Create_contiguous(0).Commit()
  count = many if rank == 0 else 1
  for form in (quadrille.alltoall, quadrille.allgather, lambda *call: quadrille.ialltoall(*call).wait()):
    form([b"x", count, nothing], [bytearray(1), count, nothing], comm)
  comm.Barrier()
  if rank == 0:
    print("large counts are right")


def enable():
  # The version starts no MPI, so enable() is in time after it.
  expected = tuple(map(int, quadrille.__version__.split(".")))
  assert quadrille.version() == expected and "mpi4py" not in sys.modules
  assert not quadrille.enabled()
  assert quadrille.enable() is True
  assert quadrille.enabled() and quadrille.enable() is False
  from mpi4py import MPI
  comm = MPI.COMM_WORLD
  size, rank = comm.Get_size(), comm.Get_rank()
  for _ in range(30):
    send, recv = numbers(rank * 10 + i for i in range(size)), numbers([-1] * size)
    comm.Alltoall(send, recv)
    assert recv.tolist() == [other * 10 + rank for other in range(size)]
  # By name, from the same library.
  quadrille.alltoall(send, recv, comm)
  assert quadrille.version() == expected


def bench():
  table = quadrille.bench("alltoall", ranks=2, sizes=[8, 4096], options=["--iterations", "20"])
  rows = table.to_dict("records") if hasattr(table, "to_dict") else table
  assert [(row["collective"], row["ranks"], row["bytes"], row["errors"]) for row in rows] == [
      ("alltoall", 2, 8, 0), ("alltoall", 2, 4096, 0)]
  assert all(abs(row["speedup"] * row["quadrille_us"] / row["mpi_us"] - 1) < 1e-9 for row in rows)
  expect(quadrille.Error, "no-such-collective", quadrille.bench, "no-such-collective")
  expect(quadrille.Error, "no launcher no-such-launcher", quadrille.bench, "alltoall", 2, "8", "no-such-launcher")
  print("the table is right")


def notebook():
  """The branch of bench() with pandas, and plot()."""
  import os
  import tempfile
  import matplotlib.pyplot as pyplot
  import pandas
  table = quadrille.bench("alltoall", ranks=2, sizes="8,4096", options=["--iterations", "20"])
  assert isinstance(table, pandas.DataFrame) and len(table) == 2, table
  assert table["bytes"].tolist() == [8, 4096] and (table["speedup"] > 0).all() and (table["errors"] == 0).all()
  both = pandas.concat([table, table.assign(collective="allgather")])
  _, given = pyplot.subplots()
  for what, axes, curves in ((table, None, 1), (table.to_dict("records"), None, 1), (both, given, 2)):
    drawn = quadrille.plot(what, axes)
    assert axes is None or drawn is axes
    lines = [line for line in drawn.lines if line.get_marker() == "o"]
    assert len(lines) == curves == len(drawn.get_legend().get_texts())
    for line in lines:
      assert list(line.get_xdata()) == [8, 4096] and list(line.get_ydata()) == table["speedup"].tolist()
  with tempfile.TemporaryDirectory() as folder:
    picture = os.path.join(folder, "a.png")
    given.figure.savefig(picture)
    assert os.path.getsize(picture) > 5000
  print("the picture is right")


if __name__ == "__main__":
  try:
    {"enable": enable, "bench": bench, "notebook": notebook, "large": large,
     "": collectives}[sys.argv[1] if len(sys.argv) > 1 else ""]()
  except Exception:
    traceback.print_exc()
    if "mpi4py.MPI" in sys.modules:
      # The others may wait for this rank.
      sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(1)
    sys.exit(1)
