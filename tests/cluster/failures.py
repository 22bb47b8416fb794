#!/usr/bin/env python3
"""Lets things fail while a program calls collectives on several hosts (hosts.py): the job must end by its launcher's own
means, and nothing of it may be left on any host.

  failures.py --mpi openmpi --mpirun /usr/bin/mpirun --preload libquadrille_mpi.so -- program faults

  a rank is killed    on one of the hosts, at a drawn moment
  a link goes down    of one of the hosts, at a drawn moment; afterwards it is up again

Each time the job has to end within --limit seconds, not well; then within ten more there are the processes, sockets,
files and shared memory that there were on each host before. A whole job after that must be right. In the end no process
of the machine may be in one of the namespaces that were the hosts. What the MPI leaves behind by itself does not count.

--finds plants something of each kind instead, and a job that does not end: all of it must be found.

QUADRILLE_TEST_SEED repeats a draw; QUADRILLE_TEST_KILLS=n fails n times in each way.
"""

import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import hosts

# What MPIs themselves leave when their ranks are killed.
OF_THE_MPI = re.compile(r'vader_segment|ompi\.|openmpi-sessions|prte|pmix|mpich|MPICH|hydra|psm|ucx|shm_|sem\.')
NAMESPACES = ('net', 'uts', 'ipc', 'mnt', 'pid')
SEEN = 'namespaces'  # a file in the folder: those that were made
LISTENS, CONNECTED = '0A', '01'  # states of a TCP connection; others are the kernel's own


def namespace(process, kind):
  try:
    return os.readlink(f'/proc/{process}/ns/{kind}')
  except OSError:
    return None


def processes():
  """All of all hosts, and their names: this one is the first of the namespace in which theirs are. Not those that are dead
  and not reaped: the first process of a host, which sleeps, inherits orphans and does not look after them."""
  found = {}
  for process in os.listdir('/proc'):
    if not process.isdigit() or int(process) == os.getpid():
      continue
    try:
      if not is_zombie(process):
        found[int(process)] = pathlib.Path(f'/proc/{process}/comm').read_text(encoding='utf-8').strip()
    except OSError:
      pass
  return found


def is_zombie(process):
  try:
    return pathlib.Path(f'/proc/{process}/stat').read_text(encoding='utf-8').rsplit(')', 1)[1].split()[0] == 'Z'
  except OSError:
    return False


def lines_of(host, path):
  """Of a file of /proc, as the host sees it."""
  if path.startswith('net/'):  # by the process that holds the namespace
    text = pathlib.Path(f'/proc/{host.pid}/{path}').read_text(encoding='ascii')
  else:
    text = subprocess.run(host.enter() + ['cat', f'/proc/{path}'], stdout=subprocess.PIPE, text=True, check=True).stdout
  return text.splitlines()[1:]


def sockets(host):
  found = [f'socket {line.split()[7]}' for line in lines_of(host, 'net/unix') if len(line.split()) > 7]
  for family in ('net/tcp', 'net/tcp6'):
    for line in lines_of(host, family):
      state = line.split()[3]
      if state in (LISTENS, CONNECTED):
        found.append(f'socket {family[4:]} {line.split()[1]}')
  return found


def memory(host):
  shared = pathlib.Path(f'/proc/{host.pid}/root/dev/shm')
  found = [f'/dev/shm/{name}' for name in os.listdir(shared) if not OF_THE_MPI.search(name)]
  return found + [f'shared memory {line.split()[1]}' for line in lines_of(host, 'sysvipc/shm')]


class Cluster:
  def __init__(self, arguments, folder):
    self.arguments, self.folder = arguments, folder
    self.switch, self.hosts = hosts.make_hosts(arguments.hosts)
    self.shell = hosts.write_remote_shell(folder, self.hosts)
    self.output = folder / 'output'
    self.output.touch()
    for host in self.hosts:  # what is sent and not answered is given up after some seconds, not after a quarter of an hour
      subprocess.run(host.enter() + ['sysctl', '-q', '-w', 'net.ipv4.tcp_retries2=5'], check=False)
    made = {namespace(host.pid, kind) for host in [self.switch, *self.hosts] for kind in NAMESPACES}
    made -= {namespace('self', kind) for kind in NAMESPACES}
    (folder / SEEN).write_text(json.dumps(sorted(made)))
    self.before = self.there()

  def there(self):
    """What there is now, on each host and of all."""
    found = {f'host{n}': sorted(sockets(host) + memory(host)) for n, host in enumerate(self.hosts, start=1)}
    found['files'] = sorted(p.name for p in self.folder.iterdir() if not OF_THE_MPI.search(p.name))
    found['processes'] = processes()
    return found

  def left(self, seconds=10):
    """What is there and was not before, after so many seconds at most."""
    end = time.monotonic() + seconds
    while True:
      now = self.there()
      more = [f'{place}: {thing}' for place, things in now.items() if place != 'processes'
              for thing in things if thing not in self.before[place]]
      more += [f'process {number} ({name}) in {namespace(number, "uts")}' for number, name in now['processes'].items()
               if number not in self.before['processes']]
      if not more or time.monotonic() > end:
        return more
      time.sleep(0.2)

  def ranks_on(self, host, program):
    return [p for p in processes() if namespace(p, 'uts') == namespace(host.pid, 'uts')
            and is_program(p, program)]

  def set_link(self, host, state):
    hosts.call(*host.enter(), 'ip', 'link', 'set', hosts.INTERFACE, state)


