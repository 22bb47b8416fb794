#!/usr/bin/env python3
"""Kills and stops ranks at random moments, and plays another user who wants what they share.

  faults.py --preload libquadrille_mpi.so --late late_connect.so -- mpirun -n 3 program faults

Each job has processes, sockets, /dev/shm and a folder for what is temporary for itself (Linux namespaces; skipped
where the system does not allow them). After a kill the job must end, and nothing may be left: no process, no socket, no
file, but for what the MPI itself leaves behind. A rank that is stopped for two seconds delays the job, no more. Another
user may connect to the sockets over which ranks pass memory to each other, also before they do, and gets nothing; nor
is there a file that he can read. QUADRILLE_TEST_KILLS=n kills n times; QUADRILLE_TEST_SEED repeats a draw.
"""

import argparse
import array
import fcntl
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
NOBODY = 65534
OUTPUT = 'output'  # of a job
# What MPIs themselves leave in these folders when a rank is killed.
OF_THE_MPI = re.compile(r'vader_segment|ompi\.|openmpi-sessions|prte|pmix|mpich|MPICH|hydra|psm|ucx|Intel_MPI|shm_|sem\.')
UNNAMED = re.compile(r'@[0-9a-f]{5}')  # how the kernel names a socket that nobody gave a name to


def run_in_namespaces():
  """Runs this script again, as the first process of namespaces of its own. Its exit status."""
  own = ['unshare', '--mount', '--pid', '--net', '--ipc', '--fork', '--mount-proc', '--kill-child']
  allowed = subprocess.run([*own, 'true'], stderr=subprocess.DEVNULL, check=False).returncode == 0
  if not allowed:
    print('this user may not make namespaces: skipped')
    sys.exit(SKIPPED)
  folder = tempfile.mkdtemp(prefix='faults-')
  try:
    return subprocess.call([*own, sys.executable, *sys.argv[:1], '--inside', folder, *sys.argv[1:]])
  finally:
    os.rmdir(folder)  # what was in it went with the namespaces


def furnish(places):
  """Each place becomes empty memory, in these namespaces alone. Only there may all be removed."""
  for place in places:
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=1777', 'none', place], check=True)
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # ifconfig lo up
    siocsifflags, up_and_running = 0x8914, 0x41
    fcntl.ioctl(any_socket, siocsifflags, struct.pack('16sh14x', b'lo', up_and_running))


def processes():
  return {int(p) for p in os.listdir('/proc') if p.isdigit()} - {os.getpid()}


def ranks_of(program):
  found = []
  for process in processes():
    try:
      with open(f'/proc/{process}/exe', 'rb') as exe, open(program, 'rb') as wanted:
        if os.path.samestat(os.fstat(exe.fileno()), os.fstat(wanted.fileno())):
          found.append(process)
    except OSError:
      pass
  return sorted(found)


def sockets():
  with open('/proc/net/unix', encoding='ascii') as file:
    return [line.split()[7] for line in file.readlines()[1:] if len(line.split()) > 7]


def reap():
  """The first process of a namespace inherits the orphans."""
  try:
    while os.waitpid(-1, os.WNOHANG)[0] != 0:
      pass
  except ChildProcessError:
    pass


def places_of(arguments):
  """Where files may lie."""
  return ['/dev/shm', arguments.inside]


