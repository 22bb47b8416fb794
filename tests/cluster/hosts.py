#!/usr/bin/env python3
"""Runs an MPI program over several hosts that this machine plays by itself.

  hosts.py --hosts 2 --ranks 4 --mpi openmpi --mpirun /usr/bin/mpirun -- ./program arguments
  hosts.py --places 0,1,1,1,2,2,2,2 --mpi openmpi --mpirun /usr/bin/mpirun -- ./program arguments

A host is a process with namespaces of its own: network, host name, process numbers, System V and POSIX
shared memory (/dev/shm). So ranks of two hosts cannot reach each other but through the network, as on a
cluster: an abstract socket, a file in /dev/shm or a process number of one host means nothing, or
something else, on the other. Files are shared, as they are by NFS. All hosts hang on one bridge in a
namespace that plays the switch.

Wants root. Exits with 77 where the system does not let it make namespaces. Everything is gone when it
ends: all of it runs in a process namespace, whose first process dies with this program. (What a
killed one leaves is its folder in the place for temporary files.)
"""

import argparse
import ctypes
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
PREFIX = '10.77.0.'
INTERFACE = 'eth0'
# The first host is where the launcher runs, which enters the others: it has the process numbers of this
# program, because from within one namespace of processes its sibling cannot be entered.
FIRST = ['--net', '--uts', '--ipc', '--mount']
OTHERS = FIRST + ['--pid']
INSIDE = 'QUADRILLE_HOSTS_FOLDER'


class Unable(Exception):
  """The system does not let us make hosts."""


def call(*words):
  answer = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
  if answer.returncode != 0:
    raise Unable(f'{" ".join(words)}: {answer.stdout.strip()}')


def first_child(pid):
  children = pathlib.Path(f'/proc/{pid}/task/{pid}/children')
  return children.read_text().split()[0]


