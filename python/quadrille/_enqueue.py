"""Calls in the order of a CUDA or HIP stream."""

import ctypes

from quadrille import _collectives, _library


def _stream(given):
  """The driver's handle of a stream: a number, or a stream of CuPy, PyTorch, Numba or cuda.core."""
  if given is None:
    return ctypes.c_void_p(None)
  if isinstance(given, int) and not isinstance(given, bool):
    return ctypes.c_void_p(given)
  protocol = getattr(given, "__cuda_stream__", None)
  if protocol is not None:
    _, handle = protocol() if callable(protocol) else protocol
    return ctypes.c_void_p(int(handle))
  for name in ("cuda_stream", "ptr"):  # of PyTorch, of CuPy
    handle = getattr(given, name, None)
    if isinstance(handle, int):
      return ctypes.c_void_p(handle)
  handle = getattr(given, "handle", None)  # of Numba: a number in a ctypes object
  handle = getattr(handle, "value", handle)
  if isinstance(handle, int):
    return ctypes.c_void_p(handle)
  raise TypeError(f"quadrille: a {type(given).__name__} is not a stream; give its handle as a number")


def _enqueued(name):
  def call(send, recv, comm, stream=None):
    # pylint: disable-next=protected-access
    library, _, arguments, _ = _collectives._arguments(name, send, recv, comm, may_be_large=False)
    library.call(_collectives._c_name(name) + "_enqueue",  # pylint: disable=protected-access
                 *arguments[:-1], _stream(stream), arguments[-1])
  call.__doc__ = (f"Enqueues an {name} into a stream, like a kernel: it sends the data that earlier work in the stream "
                  "produced. Keep the buffers until the stream has passed the call.")
  call.__name__ = call.__qualname__ = name + "_enqueue"
  return call


alltoall_enqueue = _enqueued("alltoall")
alltoallv_enqueue = _enqueued("alltoallv")
alltoallw_enqueue = _enqueued("alltoallw")


def enqueue_status(comm):
  """Raises, and clears, the first error of the calls on comm that their streams have passed. Does not wait."""
  library = _library.library()
  library.call("Enqueue_status", library.of(comm))
