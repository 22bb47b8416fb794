"""The collectives by name, in three forms: blocking, nonblocking (i...) and persistent (..._init).

All take the arguments of mpi4py's upper-case methods: send buffer, receive buffer, communicator.
"""

import ctypes

from quadrille import _library, _messages, _requests

# The form of the blocks on the send side and on the receive side.
_SIDES = {
    "alltoall": (_messages.simple, _messages.simple),
    "alltoallv": (_messages.vector, _messages.vector),
    "alltoallw": (_messages.wide, _messages.wide),
    "allgather": (_messages.simple, _messages.simple),
    "allgatherv": (_messages.simple, _messages.vector),
    "allgatherw": (_messages.simple, _messages.wide),  # only for neighbours
}


def _neighbors(MPI, comm):
  """(number of destinations, number of sources)"""
  topology = comm.Get_topology()
  # The class first: Open MPI reports MPI_CART for a distributed graph that was created from a Cartesian communicator.
  if isinstance(comm, MPI.Distgraphcomm):
    sources, destinations, _ = comm.Get_dist_neighbors_count()
    return destinations, sources
  if topology == MPI.CART:
    both = 2 * MPI.Cartcomm(comm).Get_dim()
    return both, both
  if topology == MPI.GRAPH:
    both = MPI.Graphcomm(comm).Get_neighbors_count(comm.Get_rank())
    return both, both
  if topology == MPI.DIST_GRAPH:
    sources, destinations, _ = MPI.Distgraphcomm(comm).Get_dist_neighbors_count()
    return destinations, sources
  raise ValueError("quadrille: a neighbour collective needs a communicator with a topology (Cartcomm, Graphcomm, "
                   "Distgraphcomm)")


def _takes_large(forms, messages, comm):
  """Whether to call the function with large counts.

  In the v and w forms all ranks must call the same function, and no rank knows the counts of the others. These forms
  always use large counts, except on intercommunicators, where some MPIs lack the functions. In the other forms each
  rank may call either function.
  """
  for form in forms:
    if form is not _messages.simple:
      return not comm.Is_inter()
  for message in messages:
    if not message.in_place and message.counts > _messages.INT_MAX:
      return True
  return False


def _side(library, form, message, other, far, large):
  """The arguments of one side, in the order of the C functions."""
  source = other if message.in_place else message
  pointer = ctypes.c_void_p(message.address)
  if form is _messages.simple:
    kind = source.types[0] if isinstance(source.types, list) else source.types
    count = 0 if message.in_place else message.counts
    return [pointer, _messages.count(count) if large else _messages.an_int(count), library.of(kind)]
  counts = _messages.counts(source.counts) if large else _messages.ints(source.counts)
  displs = _messages.addresses(source.displs) if far or large else _messages.ints(source.displs)
  kinds = library.handles(source.types) if form is _messages.wide else library.of(source.types)
  return [pointer, counts, displs, kinds]


def _arguments(name, send, recv, comm, may_be_large=True):
  """(library, suffix of the function's name: "_c" or "", arguments, objects to keep alive)"""
  library = _library.library()
  MPI = library.MPI
  if not isinstance(comm, MPI.Comm):
    raise TypeError(f"quadrille.{name}: comm is a {type(comm).__name__}, not a communicator of mpi4py")
  neighbor = name.startswith("neighbor_")
  collective = name[len("neighbor_"):] if neighbor else name
  if neighbor:
    destinations, sources = _neighbors(MPI, comm)
  else:
    destinations = sources = comm.Get_remote_size() if comm.Is_inter() else comm.Get_size()
  if collective.startswith("allgather"):
    destinations = 1
  send_form, recv_form = _SIDES[collective]
  sending = send_form(MPI, send, destinations, True)
  receiving = recv_form(MPI, recv, sources, False)
  if receiving.in_place or (neighbor and sending.in_place):
    raise ValueError(f"quadrille.{name}: MPI.IN_PLACE is not allowed here")
  far = neighbor and collective.endswith("w")
  large = may_be_large and _takes_large((send_form, recv_form), (sending, receiving), comm)
  arguments = (_side(library, send_form, sending, receiving, far, large) +
               _side(library, recv_form, receiving, sending, far, large))
  return library, "_c" if large else "", [*arguments, library.of(comm)], (sending.keep, receiving.keep)


def _c_name(name):
  return name[0].upper() + name[1:]


def _blocking(name):
  def call(send, recv, comm):
    library, ending, arguments, _ = _arguments(name, send, recv, comm)
    library.call(_c_name(name) + ending, *arguments)
  call.__doc__ = f"{_c_name(name)}: send and recv as in mpi4py's comm.{_c_name(name)}(send, recv)."
  return call


def _nonblocking(name):
  def call(send, recv, comm):
    library, ending, arguments, keep = _arguments(name, send, recv, comm)
    request = _requests.Request(library, False, keep)
    library.call("I" + name + ending, *arguments, ctypes.byref(request._handle))
    return request
  call.__doc__ = f"Starts a nonblocking {name}. Returns a Request to wait() for or test()."
  return call


def _persistent(name):
  def call(send, recv, comm, info=None):
    library, ending, arguments, keep = _arguments(name, send, recv, comm)
    request = _requests.Request(library, True, keep)
    info = library.MPI.INFO_NULL if info is None else info
    library.call(_c_name(name) + "_init" + ending, *arguments, library.of(info), ctypes.byref(request._handle))
    return request
  call.__doc__ = f"Creates a persistent {name}. Returns a Request to start(), wait() for and free(). Collective."
  return call


def _define():
  for base in _SIDES:
    for name in ("neighbor_" + base,) if base == "allgatherw" else (base, "neighbor_" + base):
      for full, make in ((name, _blocking), ("i" + name, _nonblocking), (name + "_init", _persistent)):
        function = make(name)
        function.__name__ = function.__qualname__ = full
        globals()[full] = function


_define()
