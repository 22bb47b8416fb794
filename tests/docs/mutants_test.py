#!/usr/bin/env python3
"""Each patch in tests/mutants applies to the sources, its head names tests that exist, and docs/testing.md says that all were found.
Names come from the sources of the tests, so this needs no build."""

import fnmatch
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'scripts'))
import mutants  # noqa: E402

CASE = re.compile(r'^(TYPED_TEST|TEST(?:_F|_P)?)\((\w+),\s*(\w+)\)', re.M)
INSTANTIATION = re.compile(r'^INSTANTIATE_TEST_SUITE_P\((\w+),\s*(\w+)', re.M)
# The name of a test in CMake: "run", "mpi.forced.${ranks}". One that begins with a variable would match all.
NAMED = re.compile(r'^\s*(?:add_test\(NAME |quadrille_add_parts\(|quadrille_mpi_test\()([\w.-][\w.${}-]*)', re.M)
PREFIX = re.compile(r'TEST_PREFIX ([\w.-]+)')


def cases_of(sources):
  """{(suite, case)} as GoogleTest names them, without parameters at the end: ('All/NodeEngines', 'Bring')."""
  found = set()
  for source in sources:
    prefixes = INSTANTIATION.findall(source)
    for kind, suite, case in CASE.findall(source):
      suites = [f'{suite}/0'] if kind == 'TYPED_TEST' else [suite]
      if kind == 'TEST_P':
        suites = [f'{prefix}/{suite}' for prefix, instance in prefixes if instance == suite]
      found.update((name, case) for name in suites)
  return found


class Names:
  """The tests of CTest and the cases of GoogleTest that sources have."""

  def __init__(self, sources, cmake):
    self.cases = cases_of(sources)
    prefixes = {'', *(prefix for text in cmake for prefix in PREFIX.findall(text))}
    self.discovered = {f'{prefix}{suite}.{case}' for prefix in prefixes for suite, case in self.cases}
    self.named = {name for text in cmake for name in NAMED.findall(text)}

  def has_test(self, expression):
    """Whether CTest has a test for `expression`. Names with variables are compared with its plain text."""
    plain = expression.strip('^$').replace('\\', '')
    named = (r'[\w.:-]+'.join(map(re.escape, re.split(r'\$\{\w+\}', name))) for name in self.named)
    return (any(re.search(expression, name) for name in self.discovered)
            or any(re.fullmatch(name, plain) for name in named))

  def has_case(self, cases):
    suite, _, case = cases.partition('.')
    return any(fnmatch.fnmatchcase(name, suite) and fnmatch.fnmatchcase(of, case.split('/')[0] or '*')
               for name, of in self.cases)


def names_of_sources():
  tests = ROOT / 'tests'
  return Names([path.read_text() for path in tests.rglob('*.cpp')],
               [path.read_text() for pattern in ('CMakeLists.txt', '*.cmake') for path in tests.rglob(pattern)])


class Mutants(unittest.TestCase):
  def setUp(self):
    self.mutants = [mutants.read_mutant(path) for path in sorted(mutants.MUTANTS.glob('*.patch'))]
    self.assertGreater(len(self.mutants), 20)

  def test_patches_apply(self):
    if not (ROOT / '.git').exists():
      self.skipTest('these sources are no git repository')
    for one in self.mutants:
      with self.subTest(one.name):
        answer = mutants.run(['git', '-C', ROOT, 'apply', '--check', one.patch])
        self.assertEqual(answer.returncode, 0, answer.stderr)

  def test_named_tests_exist(self):
    names = names_of_sources()
    for one in self.mutants:
      with self.subTest(one.name):
        self.assertTrue(names.has_test(one.tests), f'no test {one.tests}')
        self.assertTrue(one.cases == '*' or names.has_case(one.cases), f'no cases {one.cases}')

  def test_the_page_counts_them(self):
    line = mutants.PAGE.read_text().split(mutants.MARKS[0])[1].split(mutants.MARKS[1])[0]
    self.assertEqual(line, f'At the last run {len(self.mutants)} of {len(self.mutants)} were found.\n')

  def test_missing_names_are_found(self):
    names = Names(['TEST(Ring, Wraps) {\nTYPED_TEST(Again, All) {\nTEST_P(Engines, Run) {\n'
                   'INSTANTIATE_TEST_SUITE_P(Ways, Engines, x)'],
                  ['add_test(NAME ${name})\nquadrille_add_parts(run target run)\n'
                   'quadrille_mpi_test(mpi.api.${ranks} RANKS 2)\ngtest_add_tests(TARGET t TEST_PREFIX heap.inside.)'])
    for test in ('^run$', r'^mpi\.api\.2$', r'^Ring\.Wr', r'^heap\.inside\.Ring\.'):
      self.assertTrue(names.has_test(test), test)
    for test in ('^runs$', r'^mpi\.apis\.2$', r'^Ring\.Grows', r'^heap\.outside\.Ring\.'):
      self.assertFalse(names.has_test(test), test)
    for cases in ('Ring.*', 'Again/*.All', 'Ways/Engines.*/write'):
      self.assertTrue(names.has_case(cases), cases)
    for cases in ('Rings.*', 'Again.All', 'Other/Engines.*/write', 'Ring.Grows'):
      self.assertFalse(names.has_case(cases), cases)


if __name__ == '__main__':
  unittest.main()