class Host:
  """Namespaces, held open by a sleeping process; `pid` is that process, seen from outside."""

  def __init__(self, name, namespaces):
    self.namespaces = namespaces
    own_processes = ['--fork', '--kill-child', '--mount-proc'] if '--pid' in namespaces else []
    self.holder = subprocess.Popen(
        ['unshare', *namespaces, *own_processes, 'sh', '-c',
         f'hostname {name} && mount -t tmpfs tmpfs /dev/shm && ip link set lo up && echo ready'
         ' && exec sleep infinity'],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line = self.holder.stdout.readline().strip()
    if line != 'ready':
      raise Unable(f'unshare: {line}')
    self.pid = int(first_child(self.holder.pid) if own_processes else self.holder.pid)

  def enter(self):
    """The words that run a command on this host, in the folder of the caller."""
    return ['nsenter', '--target', str(self.pid), *self.namespaces, f'--wd={os.getcwd()}', '--']


def plug_in(switch, host, number, delay):
  """A cable from `host` to the bridge of `switch`."""
  port = f'port{number}'
  call('ip', 'link', 'add', INTERFACE, 'netns', str(host.pid), 'type', 'veth', 'peer', 'name', port,
       'netns', str(switch.pid))
  call(*switch.enter(), 'ip', 'link', 'set', port, 'master', 'bridge', 'up')
  call(*host.enter(), 'ip', 'address', 'add', f'{PREFIX}{number}/24', 'dev', INTERFACE)
  call(*host.enter(), 'ip', 'link', 'set', INTERFACE, 'up')
  if delay:
    call(*host.enter(), 'tc', 'qdisc', 'add', 'dev', INTERFACE, 'root', 'netem', 'delay', delay)


def write_remote_shell(folder, hosts):
  """A stand-in for ssh: `remote-shell [options] ADDRESS command...`. As with ssh, the command does not
  get the environment of the caller."""
  cases = '\n'.join(f'  {PREFIX}{number}) pid={host.pid} ;;'
                    for number, host in enumerate(hosts, start=1))
  shell = folder / 'remote-shell'
  shell.write_text(f'''#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case "$1" in
{cases}
  *) echo "remote-shell: unknown host $1" >&2; exit 255 ;;
esac
shift
exec nsenter --target "$pid" {' '.join(OTHERS)} "--wd=$PWD" -- \\
  env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" sh -c "$*"
''')
  shell.chmod(0o755)
  return shell


def address(host):
  return f'{PREFIX}{host + 1}'


def where(arguments, shell):
  """The options by which the launcher puts each rank where it belongs: hosts take turns, each gets a run of ranks
  (--blocked), or as --places says."""
  hosts = range(arguments.hosts)
  places = getattr(arguments, 'places', None)
  if places:
    if arguments.mpi == 'mpich':
      return ['-hosts', ','.join(map(address, hosts)), '-rankmap', ','.join(map(str, places))]
    file = shell.parent / 'ranks-in-turn'
    # Its own host Open MPI knows by name alone here.
    file.write_text(''.join(f'{address(host) if host else "host1"}\n' for host in places))
    return ['--hostfile', str(file), '--map-by', 'seq']
  names = [f'{address(host)}:{-(-arguments.ranks // arguments.hosts)}' for host in hosts]
  if arguments.mpi == 'openmpi':
    return ['--host', ','.join(names), '--map-by', 'slot' if arguments.blocked else 'node']
  return ['-hosts', ','.join(names if arguments.blocked else map(address, hosts))]


def launcher(arguments, shell):
  """The words that start the ranks."""
  # Each host believes that all cores are its own, so ranks that wait must be told to let others run.
  words = [*shlex.split(arguments.under), arguments.mpirun, '-n', str(arguments.ranks)]
  if arguments.mpi == 'openmpi':
    return words + [*where(arguments, shell), '--oversubscribe', '--allow-run-as-root', '--bind-to', 'none',
                    '--mca', 'plm', 'rsh', '--mca', 'plm_rsh_agent', str(shell),
                    '--mca', 'mpi_yield_when_idle', '1',
                    '--mca', 'oob_tcp_if_include', INTERFACE,
                    '--mca', 'btl_tcp_if_include', INTERFACE, '--mca', 'pml', 'ob1']
  return words + [*where(arguments, shell), '-launcher', 'ssh', '-launcher-exec', str(shell),
                  '-iface', INTERFACE, '-genv', 'MPIR_CVAR_CH4_PROGRESS_THROTTLE', '1',
                  '-genv', 'MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT', '100']


def make_hosts(count, delay=None):
  """The switch, and the hosts on it."""
  switch = Host('switch', FIRST)
  call(*switch.enter(), 'ip', 'link', 'add', 'bridge', 'type', 'bridge')
  call(*switch.enter(), 'ip', 'link', 'set', 'bridge', 'up')
  hosts = []
  for number in range(1, count + 1):
    hosts.append(Host(f'host{number}', OTHERS if hosts else FIRST))
    plug_in(switch, hosts[-1], number, delay)
  return switch, hosts


def run(arguments, folder):
  _, hosts = make_hosts(arguments.hosts, arguments.delay)
  shell = write_remote_shell(folder, hosts)
  # Rank 0 says which part of the cases runs (tests/mpi/main.cpp), and may be on any host.
  part = os.environ.get('QUADRILLE_TEST_PART')
  settings = ['env', f'QUADRILLE_TEST_PART={part}'] if part else []
  # As a user who is logged in on the first host starts it.
  command = hosts[0].enter() + launcher(arguments, shell) + settings + arguments.command
  environment = {name: value for name, value in os.environ.items() if name != INSIDE}
  environment['TMPDIR'] = str(folder)
  return subprocess.call(command, stdin=subprocess.DEVNULL, env=environment)


def die_with_parent():
  """The kernel ends the child when we end, however that happens."""
  ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def enter_own_processes(look_afterwards=None):
  """Starts this program again as the first process of a namespace: with it all others end. `look_afterwards` gets the
  folder then, and returns what is wrong."""
  unshare = ['unshare', '--pid', '--mount', '--fork', '--kill-child', '--mount-proc']
  if subprocess.call([*unshare, 'true'], stderr=subprocess.DEVNULL) != 0:
    print('hosts: the system does not let us make namespaces (unshare); root may', file=sys.stderr)
    return SKIPPED
  for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, lambda *_: sys.exit(1))
  with tempfile.TemporaryDirectory(prefix='quadrille-hosts-') as folder:
    child = subprocess.Popen([*unshare, sys.executable, '-S', *sys.argv], preexec_fn=die_with_parent,
                             env=dict(os.environ, **{INSIDE: folder}))
    try:
      status = child.wait()
    finally:
      child.kill()
      child.wait()
    wrong = look_afterwards(pathlib.Path(folder)) if look_afterwards else []
    for line in wrong:
      print(line)
    return status or (1 if wrong else 0)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--hosts', type=int, default=2)
  parser.add_argument('--ranks', type=int, default=4)
  parser.add_argument('--mpi', choices=('openmpi', 'mpich'), default='openmpi')
  parser.add_argument('--mpirun', default='mpirun')
  parser.add_argument('--blocked', action='store_true',
                      help='neighbouring ranks share a host (default: hosts take turns)')
  parser.add_argument('--places', type=lambda text: [int(host) for host in text.split(',')],
                      help='the host of each rank, from 0 on, instead of --hosts and --ranks: 0,1,1,1,2,2,2,2')
  parser.add_argument('--under', default='', help='what the launcher is started by: "quadrille run --"')
  parser.add_argument('--delay', help='latency of each cable, such as 20us')
  parser.add_argument('command', nargs='+')
  arguments = parser.parse_args()
  if arguments.places:
    arguments.hosts, arguments.ranks = max(arguments.places) + 1, len(arguments.places)
    if set(arguments.places) != set(range(arguments.hosts)):
      parser.error('--places: a host without a rank')
  try:
    if INSIDE not in os.environ:
      return enter_own_processes()
    return run(arguments, pathlib.Path(os.environ[INSIDE]))
  except (Unable, FileNotFoundError) as reason:
    print(f'hosts: {reason}', file=sys.stderr)
    return 1


if __name__ == '__main__':
  sys.exit(main())
