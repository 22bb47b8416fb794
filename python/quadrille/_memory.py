"""Memory that the other ranks of a node reach directly."""

import ctypes
import weakref

from quadrille import _exchange, _library, _messages


def _block(library, nbytes):
  """Memory of Quadrille_Alloc with the buffer protocol. It is freed when the last view of it is gone."""
  if nbytes == 0:
    return (ctypes.c_ubyte * 0)()
  base = ctypes.c_void_p()
  library.call("Alloc", ctypes.c_ssize_t(nbytes), ctypes.byref(base))
  block = (ctypes.c_ubyte * nbytes).from_address(base.value)
  # Not when Python ends: others may have views then, and the memory goes with the process.
  weakref.finalize(block, library.functions.Quadrille_Free, ctypes.c_void_p(base.value)).atexit = False
  return block


def alloc(count, dtype="B"):
  """A buffer of `count` elements in the shared heap (Quadrille_Alloc). What it holds is undefined.

  dtype  the code of a type ("d", "i8"), a datatype of mpi4py, or what numpy.dtype takes
  Exchanges between such buffers of a node need one copy. Returns a numpy.ndarray where numpy is installed, else a
  memoryview; the memory is freed when it and all views of it are gone.
  """
  library = _library.library()
  MPI = library.MPI
  count = int(count)
  if count < 0:
    raise ValueError(f"quadrille.alloc: a count of {count} is negative")
  try:
    import numpy  # pylint: disable=import-outside-toplevel
  except ImportError:
    kind = _messages._as_type(MPI, dtype)  # pylint: disable=protected-access
    code = _exchange._code(kind)  # pylint: disable=protected-access
    if not code:
      raise TypeError(f"quadrille.alloc: Python has no memoryview with elements of the type {dtype}") from None
    return memoryview(_block(library, count * kind.Get_size())).cast("B").cast(code)
  kind = numpy.dtype(dtype.tocode() if isinstance(dtype, MPI.Datatype) else dtype)
  if kind.hasobject:
    raise TypeError("quadrille.alloc: objects of Python cannot be sent")
  return numpy.frombuffer(_block(library, count * kind.itemsize), kind)
