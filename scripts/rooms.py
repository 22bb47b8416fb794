#!/usr/bin/env python3
"""Checks that the rooms of src/, the tool, the report and the laboratory include only what they may (CONTRIBUTING.md, docs/internals.md).

  rooms.py [FOLDER]     FOLDER: the root of the project (default: this one)

And that state is written where it may be: by name, as the compiler keeps it read-only for all others.

The tables below are the rules. EXCEPTIONS are the includes that break them today; each is named, so a new one
fails. One that is gone fails too, until it is taken off the list: the list only gets shorter.
"""

import pathlib
import re
import sys

# A call walks from left to right: api, team, choose, plan, run, memory. Beside the way: sys, mpi, text. Below it:
# collective, which says what all of them deal with, and tuner, which finds the fastest of several ways.
MAY_INCLUDE = {
    'api': {'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
    'team': {'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
    'choose': {'plan', 'text', 'collective', 'tuner'},
    'plan': {'text'},
    'run': {'plan', 'memory', 'mpi', 'sys', 'text', 'collective'},
    'memory': {'sys', 'text', 'tuner'},
    'mpi': {'text', 'collective'},
    'sys': {'text'},
    'text': set(),
    'collective': set(),
    'tuner': set(),
    'tool': {'report', 'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
    'report': {'tool', 'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
    # No part of the product: no room may include it.
    'lab': {'tool', 'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
}

# Folders of the root that are rooms too.
OUTSIDE = ('tool', 'report', 'lab')

# Libraries, by how their headers begin, and the rooms that may use them.
LIBRARIES = {
    'mpi.h': {'api', 'team', 'run', 'mpi'},
    'fmt/': {'api', 'team', 'choose', 'plan', 'text', 'tool', 'report', 'lab'},
    'nlohmann/': {'choose', 'tool', 'report', 'lab'},
    'CLI/': {'tool', 'lab'},
    'hwloc': {'team', 'tool'},
    'hwy/': {'memory'},
    'quadrille.h': {'api', 'tool', 'report', 'lab'},
}

# The system: what ends in .h and is of no library above, and of C++ itself its clocks, threads and files.
SYSTEM_OF_CPP = {'chrono', 'csignal', 'ctime', 'filesystem', 'fstream', 'latch', 'thread'}
# `sys` is the system's room. The doors in `api` stand in for functions of the system, `mpi` finds the loaded MPI, and
# the command line starts programs and looks at the machine.
SYSTEM_ROOMS = {'sys', 'api', 'mpi', *OUTSIDE}

# (file below src/, header): what for.
EXCEPTIONS = {
    # Rooms.
    ('run/group.hpp', 'choose/tuning.hpp'): 'the switch points of inboxes lie in the tuning table',
    ('mpi/type_runs.cpp', 'memory/copy.hpp'): 'small blocks with gaps are packed without the MPI',
    # The system: files.
    ('choose/tuning_file.cpp', 'fcntl.h'): 'reads and writes tables',
    ('choose/tuning_file.cpp', 'filesystem'): 'reads and writes tables',
    ('choose/tuning_file.cpp', 'sys/file.h'): 'locks tables',
    ('choose/tuning_file.cpp', 'sys/stat.h'): 'reads and writes tables',
    ('choose/tuning_file.cpp', 'unistd.h'): 'reads and writes tables',
    ('team/config.cpp', 'unistd.h'): 'all variables of the environment',
    ('team/switch_points.cpp', 'fstream'): 'the name of the processor',
    # The system: processes, memory, time.
    ('memory/device.cpp', 'dlfcn.h'): 'the driver of a GPU is looked for at run time',
    ('memory/device.cpp', 'link.h'): 'the driver of a GPU is looked for at run time',
    ('memory/heap.cpp', 'time.h'): 'when freed pages go back',
    ('memory/heap.hpp', 'sys/types.h'): 'pid_t',
    ('memory/heap_fork.cpp', 'pthread.h'): 'what is done around fork',
    ('memory/heap_fork.cpp', 'unistd.h'): 'what is done around fork',
    ('memory/heap_limits.cpp', 'sys/mman.h'): 'locks pages as mlockall does',
    ('memory/node_copy.hpp', 'chrono'): 'measures which copies are faster',
    ('memory/reach.hpp', 'sys/types.h'): 'pid_t',
    ('memory/xpmem.cpp', 'dlfcn.h'): 'the library of XPMEM is looked for at run time',
    ('memory/xpmem.hpp', 'sys/types.h'): 'pid_t',
    ('team/numa.cpp', 'dlfcn.h'): 'hwloc is looked for at run time',
    ('team/processes.cpp', 'chrono'): 'makes names that no other run has',
    ('team/processes.cpp', 'unistd.h'): 'makes names that no other run has',
}

# What hands out state of a communicator to be written, and the rooms that may. It is declared in the files named.
WRITERS = {
    'change_reach': {'team'},
    'change_messages': {'team'},
    'change_agreed': {'team'},
}
DECLARE = {'run/group.hpp', 'team/team.hpp'}

SOURCES = {'.c', '.cc', '.cpp', '.h', '.hpp', '.inc'}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(.*)$', re.MULTILINE)
FORM = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')


def library_of(header):
  return next((begin for begin in LIBRARIES if header.startswith(begin)), None)


def what_is_wrong(room, written):
  """Why `room` may not have the include that is `written` so ('"plan/order.hpp"'); None if it may."""
  form = FORM.match(written)
  if not form:
    # The compiler's own way to include what a macro names: Highway's, once.
    return None if (room, written.strip()) == ('memory', 'HWY_TARGET_INCLUDE') else 'it is neither in "" nor in <>'
  header = form[1] or form[2]
  other = header.split('/')[0]
  library = library_of(header)
  if library:
    return None if room in LIBRARIES[library] else f'{room} may not use {library.rstrip("/")}'
  if other in MAY_INCLUDE and '/' in header and not header.endswith('.h'):
    if form[2]:
      return 'our own headers are written in ""'
    return None if other == room or other in MAY_INCLUDE[room] else f'{room} may not include {other}'
  if form[1]:
    return 'it does not begin with a room'
  is_system = header.endswith('.h') or header in SYSTEM_OF_CPP
  return f'{room} may not use the system: that is for sys' if is_system and room not in SYSTEM_ROOMS else None


def sources(root):
  """All sources of the rooms, as (path, name that begins with the room)."""
  for base in (root / 'src', *(root / name for name in OUTSIDE)):
    inside = base if base.name == 'src' else root
    for path in sorted(base.rglob('*')):
      if path.suffix in SOURCES:
        yield path, path.relative_to(inside)


def includes(root):
  """All includes, as (file, what is written after `#include`)."""
  for path, file in sources(root):
    for written in INCLUDE.findall(path.read_text()):
      yield file, written


def writers(root):
  """All words that hand out state to be written, as (file, word)."""
  words = re.compile(r'\b(' + '|'.join(WRITERS) + r')\b')
  for path, file in sources(root):
    if str(file) not in DECLARE:
      for word in words.findall(path.read_text()):
        yield file, word


def place_of(file):
  return file if file.parts[0] in OUTSIDE else f'src/{file}'


def check(root, exceptions):
  """Returns (number of includes, complaints)."""
  total, complaints, met = 0, [], set()
  for folder in sorted(path.name for path in (root / 'src').iterdir() if path.is_dir()):
    if folder not in MAY_INCLUDE:
      complaints.append(f'src/{folder}: a room without rules; add them to scripts/rooms.py')
  for file, written in includes(root):
    total += 1
    room = file.parts[0]
    if room not in MAY_INCLUDE:
      continue
    wrong = what_is_wrong(room, written)
    if not wrong:
      continue
    form = FORM.match(written)
    named = (str(file), (form[1] or form[2]) if form else written.strip())
    if named in exceptions:
      met.add(named)
    else:
      complaints.append(f'{place_of(file)}: #include {written.strip()}: {wrong}')
  for file, word in writers(root):
    if file.parts[0] not in WRITERS[word]:
      complaints.append(f'{place_of(file)}: {word}: {file.parts[0]} may not write that')
  for file, header in sorted(set(exceptions) - met):
    complaints.append(f'src/{file}: {header} is an exception that is not needed; take it off scripts/rooms.py')
  return total, complaints


def main():
  root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
  total, complaints = check(root, EXCEPTIONS)
  for complaint in complaints:
    print(complaint, file=sys.stderr)
  print(f'{total} includes, {len(EXCEPTIONS)} exceptions, {len(complaints)} wrong')
  return 1 if complaints or not total else 0


if __name__ == '__main__':
  sys.exit(main())
