"""A Python program that knows nothing of Quadrille: mpi4py with arrays in a device's memory.

  client_device_mpi4py.py FORM LIBRARY      FORM: blocking, nonblocking or persistent. LIBRARY: CUDA's driver, which is
                                            called by a class of arrays of its own
  client_device_mpi4py.py FORM cupy|numba   arrays of these packages, on a real device

Arrays are on a device on some ranks and in the host's memory on the others, in turns. Where an MPI has no
nonblocking or persistent calls that could be served, nothing is tried: it would be given memory that it cannot touch.
"""
import array
import ctypes
import importlib
import re
import sys

from mpi4py import MPI

form, source = sys.argv[1:3]
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
wrong = 0


def skip(why):
  if rank == 0:
    print(f'skipped: {why}', flush=True)
  comm.Barrier()
  MPI.Finalize()
  sys.exit(0)


class Driver:
  """CUDA's, by ctypes. The primary context is the current one, as with CUDA's runtime."""

  def __init__(self, path):
    self.library = ctypes.CDLL(path)
    self.call('cuInit', 0)
    context = ctypes.c_void_p()
    self.call('cuDevicePrimaryCtxRetain', ctypes.byref(context), 0)
    self.call('cuCtxSetCurrent', context)

  def call(self, name, *arguments):
    error = getattr(self.library, name)(*arguments)
    if error != 0:
      raise RuntimeError(f'{name} says {error}')


class DeviceArray:
  """Ints in a device's memory, which says where they are as CuPy's and Numba's arrays do."""

  def __init__(self, driver, values):
    values = array.array('i', values)
    self.driver, self.count, self.bytes = driver, len(values), max(1, len(values) * values.itemsize)
    address = ctypes.c_size_t()
    driver.call('cuMemAlloc_v2', ctypes.byref(address), ctypes.c_size_t(self.bytes))
    self.address = address.value
    self.set(values)

  def __del__(self):
    self.driver.call('cuMemFree_v2', ctypes.c_size_t(self.address))

  @property
  def __cuda_array_interface__(self):
    return {'version': 3, 'shape': (self.count,), 'typestr': '<i4', 'data': (self.address, False), 'strides': None}

  def set(self, values):
    values = array.array('i', values)
    if self.count > 0:
      self.driver.call('cuMemcpyHtoD_v2', ctypes.c_size_t(self.address), ctypes.c_void_p(values.buffer_info()[0]),
                       ctypes.c_size_t(self.bytes))
      self.driver.call('cuStreamSynchronize', None)

  def get(self):
    values = array.array('i', [0] * self.count)
    if self.count > 0:
      self.driver.call('cuMemcpyDtoH_v2', ctypes.c_void_p(values.buffer_info()[0]), ctypes.c_size_t(self.address),
                       ctypes.c_size_t(self.bytes))
    return list(values)


class PackageArray:
  """The same of CuPy or Numba."""

  def __init__(self, package, values):
    numpy = importlib.import_module('numpy')
    host = numpy.array(list(values), dtype='i')
    self.array = package.asarray(host) if hasattr(package, 'asarray') else package.cuda.to_device(host)

  @property
  def __cuda_array_interface__(self):
    return self.array.__cuda_array_interface__

  def get(self):
    return [int(v) for v in (self.array.get() if hasattr(self.array, 'get') else self.array.copy_to_host())]


class HostArray(array.array):

  def __new__(cls, values):
    return super().__new__(cls, 'i', values)

  def get(self):
    return list(self)


def maker_of_device_arrays():
  if source not in ('cupy', 'numba'):
    driver = Driver(source)
    return lambda values: DeviceArray(driver, values)
  try:
    package = importlib.import_module(source)
    if source == 'numba':
      importlib.import_module('numba.cuda')
  except ImportError:
    skip(f'{source} is not installed')
  try:
    PackageArray(package, [1])
  except Exception as error:
    skip(f'{source} finds no device: {str(error).splitlines()[0]}')
  return lambda values: PackageArray(package, values)


def is_served():
  """Does Quadrille serve requests of this form here? (docs/requests.md)"""
  version = MPI.Get_library_version()
  if form == 'persistent' and version.startswith('Open MPI v4'):
    return False  # mpi4py finds none there
  mpich = re.match(r'MPICH Version:\s*(\d+)', version)
  return version.startswith('Open MPI') or bool(mpich) and int(mpich.group(1)) >= 5


if form != 'blocking' and not is_served():
  skip(f'{form} calls are not served on this MPI, or mpi4py finds none')
on_device = maker_of_device_arrays()
turns = 0