def is_program(process, program):
  try:
    return os.path.samefile(f'/proc/{process}/exe', program)
  except OSError:
    return False


class Job:
  """A run of the program on all hosts."""

  def __init__(self, cluster, *words):
    self.cluster = cluster
    arguments = cluster.arguments
    self.program, *check = arguments.command
    settings = ['env', 'QUADRILLE_TUNING=none', 'QUADRILLE_SETUP_AFTER=0', *arguments.setting]
    if arguments.preload:
      settings.append(f'LD_PRELOAD={arguments.preload}')
    launch = hosts.launcher(arguments, cluster.shell)
    if arguments.mpi == 'openmpi':  # it looks whether its daemons are there
      for name, value in (('time', 2), ('intvl', 1), ('probes', 3)):
        launch += ['--mca', f'oob_tcp_keepalive_{name}', str(value)]
    environment = {k: v for k, v in os.environ.items() if k != hosts.INSIDE}
    environment['TMPDIR'] = str(cluster.folder)
    with open(cluster.output, 'w', encoding='utf-8') as output:
      self.launcher = subprocess.Popen(cluster.hosts[0].enter() + launch + settings + [self.program, *check, *words],
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       env=environment)

  def ranks(self, host, seconds=60):
    """Those on this host, when the ranks are in their calls."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and self.launcher.poll() is None:
      if 'first round' in self.said():
        return self.cluster.ranks_on(host, self.program)
      time.sleep(0.01)
    return []

  def end(self, seconds):
    """Its exit status; None if it does not end."""
    try:
      return self.launcher.wait(seconds)
    except subprocess.TimeoutExpired:
      return None

  def said(self):
    return self.cluster.output.read_text(encoding='utf-8', errors='replace')[-3000:]


def kill(job, host, draw):
  ranks = job.ranks(host)
  time.sleep(draw.uniform(0, 1))
  if not ranks or job.launcher.poll() is not None:
    return 'there was nobody to kill'
  os.kill(draw.choice(ranks), signal.SIGKILL)
  return ''


def unplug(job, host, draw):
  ranks = job.ranks(host)
  time.sleep(draw.uniform(0, 1))
  if not ranks or job.launcher.poll() is not None:
    return 'the job was over before the link was down'
  job.cluster.set_link(host, 'down')
  return ''


WAYS = {'a rank is killed': kill, 'a link goes down': unplug}


def clear(cluster):
  """What a failed test leaves must not disturb the next."""
  for process in processes():
    if process not in cluster.before['processes']:
      try:
        os.kill(process, signal.SIGKILL)
      except ProcessLookupError:
        pass


def fail_once(cluster, way, draw):
  """What is wrong: a list."""
  # The launcher runs on the first host.
  host = draw.choice(cluster.hosts[1:])
  number = cluster.hosts.index(host) + 1
  job = Job(cluster, '0')
  begin = time.monotonic()
  wrong = WAYS[way](job, host, draw)
  failed = time.monotonic()
  status = job.end(cluster.arguments.limit)
  ended = time.monotonic()
  what = f'{way}, host{number}, after {failed - begin:.1f} s'
  problems = []
  if wrong:
    problems.append(f'{what}: {wrong}\n{job.said()}')
  elif status is None:
    problems.append(f'{what}: the job does not end within {cluster.arguments.limit} s\n{job.said()}')
  elif status == 0:
    problems.append(f'{what}: status 0\n{job.said()}')
  if status is not None:
    problems += [f'{what}: left on {thing}' for thing in cluster.left()]
  print(f'{what}: status {status} {ended - failed:.1f} s later', flush=True)
  if problems:
    clear(cluster)
    job.end(10)
  cluster.set_link(host, 'up')
  return problems


def be_whole(cluster):
  job = Job(cluster, '3')
  status = job.end(cluster.arguments.limit)
  problems = []
  if status != 0 or 'all right' not in job.said():
    problems.append(f'a whole job afterwards: status {status}\n{job.said()}')
  problems += [f'a whole job: left on {thing}' for thing in cluster.left()]
  if problems:
    clear(cluster)
  return problems


LISTENER = ('import socket,sys,time\n'
            's=socket.socket(getattr(socket,sys.argv[1]))\n'
            's.bind(("",7777) if sys.argv[1]=="AF_INET" else "\\0quadrille-planted")\n'
            's.listen()\ntime.sleep(1000)')


def plant(cluster, what):
  """Leaves something on the last host."""
  enter = cluster.hosts[-1].enter()
  if what == 'process':
    return subprocess.Popen(enter + ['sleep', '1000'])
  if what in ('AF_INET', 'AF_UNIX'):
    planted = subprocess.Popen(enter + [sys.executable, '-c', LISTENER, what])
    time.sleep(1)
    return planted
  if what == '/dev/shm':
    hosts.call(*enter, 'touch', '/dev/shm/quadrille-planted')
  elif what == 'shared memory':
    hosts.call(*enter, 'ipcmk', '-M', '4096')
  elif what == 'files':
    (cluster.folder / 'quadrille-planted').touch()
  return None


def find_all(cluster):
  """What was planted and not found."""
  problems = []
  kinds = {'process': 'process', 'AF_INET': 'socket tcp', 'AF_UNIX': 'quadrille-planted', '/dev/shm': '/dev/shm/',
           'shared memory': 'shared memory', 'files': 'files: quadrille-planted'}
  for what, said in kinds.items():
    planted = plant(cluster, what)
    left = cluster.left(1)
    if not any(said in thing for thing in left):
      problems.append(f'not found: {what}; {left}')
    if planted:
      clear(cluster)
      planted.wait()
    cluster.before = cluster.there()
  # A job that nothing happens to does not end in time, and says so.
  WAYS['nothing happens'] = lambda job, host, draw: '' if job.ranks(host) else 'no ranks'
  cluster.arguments.limit = 3
  found = fail_once(cluster, 'nothing happens', random.Random(1))
  if not any('does not end' in problem for problem in found):
    problems.append(f'a job that goes on is not found: {found}')
  print(f'planted {len(kinds) + 1}, not found {len(problems)}')
  return problems


def test(arguments, folder):
  cluster = Cluster(arguments, folder)
  seed = int(os.environ.get('QUADRILLE_TEST_SEED') or random.randrange(1 << 32))
  times = int(os.environ.get('QUADRILLE_TEST_KILLS') or arguments.times)
  print(f'{times} times each way, drawn by QUADRILLE_TEST_SEED={seed}', flush=True)
  draw = random.Random(seed)
  problems = []
  if arguments.finds:
    problems = find_all(cluster)
  else:
    for way in arguments.way:
      for _ in range(times):
        problems += fail_once(cluster, way, draw)
    problems += be_whole(cluster)
  for problem in problems:
    print(problem)
  print(f'{len(problems)} problems', flush=True)
  return 1 if problems else 0


def who_is_in(names):
  """Processes of the machine that are in one of these namespaces, or hold one open."""
  found = []
  for process in filter(str.isdigit, os.listdir('/proc')):
    held = {namespace(process, kind) for kind in NAMESPACES}
    try:
      held |= {os.readlink(f'/proc/{process}/fd/{fd}') for fd in os.listdir(f'/proc/{process}/fd')}
    except OSError:
      pass
    if held & set(names):
      found.append(process)
  return found


def look_for_namespaces(folder):
  """After all has ended. What is left, in words."""
  try:
    names = json.loads((folder / SEEN).read_text())
  except OSError:
    return []
  for _ in range(50):
    left = who_is_in(names)
    if not left:
      return []
    time.sleep(0.1)
  return [f'process {process} is in a namespace of a host that is gone' for process in left]


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--hosts', type=int, default=3)
  parser.add_argument('--ranks', type=int, default=6)
  parser.add_argument('--mpi', choices=('openmpi', 'mpich'), default='openmpi')
  parser.add_argument('--mpirun', default='mpirun')
  parser.add_argument('--preload')
  parser.add_argument('--setting', action='append', default=[], metavar='NAME=VALUE', help='for the ranks')
  parser.add_argument('--way', action='append', choices=tuple(WAYS), help='default: both')
  parser.add_argument('--times', type=int, default=1)
  parser.add_argument('--limit', type=float, default=45, help='seconds in which a job must end')
  parser.add_argument('--finds', action='store_true')
  parser.add_argument('command', nargs='+')
  arguments = parser.parse_args()
  arguments.way = arguments.way or list(WAYS)
  arguments.blocked, arguments.under = False, ''
  try:
    if hosts.INSIDE not in os.environ:
      return hosts.enter_own_processes(look_for_namespaces)
    return test(arguments, pathlib.Path(os.environ[hosts.INSIDE]))
  except (hosts.Unable, FileNotFoundError) as reason:
    print(f'failures: {reason}', file=sys.stderr)
    return 1


if __name__ == '__main__':
  sys.exit(main())
