"""The part of CUDA's driver that the probe needs, through ctypes. It uses neither a toolkit nor Quadrille, so that its results
are independent of Quadrille."""

import ctypes
import time

HANDLE_BYTES = 64  # of a CUipcMemHandle
SHARED_BY_ALL = 1  # CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE
OPEN_LAZILY = 1    # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS


class Refused(Exception):
  """The driver refused a call."""


class IpcHandle(ctypes.Structure):
  _fields_ = [('bytes', ctypes.c_ubyte * HANDLE_BYTES)]


class Driver:
  """One device, in its primary context. All calls belong to the thread that created the object."""

  def __init__(self, device=0):
    try:
      self.library = ctypes.CDLL('libcuda.so.1')
    except OSError as error:
      raise Refused(f'there is no driver of CUDA: {error}') from None
    self.call('cuInit', 0)
    count = ctypes.c_int()
    self.call('cuDeviceGetCount', ctypes.byref(count))
    self.devices = count.value
    if self.devices == 0:
      raise Refused('the driver knows no device')
    self.device = ctypes.c_int()
    self.call('cuDeviceGet', ctypes.byref(self.device), device % self.devices)
    context = ctypes.c_void_p()
    self.call('cuDevicePrimaryCtxRetain', ctypes.byref(context), self.device)
    self.call('cuCtxSetCurrent', context)

  def has(self, name):
    return hasattr(self.library, name)

  def call(self, name, *arguments):
    if not self.has(name):
      raise Refused(f'the driver has no {name}')
    error = getattr(self.library, name)(*arguments)
    if error != 0:
      text = ctypes.c_char_p()
      self.library.cuGetErrorName(error, ctypes.byref(text))
      raise Refused(f'{name}: {(text.value or b"?").decode()} ({error})')

  # ---- Properties ----

  def name(self):
    text = ctypes.create_string_buffer(256)
    self.call('cuDeviceGetName', text, 256, self.device)
    return text.value.decode()

  def version(self):
    number = ctypes.c_int()
    self.call('cuDriverGetVersion', ctypes.byref(number))
    return f'{number.value // 1000}.{number.value % 1000 // 10}'

  def memory(self):
    """(free bytes, total bytes) of the device."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    self.call('cuMemGetInfo_v2', ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value

  # ---- Memory ----

  def allocate(self, size):
    address = ctypes.c_uint64()
    self.call('cuMemAlloc_v2', ctypes.byref(address), ctypes.c_size_t(size))
    return address.value

  def free(self, address):
    self.call('cuMemFree_v2', ctypes.c_uint64(address))

  def pin(self, size):
    """Pinned host memory, which the device's engines access."""
    address = ctypes.c_void_p()
    self.call('cuMemHostAlloc', ctypes.byref(address), ctypes.c_size_t(size), SHARED_BY_ALL)
    ctypes.memset(address.value, 1, size)
    return address.value

  def unpin(self, address):
    self.call('cuMemFreeHost', ctypes.c_void_p(address))

  def register(self, address, size):
    self.call('cuMemHostRegister_v2', ctypes.c_void_p(address), ctypes.c_size_t(size), SHARED_BY_ALL)

  def unregister(self, address):
    self.call('cuMemHostUnregister', ctypes.c_void_p(address))

  def export(self, address):
    handle = IpcHandle()
    self.call('cuIpcGetMemHandle', ctypes.byref(handle), ctypes.c_uint64(address))
    return bytes(handle.bytes)

  def open(self, handle):
    address = ctypes.c_uint64()
    self.call('cuIpcOpenMemHandle_v2', ctypes.byref(address), IpcHandle((ctypes.c_ubyte * HANDLE_BYTES)(*handle)),
              OPEN_LAZILY)
    return address.value

  def close(self, address):
    self.call('cuIpcCloseMemHandle', ctypes.c_uint64(address))

  def put(self, address, data):
    self.call('cuMemcpyHtoD_v2', ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

  def get(self, address, size):
    data = ctypes.create_string_buffer(size)
    self.call('cuMemcpyDtoH_v2', data, ctypes.c_uint64(address), ctypes.c_size_t(size))
    return data.raw

  # ---- Streams ----

  def stream(self):
    stream = ctypes.c_void_p()
    self.call('cuStreamCreate', ctypes.byref(stream), 1)  # does not wait for the NULL stream
    return stream

  def wait(self, stream):
    self.call('cuStreamSynchronize', stream)

  def copy(self, to, of, size, stream):
    """A copy between any two kinds of memory."""
    self.call('cuMemcpyAsync', ctypes.c_uint64(to), ctypes.c_uint64(of), ctypes.c_size_t(size), stream)

  def graph(self, copies):
    """A graph of independent copies (to, from, size) inside the device."""
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    self.call('cuGraphCreate', ctypes.byref(graph), 0)
    context = ctypes.c_void_p()
    self.call('cuCtxGetCurrent', ctypes.byref(context))
    for to, of, size in copies:
      node = ctypes.c_void_p()
      self.call('cuGraphAddMemcpyNode', ctypes.byref(node), graph, None, ctypes.c_size_t(0),
                ctypes.byref(device_copy(to, of, size)), context)
    self.call('cuGraphInstantiateWithFlags', ctypes.byref(executable), graph, ctypes.c_uint64(0))
    self.call('cuGraphDestroy', graph)
    return executable

  def launch(self, executable, stream):
    self.call('cuGraphLaunch', executable, stream)

  def seconds(self, work, streams, batches=7, least=5e-3):
    """The median time of `work`, which enqueues operations into the streams; a batch takes at least `least` seconds."""
    def batch(times):
      begin = time.perf_counter()
      for _ in range(times):
        work()
      for stream in streams:
        self.wait(stream)
      return time.perf_counter() - begin
    batch(1)
    times = max(1, min(1000, round(least / max(batch(1), 1e-7))))
    return sorted(batch(times) / times for _ in range(batches))[batches // 2]


class Copy3D(ctypes.Structure):
  """CUDA_MEMCPY3D."""
  _fields_ = [(f'{side}_{name}', kind) for side in ('from', 'to') for name, kind in (
      ('x', ctypes.c_size_t), ('y', ctypes.c_size_t), ('z', ctypes.c_size_t), ('level', ctypes.c_size_t),
      ('type', ctypes.c_uint), ('host', ctypes.c_void_p), ('device', ctypes.c_uint64), ('array', ctypes.c_void_p),
      ('unused', ctypes.c_void_p), ('pitch', ctypes.c_size_t), ('height', ctypes.c_size_t))] + [
          ('width', ctypes.c_size_t), ('rows', ctypes.c_size_t), ('depth', ctypes.c_size_t)]


def device_copy(to, of, size):
  copy = Copy3D()
  copy.from_type = copy.to_type = 2  # CU_MEMORYTYPE_DEVICE
  copy.from_device, copy.to_device = of, to
  copy.from_pitch = copy.to_pitch = copy.width = size
  copy.from_height = copy.to_height = copy.rows = copy.depth = 1
  return copy
