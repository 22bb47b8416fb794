#!/usr/bin/env python3
"""Checks that the rooms of src/, the tool, the report and the laboratory include only what they may (docs/internals.md).

  rooms.py [FOLDER]     FOLDER: the root of the project (default: this one)

And that state is written where it may be: by name, as the compiler keeps it read-only for all others.

The tables below are the rules. EXCEPTIONS are the includes that break them today; each is named, so a new one
fails. One that is gone fails too, until it is taken off the list: the list only gets shorter. The same holds for
CALLS_UP: functions that a room gives to a lower room, which calls them by pointer, std::function or virtual function.

Names that an mpi.h declares are those of abi/ alone.

LIMITS are today's numbers of what is to become less; more fails.
  thread-locals     variables of src/ that each thread has
  flags of a ...    bools, bit-fields and std::optional among the members of its structs
  files and climbs on the way of a call    the way of an alltoall that Engine::exchange serves:
                      - functions on a chain of calls from serve() to run_node(), except those OFF_THE_WAY
                      - functions that these call
                      - all functions that run_node() reaches
                    A climb calls a function of CALLS_UP from there.

All this is read from the text, without a compiler (cpp_text.py).
"""

import collections
import pathlib
import re
import sys

from cpp_text import CALL, INCLUDE, INCLUDE_FORM, NAME, NO_CALLS, Code, behind, room_of, stem_of

