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
    self.assertEqual(complaints('#include "plan/schedule.hpp"\n#include <vector>\n#include <mpi.h>\n'), [])

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

  def test_exceptions_are_used_up(self):
    line = '#include "choose/registry.hpp"\n'
    one = ('run/x.cpp', 'choose/registry.hpp')
    self.assertEqual(complaints(line, exceptions=[one]), [])
    self.assertEqual(len(complaints(line.replace('registry', 'select'), exceptions=[one])), 2)
    self.assertIn('is not needed', complaints('int x;\n', exceptions=[one])[0])


if __name__ == '__main__':
  unittest.main()
