"""The sparse exchange: each rank names its destinations and learns its sources."""

import ctypes

from quadrille import _library, _messages


class _Received(ctypes.Structure):
  """Quadrille_Received of quadrille.h."""
  _fields_ = [("nsources", ctypes.c_int), ("sources", ctypes.POINTER(ctypes.c_int)),
              ("counts", ctypes.POINTER(ctypes.c_longlong)), ("displs", ctypes.POINTER(ctypes.c_ssize_t)),
              ("data", ctypes.c_void_p), ("memory", ctypes.c_void_p)]


class Received:
  """The received blocks, sorted by source: sources[i] sent counts[i] elements, which block(i) returns. `data` has all
  bytes in this order. Also a sequence of (source, block)."""

  def __init__(self, sources, counts, places, data, code):
    self.sources, self.counts, self.data = sources, counts, data
    self._places, self._code = places, code

  def block(self, i):
    """A memoryview of block i. Elements whose type Python lacks are bytes, from the lowest to the highest that the bounds
    of the type enclose, gaps included. numpy.asarray accepts the view."""
    begin, end = self._places[i]
    view = memoryview(self.data)[begin:end]
    return view.cast(self._code) if self._code else view

  def __len__(self):
    return len(self.sources)

  def __getitem__(self, i):
    return self.sources[i], self.block(range(len(self))[i])

  def __repr__(self):
    blocks = ", ".join(f"{count} from {source}" for source, count in zip(self.sources, self.counts))
    return f"<quadrille.Received: {blocks or 'nothing'}>"


def _code(kind):
  """The memoryview format of a predefined datatype; empty for other datatypes."""
  try:
    code = kind.tocode() if hasattr(kind, "tocode") else ""
  except ValueError:
    return ""
  sizes = {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f4": "f", "f8": "d"}
  return sizes.get(code, code if len(code) == 1 and code in "bBhHiIlLqQfd" else "")


def _from_dict(given):
  """{destination: array} as (message, destinations)."""
  destinations = list(given)
  views = [memoryview(block) for block in given.values()]
  formats = {view.format for view in views}
  if len(formats) > 1:
    raise TypeError(f"quadrille.exchange: the blocks have different types: {', '.join(sorted(formats))}")
  if not all(view.contiguous for view in views):
    raise ValueError("quadrille.exchange: a block is not contiguous")
  joined = b"".join(view.tobytes() for view in views)
  return [joined, [view.nbytes // view.itemsize for view in views], formats.pop() if formats else "B"], destinations


def exchange(send, destinations=None, comm=None, recvtype=None):
  """Quadrille_Exchange: sends a block to each destination. Collective: ranks that send nothing call it, too.

  send          {rank: array with the buffer protocol}, or a message as for alltoallv with a block for each destination
  destinations  the ranks, in the order of the blocks; not with a dict
  comm          a communicator of mpi4py
  recvtype      a datatype of mpi4py or its code; default: the type of `send`. Required if this rank sends nothing
  Returns a Received.
  """
  library = _library.library()
  MPI = library.MPI
  if not isinstance(comm, MPI.Comm):
    raise TypeError(f"quadrille.exchange: comm is a {type(comm).__name__}, not a communicator of mpi4py")
  if isinstance(send, dict):
    if destinations is not None:
      raise ValueError("quadrille.exchange: a dict names its destinations itself")
    send, destinations = _from_dict(send)
    if not destinations and recvtype is None:
      raise ValueError("quadrille.exchange: without anything to send, recvtype must be given")
  destinations = [int(rank) for rank in destinations or []]
  message = _messages.vector(MPI, send, len(destinations), True)
  kind = message.types if recvtype is None else _messages._as_type(MPI, recvtype)  # pylint: disable=protected-access
  received = _Received()
  library.call("Exchange", ctypes.c_void_p(message.address), ctypes.c_int(len(destinations)), _messages.ints(destinations),
               _messages.counts(message.counts), _messages.addresses(message.displs),
               library.of(message.types), library.of(kind), library.of(comm), ctypes.byref(received))
  try:
    return _taken(received, kind)
  finally:
    library.functions.Quadrille_Received_free(ctypes.byref(received))


def _reach(bounds, count):
  """(begin, end) of `count` elements, in bytes from the address of the first, as reach_of() in src/api/exchange.cpp."""
  if count == 0:
    return 0, 0
  lower, extent, true_lower, true_extent = bounds
  last = (count - 1) * extent
  begin = min(lower, lower + extent, true_lower)
  end = max(lower, lower + extent, true_lower + true_extent)
  return min(begin, begin + last), max(end, end + last)


def _taken(received, kind):
  """Copies the received data into Python's memory."""
  number, bounds = received.nsources, (*kind.Get_extent(), *kind.Get_true_extent())
  sources, counts = received.sources[:number], received.counts[:number]
  least, most = _reach(bounds, sum(counts))
  data = bytearray(most - least)
  if data:
    ctypes.memmove((ctypes.c_char * len(data)).from_buffer(data), (received.data or 0) + least, len(data))
  places = []
  for start, count in zip(received.displs[:number], counts):
    first = start * bounds[1] - least
    begin, end = _reach(bounds, count)
    places.append((first + begin, first + end))
  return Received(sources, counts, places, data, _code(kind))