# A call walks from left to right: api, team, choose, plan, run, memory. Beside the way: sys, mpi, abi, text. Below it:
# collective, which says what all of them deal with, and tuner, which finds the fastest of several ways.
MAY_INCLUDE = {
    'abi': {'mpi', 'collective'},
    'api': {'abi', 'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
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
    'tool': {'abi', 'report', 'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
    'report': {'abi', 'tool', 'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
    # No part of the product: no room may include it.
    'lab': {'abi', 'tool', 'team', 'choose', 'plan', 'run', 'memory', 'mpi', 'sys', 'text', 'collective', 'tuner'},
}

# Folders of the root that are rooms too.
OUTSIDE = ('tool', 'report', 'lab')

# Libraries, by how their headers begin, and the rooms that may use them.
LIBRARIES = {
    'mpi.h': {'abi'},
    'fmt/': {'api', 'team', 'choose', 'plan', 'text', 'tool', 'report', 'lab'},
    'nlohmann/': {'choose', 'tool', 'report', 'lab'},
    'CLI/': {'tool', 'lab'},
    'hwloc': {'team', 'tool'},
    'hwy/': {'memory'},
    'quadrille.h': {'abi'},
}

# The system: what ends in .h and is of no library above, and of C++ itself its clocks, threads and files.
SYSTEM_OF_CPP = {'chrono', 'csignal', 'ctime', 'filesystem', 'fstream', 'latch', 'thread'}
# `sys` is the system's room. The doors in `api` stand in for functions of the system, `mpi` finds the loaded MPI, and
# the command line starts programs and looks at the machine.
SYSTEM_ROOMS = {'sys', 'abi', 'api', 'mpi', *OUTSIDE}

# (file below src/, header): what for.
EXCEPTIONS = {
    # Rooms.
    ('mpi/mpi.cpp', 'abi/abi.hpp'): 'what is known of the ABI of the MPI that was found',
    ('run/group.hpp', 'choose/tuning.hpp'): 'the switch points of inboxes lie in the tuning table',
    ('mpi/types.cpp', 'memory/copy_kernels.hpp'): 'small blocks with gaps are packed without the MPI',
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
    ('memory/reach.cpp', 'dlfcn.h'): 'the library of XPMEM is looked for at run time',
    ('memory/reach.hpp', 'sys/types.h'): 'pid_t',
    ('team/numa.cpp', 'dlfcn.h'): 'hwloc is looked for at run time',
    ('team/processes.cpp', 'chrono'): 'makes names that no other run has',
    ('team/processes.cpp', 'unistd.h'): 'makes names that no other run has',
}

# What hands out state of a communicator to be written, and the rooms that may. It is declared in the files named.
WRITERS = {
    'change_reach': {'team'},
    'change_messages': {'team'},
    'change_agreed': {'team'},
    'change_standing': {'team'},
}
DECLARE = {'run/group.hpp', 'team/team.hpp'}

# Rooms on the way of a call, the highest first. The others lie below all of them.
WAY = ('api', 'team', 'choose', 'plan', 'run', 'memory')

# (room of the pointer, its name or that of the function that takes it or of the class with virtual functions, file that
# gives it a function): what for.
CALLS_UP = {
    # Visitors: called before the function returns.
    ('choose', 'update_tuning_file', 'team/switch_points.cpp'): 'the new entry is made under the lock of the file',
    ('memory', 'heap_for_each_part', 'api/map_watch.cpp'): 'visits parts of the heap',
    ('run', 'run', 'api/device_engines.cpp'): 'the algorithm of each round (run/device_rounds.hpp)',
    # Kept and called later.
    ('memory', 'set_mapping_watch', 'api/map_watch.cpp'): 'the preload library watches mappings',
    ('mpi', 'begin_progress_hook', 'api/taken.cpp'): 'the MPI makes progress on pending calls',
    ('run', 'Pending', 'api/requests.hpp'): 'progress on requests',
    ('run', 'Pending', 'team/team.hpp'): 'progress on the broadcast of rank 0',
    ('sys', 'progress', 'team/setup.cpp'): 'a waiting rank drives the MPI and pending calls',
    ('team', 'Arrival', 'api/taken.cpp'): 'deferred calls start when the broadcast arrives',
    ('team', 'before_end', 'api/enqueue.cpp'): 'MPI_Finalize ends turns in streams, before their memory goes',
    ('team', 'before_end', 'api/progress_thread.cpp'): 'MPI_Finalize ends the thread',
    ('team', 'before_end', 'api/taken.cpp'): 'MPI_Finalize ends requests',
}

LIMITS = {
    'thread-locals': 6,
    'flags of a team': 6,
    'flags of a request': 3,
    'files on the way of a call': 18,
    'climbs on the way of a call': 1,
}
# What is counted: (header, structs).
FLAGS_OF = {
    'flags of a team': ('team/team.hpp', ('Team', 'Taken', 'Agreed', 'Asked', 'Chosen', 'Counted')),
    'flags of a request': ('api/requests.hpp', ('Quadrille_Request_state',)),
}
# The first and the last function of the chains of calls.
CHAIN = ('api/serve.cpp', 'serve'), ('run/node_exchange.cpp', 'run_node')
# Calls by the table of engines (api/serve.cpp): (function, what it calls).
BY_TABLE = {'run_by': 'by_pairs'}
# Once a communicator, where no table has the switch points; once a process.
OFF_THE_WAY = {'calibrate', 'find_mpi'}
# What an mpi.h declares. The rest of the library has words of its own (mpi/mpi.hpp).
NATIVE = re.compile(r'\bP?MPI_[A-Z][A-Za-z_]{2,}')

SOURCES = {'.c', '.cc', '.cpp', '.h', '.hpp', '.inc'}


def library_of(header):
  return next((begin for begin in LIBRARIES if header.startswith(begin)), None)


def what_is_wrong(room, written):
  """Why `room` may not have the include that is `written` so ('"plan/order.hpp"'); None if it may."""
  form = INCLUDE_FORM.match(written)
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
    form = INCLUDE_FORM.match(written)
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


def height_of(file):
  room = room_of(file)
  return len(WAY) - WAY.index(room) if room in WAY else 0


# ---- Numbers that may only fall ----


def flags_in(code, struct):
  """How many bools, bit-fields and std::optional the struct has as members, without those of structs inside it; None
  without the struct."""
  found = re.search(rf'\bstruct\s+{struct}\b[^;{{}}()]*\{{', code)
  if not found:
    return None
  inside = code[found.end():behind(code, found.end() - 1) - 1]
  while inside != (flat := re.sub(r'\{[^{}]*\}', ';', inside)):
    inside = flat
  count = 0
  for member in re.sub(r'\b(?:public|private|protected)\s*:', '', inside).split(';'):
    names = member
    while names != (flat := re.sub(r'<[^<>]*>|\([^()]*\)', '', names)):
      names = flat
    names = re.sub(r'=[^,]*', '', names)
    is_flag = re.match(r'\s*(?:mutable\s+)?(?:bool|std::atomic<bool>|std::optional<.*>)\s+\w', member, re.DOTALL)
    if '(' not in member.split('=')[0] and (is_flag or re.search(r'\w\s*:\s*\d', names)):
      count += 1 + names.count(',')
  return count


def way_of_a_call(code, chain, calls_up):
  """Returns (files, climbs): the files of the functions on it, and what they call in a higher room. Nothing where no
  calls lead from the first to the last."""
  first, last = (next((one for one in code.by_name[name] if one.file == file), None) for file, name in chain)
  between = {one for one in code.reached_from(first) if last in code.reached_from(one)} if first and last else set()
  way = between.union(code.reached_from(last) if between else (), *(code.called_by(one) for one in between))

  def climbs_by(one, name, pattern):
    if isinstance(pattern, str):
      return re.search(pattern, one.body)
    return one.name.split('::')[-1] == name and stem_of(one.file) in pattern

  climbs = {(one.file, name) for one in way for (room, name, _), pattern in calls_up.items()
            if room_of(one.file) == room and climbs_by(one, name, pattern)}
  return {one.file for one in way}, climbs


def numbers(code, flags_of, chain, calls_up):
  """Returns (what LIMITS names, complaints)."""
  counted = {'thread-locals': sum(len(re.findall(r'\bthread_local\b', text)) for text in code.files.values())}
  complaints = []
  for what, (file, structs) in flags_of.items():
    flags = {struct: flags_in(code.files.get(file, ''), struct) for struct in structs}
    complaints += [f'src/{file}: no struct {struct}; see scripts/rooms.py' for struct in structs if flags[struct] is None]
    counted[what] = sum(number or 0 for number in flags.values())
  files, climbs = way_of_a_call(code, chain, calls_up)
  if not files:
    complaints.append(f'no calls lead from {chain[0][1]}() to {chain[1][1]}(); see CHAIN and BY_TABLE in scripts/rooms.py')
  counted['files on the way of a call'] = len(files)
  counted['climbs on the way of a call'] = len(climbs)
  return counted, complaints


# ---- Calls up ----

# What holds functions: a pointer, an array or atomic of pointers, a std::function, or a name for one of these.
POINTER = re.compile(r'\(\*\s*(?:const\s+)?(\w+)\)\s*\(')
HOLDER = re.compile(r'(?:\(\*\)\s*\([^;{}()]*\)|std::function<)[^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)?>'
                    r'\s*&?\s*(\w+)\s*[={;,)]')
ALIAS = re.compile(r'\busing\s+(\w+)\s*=\s*(?:[^;=]*\(\*\)\s*\(|std::function<)')
# A variable, and the function or lambda that it is given.
ASSIGNED = re.compile(
    r'(?<!auto )\b(\w+)(?:\s*=\s*|\.store\(\s*)(&?[A-Za-z_][\w:]*|\[)(?!\w|\s*[(<.]|->|::)')
ARGUMENT = re.compile(r'(?:(?<=\()|,)\s*(&?[A-Za-z_][\w:]*(?=\s*[,)])|\[)')
BASE = re.compile(r'\b(?:class|struct)\s+\w+(?:\s+final)?\s*:\s*(?:public\s+)?([\w:]+)\s*\{')


def pointers_in(code):
  """Two tables, name to files: variables that hold functions, and functions that take one as an argument."""
  aliases = '|'.join({name for text in code.files.values() for name in ALIAS.findall(text)}) or '(?!)'
  forms = POINTER, HOLDER, re.compile(rf'\b(?:{aliases})\b\s*(?:const\b)?\s*&?\s*(\w+)\s*[={{;,)]')
  variables, takers = collections.defaultdict(set), collections.defaultdict(set)
  for file, text in code.files.items():
    parameters = []
    for found in NAME.finditer(text):
      end = behind(text, found.end() - 1)
      if found[1] not in NO_CALLS and any(form.search(text, found.end(), end) for form in forms):
        takers[found[1].split('::')[-1]].add(file)
        parameters.append((found.end(), end))
    for found in (found for form in forms for found in form.finditer(text)):
      if not any(begin <= found.start() < end for begin, end in parameters):
        variables[found[1]].add(file)
  return variables, takers


def virtual_functions_in(code):
  """Two tables of classes with virtual functions: name to files, and name to these functions."""
  files, functions = collections.defaultdict(set), collections.defaultdict(set)
  for file, text in code.files.items():
    for found in re.finditer(r'\b(?:class|struct)\s+(\w+)[^;{}()]*\{', text):
      inside = text[found.end():behind(text, found.end() - 1)]
      if names := re.findall(r'\bvirtual\b[^;{}(~]*\b(\w+)\s*\(', inside):
        files[found[1]].add(file)
        functions[found[1]].update(names)
  return files, functions


def gives_own(code, file, given):
  """Is that which is given a lambda or a function of the file's room, and no variable?"""
  name = given.lstrip('&').split('::')[-1]
  if given == '[':
    return True
  is_variable = re.search(rf'(?:\b(?!return\b)\w+|[>&*\]])\s+&?{name}\s*[=;{{,)]', code.files[file])
  return not is_variable and any(room_of(one.file) == room_of(file) for one in code.by_name.get(name, ()))


def calls_up_in(code):
  """All functions that a room gives to a lower one: (room, name, file that gives it) to what calls it: a pattern of
  text or, for a function that takes it, the files of that function."""
  variables, takers = pointers_in(code)
  classes, virtual_functions = virtual_functions_in(code)
  calls = {}
  for file, text in code.files.items():

    def lower_room(declared):
      rooms = {room_of(other) for other in declared if other in code.seen_from(file)}
      heights = {height_of(room + '/') for room in rooms}
      return sorted(rooms)[0] if rooms and max(heights) < height_of(file) else None

    for name, given in ASSIGNED.findall(text):
      if (room := lower_room(variables.get(name, ()))) and gives_own(code, file, given):
        calls[room, name, file] = rf'\b{name}\s*\('
    for found in CALL.finditer(text):
      if room := lower_room(takers.get(found[2], ())):
        arguments = ARGUMENT.findall(text, found.end(), behind(text, found.end() - 1))
        if any(gives_own(code, file, given) for given in arguments):
          calls[room, found[2], file] = {stem_of(other) for other in takers[found[2]]}
    for name in (base.split('::')[-1] for base in BASE.findall(text)):
      if room := lower_room(classes.get(name, ())):
        calls[room, name, file] = rf'(?:\.|->)(?:{"|".join(sorted(virtual_functions[name]))})\s*\('
  return calls


def check_code(root, calls_up=None, limits=None, flags_of=None, chain=CHAIN):
  """Returns (numbers, complaints)."""
  calls_up = CALLS_UP if calls_up is None else calls_up
  limits = LIMITS if limits is None else limits
  texts = {str(file): path.read_text() for path, file in sources(root) if file.parts[0] not in OUTSIDE}
  code = Code(texts, MAY_INCLUDE, BY_TABLE, OFF_THE_WAY)
  found = calls_up_in(code)
  counted, complaints = numbers(code, FLAGS_OF if flags_of is None else flags_of, chain, found)
  complaints += [f'src/{file}: {room} calls this room up by {name}'
                 for room, name, file in sorted(set(found) - set(calls_up))]
  complaints += [f'src/{file}: {room} does not call up by {name} any more; take it off scripts/rooms.py'
                 for room, name, file in sorted(set(calls_up) - set(found))]
  complaints += [f'src/{file}: {name} is a name of the MPI: only abi/ may use those'
                 for file, text in code.files.items() if room_of(file) != 'abi'
                 for name in sorted(set(NATIVE.findall(text)))]
  complaints += [f'{what}: {number}, more than the {limits[what]} of scripts/rooms.py'
                 for what, number in counted.items() if number > limits[what]]
  return counted, complaints


def main():
  root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
  total, complaints = check(root, EXCEPTIONS)
  counted, others = check_code(root)
  complaints += others
  for complaint in complaints:
    print(complaint, file=sys.stderr)
  for what, number in counted.items():
    print(f'{what}: {number} (at most {LIMITS[what]})')
  print(f'{total} includes, {len(EXCEPTIONS)} exceptions, {len(CALLS_UP)} calls up, {len(complaints)} wrong')
  return 1 if complaints or not total else 0


if __name__ == '__main__':
  sys.exit(main())
