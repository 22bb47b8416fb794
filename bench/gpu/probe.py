"""What a machine with GPUs supports and refuses, checked before measurements: `gpu_report --probe`.

Each check runs in its own process, for half a minute at most, so that a hang or crash does not affect the others.
Memory is allocated without pools, and is not managed memory.
"""

import ctypes
import json
import mmap
import multiprocessing
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import driver as cuda

SECONDS_A_CHECK = 30
MIB = 1 << 20


def first_line(command):
  """The output of a program; empty if it is not installed."""
  if shutil.which(command[0]) is None:
    return ''
  try:
    answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
  except subprocess.TimeoutExpired:
    return 'does not answer'
  lines = [line.strip() for line in (answer.stdout + answer.stderr).splitlines() if line.strip()]
  return next((line for line in lines if 'version' in line.lower() or 'release' in line.lower()), lines[0] if lines else '')


# ---- The checks: each returns its results ----


def check_machine(_):
  memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
  locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
  return {'kernel': platform.release(), 'machine': platform.machine(), 'libc': ' '.join(platform.libc_ver()),
          'processors': len(os.sched_getaffinity(0)), 'memory_mib': memory // MIB,
          'locked_mib': 'unlimited' if locked == resource.RLIM_INFINITY else locked // MIB}


def check_shm(_):
  """The size of /dev/shm, and whether it can be allocated: a container may report more than it provides."""
  state = os.statvfs('/dev/shm')
  free = state.f_bavail * state.f_frsize
  with tempfile.TemporaryFile(dir='/dev/shm') as file:
    os.posix_fallocate(file.fileno(), 0, min(free, 64 * MIB))
  return {'size_mib': state.f_blocks * state.f_frsize // MIB, 'free_mib': free // MIB}


def check_device(_):
  gpu = cuda.Driver()
  free, total = gpu.memory()
  return {'name': gpu.name(), 'devices': gpu.devices, 'driver': gpu.version(), 'memory_mib': total // MIB,
          'free_mib': free // MIB, 'batched_copies': gpu.has('cuMemcpyBatchAsync'), 'graphs': gpu.has('cuGraphLaunch')}


def check_links(_):
  """The topology, as printed by nvidia-smi."""
  if shutil.which('nvidia-smi') is None:
    raise cuda.Refused('there is no nvidia-smi')
  answer = subprocess.run(['nvidia-smi', 'topo', '-m'], capture_output=True, text=True, timeout=20, check=False)
  query = 'pcie.link.gen.max,pcie.link.width.max,clocks.max.memory,clocks.max.sm'
  bus = subprocess.run(['nvidia-smi', f'--query-gpu={query}', '--format=csv'], capture_output=True, text=True, timeout=20,
                       check=False)
  return {'topology': answer.stdout.strip(), 'bus': bus.stdout.strip()}


def check_bus(size):
  """GB/s of copies inside the device, to the device, to the host, and both ways at once; also with pageable memory."""
  gpu = cuda.Driver()
  first, second = gpu.stream(), gpu.stream()
  device, other = gpu.allocate(size), gpu.allocate(size)
  host, host_too = gpu.pin(size), gpu.pin(size)
  pageable = ctypes.create_string_buffer(b'\1' * size, size)
  def rate(work, factor=1):
    return round(factor * size / gpu.seconds(work, [first, second]) * 1e-9, 2)
  def both():
    gpu.copy(device, host, size, first)
    gpu.copy(host_too, other, size, second)
  return {'bytes': size,
          'device_copy': rate(lambda: gpu.copy(other, device, size, first)),
          'to_device': rate(lambda: gpu.copy(device, host, size, first)),
          'to_host': rate(lambda: gpu.copy(host_too, other, size, first)),
          'both_ways': rate(both, 2),
          'pageable_to_host': rate(lambda: gpu.copy(ctypes.addressof(pageable), other, size, first))}


def check_blocks(size):
  """GB/s of the bare copies of an exchange of N ranks on one device, N*N blocks in one process: the bound of `ipc-pull`.
  Each byte counts once."""
  gpu = cuda.Driver()
  stream = gpu.stream()
  send, receive = gpu.allocate(size), gpu.allocate(size)
  rates = {}
  for ranks in (2, 4, 8):
    block = size // (ranks * ranks)
    copies = [(receive + (to * ranks + of) * block, send + (of * ranks + to) * block, block)
              for to in range(ranks) for of in range(ranks)]
    graph = gpu.graph(copies)
    rates[f'{ranks} ranks'] = round(block * ranks * ranks / gpu.seconds(lambda g=graph: gpu.launch(g, stream), [stream]) * 1e-9, 2)
  return {'bytes': size, **rates}


def check_registration(size):
  """Two processes register one segment: whether data that one copies there from its device reach the other's device."""
  with tempfile.NamedTemporaryFile(dir='/dev/shm') as file:
    file.truncate(size)
    return two_processes(put_into_segment, take_from_segment, file.name, size)


def check_ipc(size):
  """One process opens the memory of another: whether it reads the right bytes, and how fast."""
  return two_processes(export_memory, open_memory, size)


def check_values(_):
  """Whether a stream can wait for a word in host memory, and write one."""
  gpu = cuda.Driver()
  stream, word = gpu.stream(), gpu.pin(4096)
  address = ctypes.c_uint64()
  gpu.call('cuMemHostGetDevicePointer_v2', ctypes.byref(address), ctypes.c_void_p(word), 0)
  there = ctypes.c_uint32.from_address(word)
  there.value = 0
  gpu.call('cuStreamWriteValue32_v2', stream, address, ctypes.c_uint32(7), 0)
  gpu.wait(stream)
  if there.value != 7:
    raise cuda.Refused(f'the stream wrote {there.value}, not 7')
  gpu.call('cuStreamWaitValue32_v2', stream, address, ctypes.c_uint32(9), 0)  # at least 9
  there.value = 9
  gpu.wait(stream)
  return {'writes': True, 'waits': True}


def check_tools(_):
  """Compilers and profilers."""
  found = {name: first_line([name, '--version']) for name in ('nsys', 'ncu', 'compute-sanitizer', 'nvcc', 'gdb', 'perf')}
  return {name: said for name, said in found.items() if said} or {'none': True}


# ---- Checks with two processes ----

PATTERN = bytes(range(251))


def pattern(size, shift):
  whole = PATTERN[shift:] + PATTERN[:shift]
  return (whole * (size // len(whole) + 1))[:size]


def two_processes(first, second, *arguments):
  """Runs `first` in another process and `second` in this one, each with its end of a pipe. Returns the result of `second`.
  A failure of the other process is raised here."""
  context = multiprocessing.get_context('spawn')
  here, there = context.Pipe()
  other = context.Process(target=say_failure, args=(first, there, *arguments), daemon=True)
  other.start()
  there.close()
  try:
    return second(here, *arguments)
  except EOFError:
    raise cuda.Refused('the other process has ended early') from None
  finally:
    here.close()
    other.join(5)
    if other.is_alive():
      other.kill()


def say_failure(work, pipe, *arguments):
  try:
    work(pipe, *arguments)
  except Exception as error:  # any error is reported by the other process  # pylint: disable=broad-except
    pipe.send(f'failed: {error}')


def answer_of(pipe):
  said = pipe.recv()
  if isinstance(said, str) and said.startswith('failed: '):
    raise cuda.Refused(f'the other process: {said[len("failed: "):]}')
  return said


def map_segment(path, size):
  with open(path, 'r+b') as file:
    segment = mmap.mmap(file.fileno(), size)
  return segment, ctypes.addressof(ctypes.c_char.from_buffer(segment))


def put_into_segment(pipe, path, size):
  gpu = cuda.Driver()
  segment, address = map_segment(path, size)
  gpu.register(address, size)
  stream, device = gpu.stream(), gpu.allocate(size)
  gpu.put(device, pattern(size, 3))
  gpu.copy(address, device, size, stream)
  gpu.wait(stream)
  pipe.send('put')
  # While the other process reads one half, this one writes the other half.
  while answer_of(pipe) == 'again':
    pipe.send(size / 2 / gpu.seconds(lambda: gpu.copy(address, device, size // 2, stream), [stream]) * 1e-9)
  gpu.unregister(address)
  del segment


def take_from_segment(pipe, path, size):
  gpu = cuda.Driver()
  segment, address = map_segment(path, size)
  gpu.register(address, size)
  stream, device = gpu.stream(), gpu.allocate(size)
  if answer_of(pipe) != 'put':
    raise cuda.Refused('the other process said something else')
  gpu.copy(device, address, size, stream)
  gpu.wait(stream)
  if gpu.get(device, size) != pattern(size, 3):
    raise cuda.Refused('wrong bytes came through the segment')
  alone = size / gpu.seconds(lambda: gpu.copy(device, address, size, stream), [stream]) * 1e-9
  pipe.send('again')
  half = size // 2
  at_once = half / gpu.seconds(lambda: gpu.copy(device, address + half, half, stream), [stream]) * 1e-9
  of_other = answer_of(pipe)
  pipe.send('enough')
  gpu.unregister(address)
  del segment
  return {'bytes': size, 'right': True, 'to_device': round(alone, 2), 'to_device_at_once': round(at_once, 2),
          'to_host_at_once': round(of_other, 2)}


def export_memory(pipe, size):
  gpu = cuda.Driver()
  device = gpu.allocate(size)
  gpu.put(device, pattern(size, 5))
  pipe.send(gpu.export(device))
  answer_of(pipe)


def open_memory(pipe, size):
  gpu = cuda.Driver()
  stream, device = gpu.stream(), gpu.allocate(size)
  handle = answer_of(pipe)
  begin = time.perf_counter()
  peers = gpu.open(handle)
  opened = time.perf_counter() - begin
  gpu.copy(device, peers, size, stream)
  gpu.wait(stream)
  if gpu.get(device, size) != pattern(size, 5):
    raise cuda.Refused('wrong bytes came from the other process')
  rate = size / gpu.seconds(lambda: gpu.copy(device, peers, size, stream), [stream]) * 1e-9
  gpu.close(peers)
  pipe.send('done')
  return {'bytes': size, 'right': True, 'open_us': round(opened * 1e6, 1), 'copy': round(rate, 2)}


CHECKS = {
    'machine': (check_machine, 'system and limits'),
    'shm': (check_shm, 'memory that processes share'),
    'device': (check_device, 'GPU and driver'),
    'links': (check_links, 'bus and links, as nvidia-smi says'),
    'bus': (check_bus, 'rates of the bus and of copies in the GPU'),
    'blocks': (check_blocks, 'bare copies of an exchange in one process'),
    'registration': (check_registration, 'a shared segment that two processes register'),
    'ipc': (check_ipc, 'memory of a process that another one opens'),
    'values': (check_values, 'streams that wait for words of the host'),
    'tools': (check_tools, 'profilers and compilers'),
}


def sizes(quick):
  """Bytes that each check moves."""
  large = MIB if quick else 256 * MIB
  return {'bus': min(large, 64 * MIB), 'blocks': large, 'registration': min(large, 64 * MIB), 'ipc': large}


def run_one(name, size):
  """Runs in its own process: prints the results as JSON."""
  threading.Timer(SECONDS_A_CHECK + 5, lambda: os._exit(3)).start()  # the report no longer waits for this process
  try:
    found = CHECKS[name][0](size)
  except (cuda.Refused, OSError, EOFError) as error:
    found = {'refused': str(error)}
  print(json.dumps(found), flush=True)
  os._exit(0)


def ask(name, size):
  command = [sys.executable, os.path.abspath(sys.argv[0]), '--check', name, '--bytes', str(size)]
  try:
    answer = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_A_CHECK, check=False)
  except subprocess.TimeoutExpired:
    return {'refused': f'no answer in {SECONDS_A_CHECK} seconds'}
  try:
    return json.loads(answer.stdout.splitlines()[-1])
  except (IndexError, json.JSONDecodeError):
    end = (answer.stderr.strip().splitlines() or ['nothing was said'])[-1]
    return {'refused': f'ended with {answer.returncode}: {end}'}


def probe(quick, say, keep):
  """Runs all checks; `say` gets lines of text, `keep` the results of each check."""
  for name, (_, about) in CHECKS.items():
    found = ask(name, sizes(quick).get(name, 0))
    keep(name, found)
    if 'refused' in found:
      say(f'{name}: {about}: refused: {found["refused"]}')
      continue
    say(f'{name}: {about}')
    for key, value in found.items():
      lines = str(value).splitlines() or ['']
      say(f'    {key}: {lines[0]}')
      for line in lines[1:]:
        say(f'        {line}')
