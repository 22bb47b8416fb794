"""The type of the data of an array that shows itself by DLPack alone, as one of PyTorch in memory of the host does.

Where the data are mpi4py reads by itself, from the same header. Nothing is copied.
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
# Integers, without sign, floating point, complex, logical; not handles and floating point that C has not (bfloat16).
_LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _capsule(data):
  """(capsule, name). On a device nothing waits for a stream: the types alone are read."""
  stream = {} if data.__dlpack_device__()[0] == _CPU else {"stream": -1}
  try:
    return data.__dlpack__(max_version=(1, 0), copy=False, **stream), b"dltensor_versioned"
  except TypeError:  # of before DLPack 1.0
    return data.__dlpack__(**stream), b"dltensor"


def code_of(data):
  """The code of the type, such as "f8"; None if there is no DLPack, or no code for the type."""
  if not hasattr(data, "__dlpack__") or not hasattr(data, "__dlpack_device__"):
    return None
  capsule, name = _capsule(data)
  try:
    address = _pointer(capsule, name)
  except ValueError:
    # It knows the parameter, and gives the older form.
    name = b"dltensor"
    address = _pointer(capsule, name)
  tensor = _Tensor.from_address(address) if name == b"dltensor" else _Versioned.from_address(address).tensor
  letter = _LETTERS.get(tensor.code)
  return f"{letter}{tensor.bits // 8}" if letter and tensor.lanes == 1 and tensor.bits >= 8 else None
