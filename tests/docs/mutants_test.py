#!/usr/bin/env python3
"""Each patch in tests/mutants applies to the sources, its head names tests that exist, a stored result says which test found it, and
the table shows these results. Each room has several. Names come from the sources of the tests, so this needs no build."""

import fnmatch
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

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

  def test_each_room_has_several(self):
    folders = {path.name: f'src/{path.name}/' for path in (ROOT / 'src').iterdir() if path.is_dir()}
    folders |= {name: f'{name}/' for name in ('tool', 'report', 'lab', 'python', 'bench')}
    for room in folders:
      self.assertGreaterEqual(sum(one.room == room for one in self.mutants), 3, room)
    for one in self.mutants:
      for changed in re.findall(r'^\+\+\+ b/(\S+)$', one.patch.read_text(), re.M):
        self.assertTrue(changed.startswith(folders[one.room]), f'{one.name} is not in {one.room}: {changed}')

  def test_each_was_found(self):
    stored = mutants.stored_results()
    for one in self.mutants:
      with self.subTest(one.name):
        self.assertEqual(mutants.why_not_found(one, stored), '')
    self.assertLessEqual(set(stored), {one.name for one in self.mutants})

  def test_the_table_shows_the_stored_results(self):
    stored = mutants.stored_results()
    found = [one for one in self.mutants if not mutants.why_not_found(one, stored)]
    self.assertEqual(mutants.PAGE.read_text(), mutants.page_with(found, stored), 'scripts/mutants.py --write repairs it')

  def test_a_result_is_that_of_the_mistake(self):
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / '01-a.patch'

      def mutant(*lines):
        path.write_text('\n'.join(('# room: run', '# what: W.', '# tests: t', '--- a/x', '+++ b/x', *lines)) + '\n')
        return mutants.read_mutant(path)
      one = mutant('@@ -1,2 +1,2 @@', ' before', '-right', '+wrong')
      stored = {'01-a': {'patch': mutants.digest_of(one), 'result': 'found by t', 'seconds': 1}}
      self.assertEqual(one.targets, [])
      self.assertEqual(mutants.why_not_found(one, stored), '')
      self.assertEqual(mutants.why_not_found(mutant('@@ -9,2 +9,2 @@', ' moved', '-right', '+wrong'), stored), '')
      self.assertIn('another patch', mutants.why_not_found(mutant('@@ -1,2 +1,2 @@', ' before', '-right', '+worse'), stored))
      self.assertEqual(mutants.why_not_found(one, {}), 'no stored result')
      for result in ('survives', 'does not compile', 'no such tests'):
        stored = {'01-a': {'patch': mutants.digest_of(one), 'result': result, 'seconds': 1}}
        self.assertEqual(mutants.why_not_found(one, stored), result)

  def test_make_check_runs_only_for_what_survives(self):
    for named, result in (('found by t', 'found by t'), ('does not compile', 'does not compile'), ('survives', 'found by make check: u')):
      with unittest.mock.patch.object(mutants, 'try_named_tests', return_value=named), \
           unittest.mock.patch.object(mutants, 'try_check', return_value='found by make check: u') as check:
        self.assertEqual(mutants.try_mutant(self.mutants[0]), result)
        self.assertEqual(check.called, named == 'survives')

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
