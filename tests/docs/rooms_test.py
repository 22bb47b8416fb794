#!/usr/bin/env python3
"""The check of the rooms sees what it is for: each of these trees is wrong in one place."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import rooms  # noqa: E402


def complaints(lines, file='run/x.cpp', exceptions=()):
  with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / 'src').mkdir()
    path = pathlib.Path(folder) / ('' if file.split('/')[0] in rooms.OUTSIDE else 'src') / file
    path.parent.mkdir(parents=True)
    path.write_text(lines)
    return rooms.check(pathlib.Path(folder), dict.fromkeys(exceptions, ''))[1]


class Rooms(unittest.TestCase):
  def refused(self, lines, file, why):
    found = complaints(lines, file)
    self.assertEqual(len(found), 1, found)
    self.assertIn(why, found[0])

  def test_what_lies_on_the_way_is_allowed(self):
    self.assertEqual(complaints('#include "plan/schedule.hpp"\n#include <vector>\n'), [])
    self.assertEqual(complaints('#include <mpi.h>\n', 'abi/x.cpp'), [])
    self.refused('#include <mpi.h>\n', 'run/x.cpp', 'run may not use mpi.h')

  def test_no_room_calls_back(self):
    self.refused('#include "team/node_map.hpp"\n', 'run/x.cpp', 'run may not include team')
    self.refused('#include "run/call.hpp"\n', 'memory/deep/x.hpp', 'memory may not include run')
    self.refused('#include "tool/base.hpp"\n', 'api/x.cpp', 'api may not include tool')

  def test_nothing_needs_the_laboratory(self):
    self.assertEqual(complaints('#include "tool/x.hpp"\n#include "plan/x.hpp"\n', 'lab/figure/x.cpp'), [])
    self.refused('#include "lab/figure/x.hpp"\n', 'tool/x.cpp', 'tool may not include lab')
    self.refused('#include "api/x.hpp"\n', 'lab/figure/x.cpp', 'lab may not include api')
    self.refused('#include <mpi.h>\n', 'lab/x.cpp', 'lab may not use mpi.h')

  def test_plans_are_pure(self):
    for header in ('mpi.h', 'chrono', 'fstream', 'unistd.h', 'sys/mman.h', 'pthread.h', 'hwloc.h'):
      self.refused(f'#include <{header}>\n', 'plan/x.cpp', 'plan may not use')
    self.refused('#include "sys/sys.hpp"\n', 'plan/x.cpp', 'plan may not include sys')

  def test_every_way_to_write_it(self):
    for line in ('  #  include "team/x.hpp"  // why', '#include"team/x.hpp"', '#ifdef A\n#include "team/x.hpp"\n#endif',
                 '#include "../team/x.hpp"', '#include "x.hpp"', '#include NAMED_BY_A_MACRO', '#include <team/x.hpp>'):
      self.assertEqual(len(complaints(line + '\n')), 1, line)

  def test_a_new_room_needs_rules(self):
    self.refused('int x;\n', 'attic/x.cpp', 'a room without rules')

  def test_state_has_one_writer(self):
    line = 'void f(Group& group) { group.change_reach().rings = true; }\n'
    self.refused(line, 'run/x.cpp', 'run may not write that')
    self.assertEqual(complaints(line, 'team/x.cpp'), [])
    self.assertEqual(complaints('Reach& change_reach();\n', 'run/group.hpp'), [])
    line = 'void f(Team& team) { team.change_standing(Standing::ready); }\n'
    self.refused(line, 'api/x.cpp', 'api may not write that')
    self.assertEqual(complaints(line, 'team/x.cpp'), [])

  def test_exceptions_are_used_up(self):
    line = '#include "choose/registry.hpp"\n'
    one = ('run/x.cpp', 'choose/registry.hpp')
    self.assertEqual(complaints(line, exceptions=[one]), [])
    self.assertEqual(len(complaints(line.replace('registry', 'select'), exceptions=[one])), 2)
    self.assertIn('is not needed', complaints('int x;\n', exceptions=[one])[0])


# A call from a door to the copies of a node, with a climb, and one thread-local, one call up and two flags.
TREE = {
    'sys/wait.hpp': 'struct Waiter {\n  void (*progress)(void*) = nullptr;\n  void wait() { progress(nullptr); }\n};\n',
    'run/node.hpp': '#include "sys/wait.hpp"\nint run_node();\n',
    'run/node.cpp': '#include "run/node.hpp"\nint run_node() { Waiter waiter; waiter.wait(); return 0; }\n',
    'team/team.hpp': '#include "run/node.hpp"\nstruct Team {\n  bool ready = false;\n  bool eligible() const { return true; }\n'
                     '  struct Taken { std::optional<int> tag; } taken;\n  int made = 0;\n};\nvoid make_ready(Waiter&);\n',
    'team/team.cpp': '#include "team/team.hpp"\nvoid drive(void*) {}\n'
                     'void make_ready(Waiter& waiter) { waiter.progress = drive; }\n',
    'api/serve.cpp': '#include "team/team.hpp"\nthread_local Team last;\nint by_pairs() { return run_node(); }\n'
                     'bool serve() {\n  Waiter waiter;\n  make_ready(waiter);\n  return by_pairs() == 0;\n}\n'
                     'void finish() { serve(); }\n',
}
CALLS_UP = {('sys', 'progress', 'team/team.cpp')}
LIMITS = {'thread-locals': 1, 'flags': 2, 'files on the way of a call': 4, 'climbs on the way of a call': 1}


def complaints_about_code(changes, calls_up=CALLS_UP, **limits):
  with tempfile.TemporaryDirectory() as folder:
    for file, text in {**TREE, **changes}.items():
      path = pathlib.Path(folder) / 'src' / file
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(text)
    return rooms.check_code(
        pathlib.Path(folder), dict.fromkeys(calls_up, ''), {**LIMITS, **limits},
        {'flags': ('team/team.hpp', ('Team', 'Taken'))}, (('api/serve.cpp', 'serve'), ('run/node.cpp', 'run_node')))[1]


def added(file, text):
  return {file: TREE.get(file, '') + text}


class CodeOfRooms(unittest.TestCase):
  def refused(self, changes, why, **others):
    found = complaints_about_code(changes, **others)
    self.assertEqual(len(found), 1, found)
    self.assertIn(why, found[0])

  def test_the_tree_is_as_it_may_be(self):
    self.assertEqual(complaints_about_code({}), [])

  def test_names_of_the_mpi(self):
    line = '// MPI_Comm\nint f(MPI_Comm comm);\n'
    self.refused(added('run/node.cpp', line), 'MPI_Comm is a name of the MPI')
    self.assertEqual(complaints_about_code(added('abi/x.cpp', line)), [])
    self.assertEqual(complaints_about_code(added('run/node.cpp', '#define X(Name) int MPI_##Name();\n')), [])

  def test_more_state_of_threads(self):
    self.refused(added('run/node.cpp', '// thread_local\nstatic thread_local int depth = 0;\n'), 'thread-locals: 2')

  def test_more_flags(self):
    for member, number in (('bool a = f(1, 2), b{};', 4), ('std::atomic<bool> a = false;', 3),
                           ('unsigned a : 1, b : 2;', 4), ('std::optional<std::map<int, int>> a;', 3),
                           ('mutable bool a;', 3)):
      text = TREE['team/team.hpp'].replace('int made', f'{member}\n  int made')
      self.refused({'team/team.hpp': text}, f'flags: {number},')
    for member in ('bool f(bool) const;', 'std::vector<bool> a;', 'Case of = a ? b : 1;', 'std::optional<int> f();'):
      text = TREE['team/team.hpp'].replace('int made', f'{member}\n  int made')
      self.assertEqual(complaints_about_code({'team/team.hpp': text}), [], member)

  def test_a_struct_whose_flags_are_not_found(self):
    self.refused({'team/team.hpp': TREE['team/team.hpp'].replace('Taken', 'Other')}, 'no struct Taken')

  def test_every_way_to_call_up(self):
    ways = {
        'Hook hook;\n': 'void f() { hook = own; }',
        'std::atomic<void (*)()> hook;\n': 'void f() { hook.store(&own); }',
        'std::function<void()> hook;\n': 'void f() { hook = [] {}; }',
        'struct Work { void (*hook)(); };\n': 'const Work work{.hook = own};',
        'void hook(void (*work)());\n': 'void f() { hook(own); }',
        'void hook(int, const std::function<void()>& work);\n': 'void f() { hook(1, [] {}); }',
        'struct hook { virtual ~hook(); virtual void go() = 0; };\n': 'struct Own final : hook { void go() override; };',
    }
    for declared, given in ways.items():
      lower = added('run/node.hpp', 'using Hook = void (*)();\n' + declared)
      for own in ('void own() {}\n', ''):
        if own or 'own' not in given:
          self.refused({**lower, **added('team/team.cpp', own + given + '\n')}, 'run calls this room up by hook')
      self.assertEqual(complaints_about_code({**lower, **added('run/node.cpp', 'void own() {}\n' + given + '\n')}), [])

  def test_what_is_given_downwards(self):
    lower = added('run/node.hpp', 'inline void own() {}\nextern void (*hook)();\nvoid take(void (*work)());\n')
    self.assertEqual(complaints_about_code({**lower, **added('team/team.cpp', 'void f() { hook = own; take(own); }\n')}), [])

  def test_calls_up_are_used_up(self):
    self.refused({}, 'take it off', calls_up=CALLS_UP | {('run', 'gone', 'team/team.cpp')})

  def test_more_files_on_the_way(self):
    one = {'team/more.hpp': 'void more();\n', 'team/more.cpp': '#include "team/more.hpp"\nvoid more() {}\n'}
    called = '#include "team/more.hpp"\n' + TREE['api/serve.cpp'].replace('make_ready(waiter);', 'make_ready(waiter), more();')
    self.assertEqual(complaints_about_code(one), [])
    self.refused({**one, 'api/serve.cpp': called}, 'files on the way of a call: 5,')

  def test_more_climbs_on_the_way(self):
    climbing = TREE['run/node.cpp'].replace('return 0;', 'return hook();')
    lower = {**added('run/node.hpp', 'inline int (*hook)() = nullptr;\n'), 'run/node.cpp': climbing}
    given = added('team/team.cpp', 'int own() { return 0; }\nvoid f() { hook = own; }\n')
    calls_up = CALLS_UP | {('run', 'hook', 'team/team.cpp')}
    self.refused({**lower, **given}, 'climbs on the way of a call: 2,', calls_up=calls_up)
    self.assertEqual(complaints_about_code({**lower, **given}, calls_up=calls_up, **{'climbs on the way of a call': 2}), [])

  def test_a_way_that_is_not_found(self):
    self.refused({'api/serve.cpp': TREE['api/serve.cpp'].replace('run_node()', '0')}, 'no calls lead from serve()')


if __name__ == '__main__':
  unittest.main()
