"""Memory in the shared heap, which the other ranks of a node access directly."""

import ctypes
import weakref

from quadrille import _exchange, _library, _messages


def _block(library, nbytes):
  """Memory of Quadrille_Alloc with the buffer protocol, freed with its last view."""
  if nbytes == 0:
    return (ctypes.c_ubyte * 0)()
  base = ctypes.c_void_p()
  library.call("Alloc", ctypes.c_ssize_t(nbytes), ctypes.byref(base))
  block = (ctypes.c_ubyte * nbytes).from_address(base.value)
  # Not freed at exit: views may still exist then, and the process frees the memory.
  weakref.finalize(block, library.functions.Quadrille_Free, ctypes.c_void_p(base.value)).atexit = False
  return block


def alloc(count, dtype="B"):
  """A buffer of `count` elements in the shared heap (Quadrille_Alloc), with undefined contents.

  dtype  the code of a type ("d", "i8"), a datatype of mpi4py, or an argument of numpy.dtype
  Large blocks between such buffers on a node take one copy. Returns a numpy.ndarray, or a memoryview without numpy. The
  memory is freed with its last view.
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
