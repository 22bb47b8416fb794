"""The element type of an array that has only DLPack, for example PyTorch's in host memory.

mpi4py itself reads the address from the same header. Nothing is copied.
"""

import ctypes


class _Tensor(ctypes.Structure):
  """DLTensor of dlpack.h."""
  _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
              ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
              ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
  """DLManagedTensorVersioned. The older DLManagedTensor begins with the tensor."""
  _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
              ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_CPU = 1
# Signed, unsigned, floating point, complex, logical. Handles, and types that C lacks (bfloat16), are left out.
_LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _capsule(data):
  """(capsule, name). Stream -1 avoids a synchronisation on a device: only the type is read."""
  stream = {} if data.__dlpack_device__()[0] == _CPU else {"stream": -1}
  try:
    return data.__dlpack__(max_version=(1, 0), copy=False, **stream), b"dltensor_versioned"
  except TypeError:  # older than DLPack 1.0
    return data.__dlpack__(**stream), b"dltensor"


def code_of(data):
  """The code of the type, for example "f8"; None without DLPack, or if the type has no code."""
  if not hasattr(data, "__dlpack__") or not hasattr(data, "__dlpack_device__"):
    return None
  capsule, name = _capsule(data)
  try:
    address = _pointer(capsule, name)
  except ValueError:
    # The producer accepts max_version, but returns the older structure.
    name = b"dltensor"
    address = _pointer(capsule, name)
  tensor = _Tensor.from_address(address) if name == b"dltensor" else _Versioned.from_address(address).tensor
  letter = _LETTERS.get(tensor.code)
  return f"{letter}{tensor.bits // 8}" if letter and tensor.lanes == 1 and tensor.bits >= 8 else None
