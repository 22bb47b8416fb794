"""Buffers that the Python package takes: objects with DLPack alone, the shared heap, arrays of numpy. package_test.py runs these
checks on real ranks, and has the helpers from here."""

import array
import ctypes

import quadrille


def numbers(values):
  return array.array("q", values)


def expect(error, part, function, *arguments):
  """The call must fail with this exception, and say this."""
  try:
    function(*arguments)
  except error as caught:
    assert part in str(caught), f"'{part}' is not in: {caught}"
    return caught
  raise AssertionError(f"{function.__name__} did not fail with {error.__name__}")


class Shared(ctypes.Structure):
  """DLManagedTensor of dlpack.h, and behind a version DLManagedTensorVersioned."""
  _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
              ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
              ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p * 2)]


class SharedLater(ctypes.Structure):
  _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p * 2), ("flags", ctypes.c_uint64),
              ("tensor", Shared)]


class OfDlpack:
  """An array that has no buffer of Python, and a type without a name: as a tensor of PyTorch."""
  dtype = object()

  def __init__(self, values, code=0, bits=64, lanes=1, later=False):
    self.values, self.shape = values, (ctypes.c_int64 * 1)(len(values))
    self.tensor = Shared(values.buffer_info()[0], (1, 0), 1, code, bits, lanes, self.shape, None, 0)
    self.later = SharedLater((1, 0), (None, None), 0, self.tensor) if later else None

  def __dlpack_device__(self):
    return 1, 0

  def __dlpack__(self, **words):
    if words and not self.later:
      raise TypeError("no words are known")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    # The capsule keeps the name's address alone.
    return new(ctypes.addressof(self.later or self.tensor), NAMES[bool(self.later)], None)


NAMES = (ctypes.c_char_p(b"dltensor"), ctypes.c_char_p(b"dltensor_versioned"))


def shown_by_dlpack(MPI, comm):
  size, rank = comm.Get_size(), comm.Get_rank()
  wanted = [other * 10 + rank for other in range(size)]
  # The newer form needs an mpi4py that reads it.
  for later in (False, True) if hasattr(MPI, "buffer") else (False,):
    send, recv = numbers(rank * 10 + i for i in range(size)), numbers([-1] * size)
    quadrille.alltoall(OfDlpack(send, later=later), OfDlpack(recv, later=later), comm)
    assert recv.tolist() == wanted, recv
    send, recv = array.array("d", send), array.array("d", recv)
    with quadrille.alltoallv_init([OfDlpack(send, 2, later=later), [1] * size], [OfDlpack(recv, 2, later=later), [1] * size],
                                  comm) as request:
      request.start()
    assert recv.tolist() == wanted, recv
  # Types that MPI has not, bfloat16 and vectors, need one.
  bits = lambda values: [OfDlpack(values, 4, 16), MPI.BYTE]
  send, recv = array.array("H", [rank] * size), array.array("H", [99] * size)
  quadrille.alltoall(bits(send), bits(recv), comm)
  assert recv.tolist() == list(range(size))
  for wrong in (OfDlpack(send, 4, 16), OfDlpack(send, 2, 32, 2)):
    expect(TypeError, "the type of the data is not known", quadrille.alltoall, wrong, recv, comm)


def allocated(MPI, comm):
  size, rank = comm.Get_size(), comm.Get_rank()
  numpy = has_numpy()
  for dtype in ("q", "i8", MPI.INT64_T):
    send, recv = quadrille.alloc(2 * size, dtype), quadrille.alloc(2 * size, dtype)
    assert isinstance(send, numpy.ndarray if numpy else memoryview)
    for i in range(2 * size):
      send[i], recv[i] = rank * 100 + i, -1
    quadrille.alltoall(send, recv, comm)
    assert recv.tolist() == [other * 100 + 2 * rank + i for other in range(size) for i in range(2)], recv.tolist()
  assert len(quadrille.alloc(3)) == 3 and len(quadrille.alloc(0, "d")) == 0
  expect(ValueError, "negative", quadrille.alloc, -1)
  expect(TypeError, "objects of Python" if numpy else "there is no MPI datatype", quadrille.alloc, 1, "O")
  # A view keeps the memory; without one it is freed.
  from quadrille import _library
  functions, freed = _library.library().functions, []
  free = functions.Quadrille_Free
  functions.Quadrille_Free = lambda base: freed.append(base.value) or free(base)
  view = quadrille.alloc(1000, "d")[5:]
  assert not freed
  del view
  functions.Quadrille_Free = free
  assert len(freed) == 1, freed


def has_numpy():
  """The module, or None."""
  try:
    import numpy
  except ImportError:
    return None
  return numpy


def arrays_of_numpy(numpy, MPI, comm):
  size, rank = comm.Get_size(), comm.Get_rank()
  send, recv = numpy.arange(2.0 * size).reshape(size, 2) + 100 * rank, numpy.empty((size, 2))
  quadrille.alltoall(send, recv, comm)
  assert (recv == [[100 * other + 2 * rank, 100 * other + 2 * rank + 1] for other in range(size)]).all()

  # The same by its DLPack alone.
  class Hidden:
    def __init__(self, values):
      self.__dlpack__, self.__dlpack_device__ = values.__dlpack__, values.__dlpack_device__

  for kind in ("f8", "f4", "i2", "u8", "c16", "?"):
    send, recv = (numpy.arange(size) + 10 * rank).astype(kind), numpy.zeros(size, kind)
    quadrille.alltoall(Hidden(send), Hidden(recv), comm)
    assert (recv == numpy.array([10 * other + rank for other in range(size)]).astype(kind)).all(), (kind, recv)
  expect((BufferError, ValueError), "contiguous", quadrille.alltoall, Hidden(numpy.zeros(4 * size)[::2]), Hidden(recv), comm)
  # Buffers in the shared heap take what numpy calls a type.
  shared = quadrille.alloc(6, numpy.float32).reshape(2, 3)
  assert shared.dtype == numpy.float32 and shared.ctypes.data % 64 == 0
  assert quadrille.alloc(2, MPI.DOUBLE).dtype == numpy.float64