def ints(values):
  global turns
  turns += 1
  return on_device(values) if (turns // 3 + rank) % 2 == 0 else HostArray(values)


def expect(found, wanted, what):
  global wrong
  found = found.get()
  if found != list(wanted):
    wrong += 1
    print(f'rank {rank}, {what}: {found} is not {list(wanted)}', file=sys.stderr)


def call(on, name, *arguments):
  if form == 'blocking':
    getattr(on, name)(*arguments)
  elif form == 'nonblocking':
    getattr(on, 'I' + name[0].lower() + name[1:])(*arguments).Wait()
  else:
    request = getattr(on, name + '_init')(*arguments)
    for _ in range(2):
      request.Start()
      request.Wait()
    request.Free()


for turn in range(15):
  # So many for each rank that calls are by inboxes, and by copies.
  block = (1, 7, 3000)[turn % 3]
  value = lambda source, to, i: turn * 1000000 + source * 10000 + to * 3000 + i
  blocks = lambda pairs: [value(s, d, i) for s, d in pairs for i in range(block)]
  out, back = [(rank, p) for p in range(size)], [(p, rank) for p in range(size)]

  send, receive = ints(blocks(out)), ints([-1] * block * size)
  call(comm, 'Alltoall', [send, block, MPI.INT], [receive, block, MPI.INT])
  expect(receive, blocks(back), 'alltoall')
  if form != 'persistent':  # whose second start would send what the first has brought
    place = ints(blocks(out))
    call(comm, 'Alltoall', MPI.IN_PLACE, [place, block, MPI.INT])
    expect(place, blocks(back), 'alltoall in place')

  # Rank s sends (s + d) % 3 blocks to rank d, which lie in the opposite order, with gaps between them.
  counts = [(rank + p) % 3 * block for p in range(size)]
  places = [sum(counts[p + 1:]) + 2 * (size - p) for p in range(size)]
  length = sum(counts) + 2 * size + 2
  data, wanted = [-5] * length, [-6] * length
  for p in range(size):
    for i in range(counts[p]):
      data[places[p] + i] = value(rank, p, i)
      wanted[places[p] + i] = value(p, rank, i)
  send, receive = ints(data), ints([-6] * length)
  call(comm, 'Alltoallv', [send, counts, places, MPI.INT], [receive, counts, places, MPI.INT])
  expect(receive, wanted, 'alltoallv')

  bytes_at = [p * block * MPI.INT.Get_size() for p in range(size)]
  types = [MPI.INT] * size
  send, receive = ints(blocks(out)), ints([-1] * block * size)
  call(comm, 'Alltoallw', [send, [block] * size, bytes_at, types], [receive, [block] * size, bytes_at, types])
  expect(receive, blocks(back), 'alltoallw')

  gathered = blocks([(p, 0) for p in range(size)])
  mine, receive = ints(blocks([(rank, 0)])), ints([-1] * block * size)
  call(comm, 'Allgather', [mine, block, MPI.INT], [receive, block, MPI.INT])
  expect(receive, gathered, 'allgather')
  receive = ints([-1] * block * size)
  call(comm, 'Allgatherv', [mine, block, MPI.INT], [receive, [block] * size, [p * block for p in range(size)], MPI.INT])
  expect(receive, gathered, 'allgatherv')

# Around a ring. The first calls on a communicator are the MPI's, so they have arrays of the host.
before, after = (rank - 1) % size, (rank + 1) % size
ring = comm.Create_dist_graph_adjacent([before], [after])
for _ in range(12):
  call(ring, 'Neighbor_alltoall', [HostArray([rank]), MPI.INT], [HostArray([-1]), MPI.INT])
at = MPI.INT.Get_size()
for turn in range(9):
  count = (2, 14, 4000)[turn % 3]
  half = count // 2
  send = [turn * 100000 + rank * 10000 + i for i in range(count)]
  wanted = [turn * 100000 + before * 10000 + i for i in range(count)]
  for name, to_neighbour, from_neighbour, result in (
      ('Neighbor_alltoall', (count, MPI.INT), (count, MPI.INT), wanted),
      ('Neighbor_alltoallv', ([half], [half], MPI.INT), ([half], [0], MPI.INT), wanted[half:] + [-1] * half),
      ('Neighbor_alltoallw', ([half], [half * at], [MPI.INT]), ([half], [0], [MPI.INT]), wanted[half:] + [-1] * half),
      ('Neighbor_allgather', (count, MPI.INT), (count, MPI.INT), wanted),
      ('Neighbor_allgatherv', (count, MPI.INT), ([count], [0], MPI.INT), wanted)):
    sent, receive = ints(send), ints([-1] * count)
    call(ring, name, [sent, *to_neighbour], [receive, *from_neighbour])
    expect(receive, result, name)
  ring.Barrier()
ring.Free()

wrong = comm.allreduce(wrong)
if rank == 0:
  print(f'{size} ranks, {wrong} wrong values')
sys.exit(0 if wrong == 0 else 1)
