"""mpi4py's message specifications: the buffer arguments of its upper-case methods.

  array            anything with the buffer protocol, or an array on a device (CUDA array interface, DLPack)
  [data, type]  [data, count]  [data, count, type]
  [data, counts]  [data, (counts, displacements)]  [data, counts, type]  [data, (counts, displacements), type]
  [data, counts, displacements, type]
  for the w calls: [data, types]  [data, (counts, displacements), types]  [data, counts, displacements, types]
  MPI.IN_PLACE, None

`type` is a datatype of mpi4py or its code ("d", "i8"). Counts are for each block. Displacements are in extents of the
type, or in bytes for the w calls.
"""

import ctypes

from quadrille import _dlpack

INT_MAX = 2**31 - 1
COUNT_MAX = 2**63 - 1  # of MPI_Count


class Message:
  """One side of a call: address, counts, displacements (None if there is one count), types (one, or one per block)."""

  def __init__(self, address, counts, displs, types, keep):
    self.address, self.counts, self.displs, self.types, self.keep = address, counts, displs, types, keep
    self.in_place = False


_types = {}  # of element codes: (datatype, extent)


def _type_of_code(MPI, code):
  """(datatype, extent)"""
  known = _types.get(code)
  if known is None:
    kind = _look_up_type(MPI, code)
    known = _types[code] = kind, kind.Get_extent()[1]
  return known


def _look_up_type(MPI, code):
  plain = code.lstrip("@=<|")
  if code.startswith((">", "!")):
    raise TypeError(f"quadrille: data of the type '{code}' are in the wrong byte order")
  plain = {"b1": "?"}.get(plain, plain)
  try:
    if hasattr(MPI.Datatype, "fromcode"):
      return MPI.Datatype.fromcode(plain)
    return MPI._typedict[plain]  # pylint: disable=protected-access
  except (KeyError, ValueError) as error:
    raise TypeError(f"quadrille: there is no MPI datatype for data of the type '{code}'; give one: "
                    "[data, type]") from error


def _as_type(MPI, given):
  return given if isinstance(given, MPI.Datatype) else _type_of_code(MPI, given)[0]


def _is_type(MPI, given):
  return isinstance(given, (MPI.Datatype, str))


def _code_of(data):
  code = getattr(getattr(data, "dtype", None), "str", None)
  if isinstance(code, str):
    return code
  for name in ("__cuda_array_interface__", "__array_interface__"):
    interface = getattr(data, name, None)
    if isinstance(interface, dict):
      return interface["typestr"]
  try:
    return memoryview(data).format or "B"
  except TypeError:
    code = _dlpack.code_of(data)
    if code is None:
      raise TypeError("quadrille: the type of the data is not known; give it: [data, type]") from None
    return code


def _data(MPI, data, readonly):
  """(address, size in bytes or None if unknown, objects to keep alive)"""
  if data is None:
    return 0, 0, None
  if isinstance(data, type(MPI.BOTTOM)) and data == MPI.BOTTOM:
    return int(data), None, None
  kind = getattr(MPI, "buffer", None) or MPI.memory
  try:
    view = kind.frombuffer(data, readonly=readonly)
  except (BufferError, TypeError, ValueError) as error:
    raise type(error)(f"quadrille: {'send' if readonly else 'receive'} buffer of type {type(data).__name__}: "
                      f"{error}") from error
  return view.address, view.nbytes, (data, view)


def _numbers(given, blocks, what):
  """A list with one number per block."""
  numbers = [int(given)] * blocks if not hasattr(given, "__len__") else [int(number) for number in given]
  if len(numbers) != blocks:
    raise ValueError(f"quadrille: {len(numbers)} {what} are given for {blocks} blocks")
  return numbers


def _check(numbers, what, least):
  for number in numbers:
    if number > COUNT_MAX:
      raise OverflowError(f"quadrille: {what} of {number} is more than an MPI_Count holds")
    if number < least:
      raise ValueError(f"quadrille: {what} of {number} is negative")


def _fits(nbytes, counts, starts, types):
  """Raises ValueError if a block ends behind the buffer. MPI.BOTTOM has no known size."""
  if nbytes is None:
    return
  for count, start, kind in zip(counts, starts, types):
    if count == 0:
      continue
    _, extent = kind.Get_extent()
    low, span = kind.Get_true_extent()
    end = start + (count - 1) * max(extent, 0) + low + span
    if end > nbytes:
      raise ValueError(f"quadrille: the buffer has {nbytes} bytes, but a block ends at byte {end}")