class Job:
  """A run of the program."""

  def __init__(self, arguments, *words, preload=None):
    self.places = places_of(arguments)
    self.output_path = os.path.join(arguments.inside, OUTPUT)
    self.output = open(self.output_path, 'w+', errors='replace', encoding='utf-8')
    *launch, self.program, check = arguments.command
    self.launcher = subprocess.Popen(
        [*launch, 'env', f'LD_PRELOAD={preload or arguments.preload}', self.program, check, *words],
        stdout=self.output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        env=dict(os.environ, TMPDIR=arguments.inside))

  def ranks(self, least, seconds=60):
    """The processes of the ranks, when there are so many, or the job is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and self.launcher.poll() is None:
      found = ranks_of(self.program)
      if len(found) >= least:
        return found
      time.sleep(0.002)
    return []

  def end(self, seconds=60):
    """Its exit status; None if it does not end."""
    try:
      return self.launcher.wait(seconds)
    except subprocess.TimeoutExpired:
      return None

  def said(self):
    self.output.seek(0)
    return self.output.read()

  def left(self):
    """What is left of it, after ten seconds at most."""
    self.output.close()
    os.unlink(self.output_path)
    for _ in range(100):
      reap()
      if not processes():
        break
      time.sleep(0.1)
    left = [f'process {p}' for p in processes()]
    left += [f'socket {s}' for s in sockets()]
    for place in self.places:
      left += [f'{place}/{name}' for name in os.listdir(place) if not OF_THE_MPI.search(name)]
    return left

  def clear(self):
    for process in processes():
      os.kill(process, signal.SIGKILL)
    for place in self.places:
      for name in os.listdir(place):
        path = os.path.join(place, name)
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)


def check_end(job, status, wanted, problems, what):
  said = job.said()
  if status is None:
    problems.append(f'{what}: the job does not end\n{said}')
  elif wanted and (status != 0 or 'all right' not in said):
    problems.append(f'{what}: status {status}\n{said}')
  elif not wanted and status == 0:
    problems.append(f'{what}: status 0, although a rank was killed\n{said}')
  if status is None:
    job.clear()
    job.launcher.wait()
    job.output.close()
  elif left := job.left():
    problems.append(f'{what}: left behind: {", ".join(left)}')
  job.clear()


def send(draw, processes_of_ranks, signal_number):
  """To one of them. None if all are gone."""
  for process in draw.sample(processes_of_ranks, len(processes_of_ranks)):
    try:
      os.kill(process, signal_number)
      return process
    except ProcessLookupError:
      pass
  return None


def kill_one(arguments, draw, problems, number):
  job = Job(arguments, '0')
  # Some moments lie before MPI_Init, most in it or in the collectives.
  job.ranks(draw.randint(1, arguments.ranks))
  after = draw.uniform(0, 0.8)
  time.sleep(after)
  if send(draw, ranks_of(job.program), signal.SIGKILL) is None:
    problems.append(f'kill {number}: there was nobody to kill\n{job.said()}')
  check_end(job, job.end(), False, problems, f'kill {number}, after {after:.3f} s')


def stop_one(arguments, draw, problems):
  job = Job(arguments, '400')
  job.ranks(arguments.ranks)
  time.sleep(draw.uniform(0, 0.3))
  victim = send(draw, ranks_of(job.program), signal.SIGSTOP)
  time.sleep(2)
  if victim is None or job.launcher.poll() is not None:
    problems.append(f'the job was over before a rank was stopped\n{job.said()}')
  else:
    os.kill(victim, signal.SIGCONT)
  check_end(job, job.end(120), True, problems, 'stop for two seconds')


def readable_files(places):
  """Those of neither the MPI nor this script that this user can open."""
  for place in places:
    for name in os.listdir(place):
      try:
        if name != OUTPUT and not OF_THE_MPI.search(name):
          os.close(os.open(f'{place}/{name}', os.O_RDONLY))
          yield name
      except OSError:
        pass


def steal(program, places, report):
  """As another user: asks every socket for memory, and looks into files and processes. Ends when it is killed."""
  os.setgroups([])
  os.setresgid(NOBODY, NOBODY, NOBODY)
  os.setresuid(NOBODY, NOBODY, NOBODY)
  while True:
    for name in {s for s in sockets() if UNNAMED.fullmatch(s)}:
      with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as thief:
        thief.settimeout(5)
        try:
          thief.connect('\0' + name[1:])
          os.write(report, b'm')
          thief.sendall(struct.pack('i', 1))
          data, rights, _, _ = thief.recvmsg(4096, socket.CMSG_SPACE(64 * array.array('i').itemsize))
          if data or rights:
            os.write(report, b'S')
        except OSError:
          pass
    os.write(report, b'S' * len(list(readable_files(places))))
    for process in processes():
      try:
        if os.readlink(f'/proc/{process}/exe') == program:
          os.write(report, b'S')
        os.listdir(f'/proc/{process}/map_files')
        os.write(report, b'S')
      except OSError:
        pass


def steal_from(arguments, problems, most=5):
  """Until the thief has met a socket, where the ranks come after him. How often he met one is said."""
  met = stolen = jobs = 0
  while met == 0 and jobs < most and not problems:
    jobs += 1
    here, there = os.pipe()
    thief = os.fork()
    if thief == 0:
      steal(arguments.command[-2], places_of(arguments), there)
    os.close(there)
    job = Job(arguments, '2', preload=f'{arguments.late}:{arguments.preload}')
    status = job.end()
    os.kill(thief, signal.SIGKILL)
    os.waitpid(thief, 0)
    told = b''
    while more := os.read(here, 65536):
      told += more
    os.close(here)
    met, stolen = met + told.count(b'm'), stolen + told.count(b'S')
    check_end(job, status, True, problems, 'another user')
  if met == 0 and not problems:
    problems.append(f'another user met no socket in {jobs} jobs: nothing was tried')
  if stolen:
    problems.append(f'another user got something {stolen} times')
  print(f'another user met {met} sockets in {jobs} jobs, and got something {stolen} times', flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--preload', required=True)
  parser.add_argument('--late', required=True, help='a library that lets ranks connect late')
  parser.add_argument('--ranks', type=int, default=3)
  parser.add_argument('--inside', metavar='FOLDER', help=argparse.SUPPRESS)
  parser.add_argument('command', nargs='+')
  arguments = parser.parse_args()
  if not arguments.inside:
    return run_in_namespaces()
  furnish(places_of(arguments))

  seed = int(os.environ.get('QUADRILLE_TEST_SEED') or random.randrange(1 << 32))
  kills = int(os.environ.get('QUADRILLE_TEST_KILLS') or 3)
  draw = random.Random(seed)
  print(f'{kills} kills, drawn by QUADRILLE_TEST_SEED={seed}', flush=True)
  problems = []
  for number in range(kills):
    kill_one(arguments, draw, problems, number)
  stop_one(arguments, draw, problems)
  steal_from(arguments, problems)
  for problem in problems:
    print(problem)
  print(f'{kills} kills, a stop and a thief: {len(problems)} problems')
  return 1 if problems else 0


if __name__ == '__main__':
  sys.exit(main())
