#!/usr/bin/env python3
"""scripts/tidy.py finds a planted mistake once, and only in our folders. Exit status 77 without clang-tidy."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parents[2] / 'scripts' / 'tidy.py'
HEADER = 'inline int narrowed(unsigned long size) {{ return {}; }}\n'
PLANTED, RIGHT = HEADER.format('size'), HEADER.format('static_cast<int>(size)')
CHECK = 'bugprone-narrowing-conversions,cppcoreguidelines-narrowing-conversions'


def tidy(files, *words, environment=None):
  """Runs tidy.py on a project of these files. Returns the exit status, the output and the errors."""
  with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder).resolve()
    build = root / 'build'
    commands = []
    for name, text in files.items():
      (root / name).parent.mkdir(parents=True, exist_ok=True)
      (root / name).write_text(text)
      if name.endswith('.cpp'):
        commands.append({'directory': str(build), 'file': str(root / name),
                         'command': f'c++ -I{root} -std=c++20 -o {name}.o -c {root / name}'})
    build.mkdir()
    (build / 'CMakeCache.txt').write_text(f'CMAKE_HOME_DIRECTORY:INTERNAL={root}\n')
    (build / 'compile_commands.json').write_text(json.dumps(commands))
    answer = subprocess.run([sys.executable, str(TIDY), '--build', str(build), *words], capture_output=True, text=True,
                            env=environment, check=False)
    return answer.returncode, answer.stdout, answer.stderr


class Tidy(unittest.TestCase):
  def test_a_planted_mistake_is_printed_once(self):
    files = {'src/x.hpp': PLANTED, 'src/a.cpp': '#include "src/x.hpp"\n', 'tool/b.cpp': '#include "src/x.hpp"\n',
             'report/c.cpp': 'int right();\n'}
    status, output, _ = tidy(files)
    self.assertEqual(status, 1, output)
    self.assertEqual(output.count(f'[{CHECK}]'), 1, output)
    self.assertIn('src/x.hpp:1:', output)
    self.assertEqual(output.splitlines()[-1], '1 passed, 2 failed')

  def test_right_sources_and_those_of_others_pass(self):
    files = {'src/a.cpp': RIGHT, 'src/b.cpp': '#include "other/y.hpp"\n', 'other/y.hpp': PLANTED, 'tests/c.cpp': PLANTED}
    status, output, _ = tidy(files)
    self.assertEqual((status, output.splitlines()[-1]), (0, '2 passed, 0 failed'), output)

  def test_what_cannot_be_compiled_fails(self):
    status, output, _ = tidy({'src/a.cpp': '#include "missing.hpp"\n'})
    self.assertEqual((status, output.splitlines()[-1]), (1, '0 passed, 1 failed'), output)

  def test_only(self):
    status, output, errors = tidy({'src/a.cpp': PLANTED, 'src/b.cpp': RIGHT}, '--only', 'b.cpp')
    self.assertEqual((status, output.splitlines()[-1]), (0, '1 passed, 0 failed'), output + errors)
    status, output, errors = tidy({'src/a.cpp': RIGHT}, '--only', 'z')
    self.assertEqual((status, len(errors.splitlines())), (2, 1), errors)

  def test_without_clang_tidy(self):
    status, output, errors = tidy({'src/a.cpp': RIGHT}, environment=dict(os.environ, PATH='/nowhere'))
    self.assertEqual((status, output, len(errors.splitlines())), (2, '', 1), errors)
    self.assertIn('clang-tidy-14', errors)


if __name__ == '__main__':
  if shutil.which('clang-tidy-14') is None:
    print('clang-tidy-14 is not installed')
    sys.exit(77)
  unittest.main()