def _unpack(MPI, given, wide):
  """(data, counts, displacements, type or types); all but the first may be None"""
  if not isinstance(given, (list, tuple)):
    return given, None, None, None
  parts = list(given)
  if not 1 <= len(parts) <= 4:
    raise ValueError(f"quadrille: a message is [data, counts, displacements, type]; {len(parts)} entries were given")
  data, counts, displs, types = parts[0], None, None, None
  if len(parts) == 4:
    counts, displs, types = parts[1:]
  elif len(parts) == 3:
    counts, types = parts[1:]
  elif len(parts) == 2:
    is_types = wide or _is_type(MPI, parts[1])
    counts, types = (None, parts[1]) if is_types else (parts[1], None)
  if isinstance(counts, tuple) and displs is None:
    if len(counts) != 2:
      raise ValueError("quadrille: a tuple in a message is (counts, displacements); give counts as a list")
    counts, displs = counts
  return data, counts, displs, types


def _in_place(MPI, given):
  return isinstance(given, type(MPI.IN_PLACE)) and given is MPI.IN_PLACE


def _placed(MPI):
  message = Message(int(MPI.IN_PLACE), None, None, None, None)
  message.in_place = True
  return message


def _of_one_type(MPI, given, readonly):
  """(buffer, counts, displacements, datatype, extent); a buffer is (data, address, bytes, objects to keep alive)"""
  data, counts, displs, kind = _unpack(MPI, given, False)
  buffer = (data, *_data(MPI, data, readonly))
  if kind is None and data is not None:
    return buffer, counts, displs, *_type_of_code(MPI, _code_of(data))
  kind = MPI.BYTE if kind is None else _as_type(MPI, kind)
  return buffer, counts, displs, kind, kind.Get_extent()[1]


def simple(MPI, given, blocks, readonly):
  """A side with contiguous blocks of one size."""
  if _in_place(MPI, given):
    return _placed(MPI)
  (data, address, nbytes, keep), count, displ, kind, extent = _of_one_type(MPI, given, readonly)
  whole = blocks * extent
  if given is data and nbytes and whole > 0 and nbytes % whole == 0:  # an array of whole blocks
    return Message(address, nbytes // whole, None, kind, keep)
  offset = int(displ or 0) * extent
  if count is None:
    if nbytes is None:
      raise ValueError("quadrille: a message at MPI.BOTTOM needs a count")
    items, rest = divmod(max(nbytes - offset, 0), extent) if extent > 0 else (0, 0)
    if rest:
      raise ValueError(f"quadrille: a buffer of {nbytes} bytes is not a whole number of elements of {extent} bytes")
    count, rest = divmod(items, blocks) if blocks else (0, 0)
    if rest:
      raise ValueError(f"quadrille: {items} elements cannot be divided into {blocks} blocks")
  count = int(count)
  _check([count], "a count", 0)
  _fits(nbytes, [count * blocks], [offset], [kind])
  return Message(address + offset, count, None, kind, keep)


def vector(MPI, given, blocks, readonly):
  """A side with blocks of different sizes."""
  if _in_place(MPI, given):
    return _placed(MPI)
  (data, address, nbytes, keep), counts, displs, kind, extent = _of_one_type(MPI, given, readonly)
  if counts is None:
    counts = simple(MPI, [data, kind], blocks, readonly).counts
  counts = _numbers(counts, blocks, "counts")
  if displs is None:
    displs, end = [], 0
    for count in counts:
      displs.append(end)
      end += count
  displs = _numbers(displs, blocks, "displacements")
  _check(counts, "a count", 0)
  _check(displs, "a displacement", -COUNT_MAX)
  _fits(nbytes, counts, [displ * extent for displ in displs], [kind] * blocks)
  return Message(address, counts, displs, kind, keep)


def wide(MPI, given, blocks, readonly):
  """A side with a datatype for each block."""
  if _in_place(MPI, given):
    return _placed(MPI)
  data, counts, displs, types = _unpack(MPI, given, True)
  if types is None:
    raise ValueError("quadrille: the w calls need datatypes: [data, counts, displacements, types]")
  types = [types] * blocks if _is_type(MPI, types) else list(types)
  if len(types) != blocks:
    raise ValueError(f"quadrille: {len(types)} datatypes are given for {blocks} blocks")
  types = [_as_type(MPI, kind) for kind in types]
  address, nbytes, keep = _data(MPI, data, readonly)
  counts = _numbers(1 if counts is None else counts, blocks, "counts")
  displs = _numbers(0 if displs is None else displs, blocks, "displacements")
  _check(counts, "a count", 0)
  _check(displs, "a displacement", -COUNT_MAX)
  _fits(nbytes, counts, displs, types)
  return Message(address, counts, displs, types, keep)


def an_int(number):
  if not -INT_MAX <= number <= INT_MAX:
    raise OverflowError(f"quadrille: {number} is more than an int holds, and the call takes no more; use a larger datatype")
  return ctypes.c_int(number)


def ints(numbers):
  return (ctypes.c_int * max(len(numbers), 1))(*[an_int(number) for number in numbers])


def count(number):
  """MPI_Count."""
  return ctypes.c_longlong(number)


def counts(numbers):
  return (ctypes.c_longlong * max(len(numbers), 1))(*numbers)


def addresses(numbers):
  """MPI_Aint."""
  return (ctypes.c_ssize_t * max(len(numbers), 1))(*numbers)
