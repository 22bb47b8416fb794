#!/usr/bin/env python3
"""The rows of the matrices cover what they should, and what is missing is found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import rows  # noqa: E402


def matrix(build):
  tests = [rows.Test(f'mpi.{program}-{nodes}-{way}.{ranks}', {'mpi'},
                     [f'QUADRILLE_NODES={nodes}', f'QUADRILLE_REACH={way}', 'QUADRILLE_TEST_EFFORT=3'])
           for program in ('api', 'dropin', 'sparse') for nodes in ('blocked:1', 'blocked:2', 'ragged:1')
           for way in ('heap', 'ring', 'cma-read') for ranks in (2, 3, 5)]
  tests += [rows.Test(name, labels) for name, labels in
            (('Plan.One', {'plan'}), ('package.deb', {'package'}), ('fuzz.some', {'fuzz', 'mpi'}), ('docs.links', {'docs'}))]
  return {test.name: test for test in tests if build == 'openmpi' or not test.name.startswith('Plan')}


BUILDS = {build: matrix(build) for build in ('openmpi', 'mpich')}


class Rows(unittest.TestCase):
  def test_all_is_covered(self):
    chosen = rows.choose(BUILDS)
    self.assertEqual(rows.missing(BUILDS, chosen), [])
    tests = [BUILDS[build][name] for build, name in chosen]
    for nodes in ('blocked:1', 'blocked:2', 'ragged:1'):
      self.assertTrue(any(('QUADRILLE_NODES', nodes) in test.settings for test in tests))
    for program in ('mpi.api', 'mpi.dropin', 'mpi.sparse'):
      for ranks in (2, 3, 5):
        self.assertTrue(any(test.family == program and test.ranks == ranks for test in tests))
      for build in BUILDS:
        self.assertTrue(any(name.startswith(program) for one, name in chosen if one == build))
    self.assertLess(len(chosen), len(matrix('openmpi')) / 2)

  def test_a_row_that_goes_is_missed(self):
    chosen = rows.choose(BUILDS)
    for row in chosen:
      self.assertTrue(rows.missing(BUILDS, chosen - {row}), row)

  def test_a_new_value_is_missed(self):
    chosen = rows.choose(BUILDS)
    more = {build: dict(tests) for build, tests in BUILDS.items()}
    more['openmpi']['mpi.api-new.2'] = rows.Test('mpi.api-new.2', {'mpi'}, ['QUADRILLE_HEAP=off'])
    self.assertTrue(any('QUADRILLE_HEAP' in one for one in rows.missing(more, chosen)))

  def test_a_row_without_a_test_is_found(self):
    self.assertIn('openmpi has no test mpi.gone.3', rows.missing(BUILDS, rows.choose(BUILDS) | {('openmpi', 'mpi.gone.3')}))

  def test_each_program_is_in_a_row(self):
    more = {build: dict(tests) for build, tests in BUILDS.items()}
    more['mpich']['mpi.api-blocked:1-heap-b.2'] = rows.Test(
        'mpi.api-blocked:1-heap-b.2', {'mpi'}, ['QUADRILLE_NODES=blocked:1'],
        ['/usr/bin/says.sh', 'a 3', '--', 'mpirun', '-n', '2', '/x/bin/quadrille_b', '7'])
    self.assertEqual(more['mpich']['mpi.api-blocked:1-heap-b.2'].program, 'quadrille_b')
    self.assertTrue(any('quadrille_b' in one for one in rows.missing(more, rows.choose(BUILDS))))

  def test_what_is_no_matrix_runs_always(self):
    chosen = rows.choose(BUILDS)
    self.assertLessEqual({'Plan.One', 'docs.links', 'fuzz.some'}, rows.selected('openmpi', BUILDS['openmpi'], chosen))
    self.assertNotIn('package.deb', rows.selected('openmpi', BUILDS['openmpi'], chosen))
    self.assertNotIn('fuzz.some', rows.selected('mpich', BUILDS['mpich'], chosen))

  def test_forced_algorithms_are_values_of_one_factor(self):
    test = rows.Test('mpi.x.3', {'mpi'}, ['QUADRILLE_ALGORITHM=alltoall=bruck:radix=2;allgather=bruck:radix=2', 'PATH=x'])
    self.assertEqual(test.settings, [('QUADRILLE_ALGORITHM', 'bruck:radix=2')])

  def test_rows_of_a_program_share_its_cases(self):
    names = {'mpi.api.1', 'mpi.api.2', 'mpi.api.3', 'mpi.sparse.3'}
    self.assertEqual({name: rows.part_of(name, names) for name in names},
                     {'mpi.api.1': None, 'mpi.api.2': '0/2', 'mpi.api.3': '1/2', 'mpi.sparse.3': None})

  def test_each_long_test_has_a_reason(self):
    self.assertTrue(all(len(why) > 10 for _, why in rows.LONG))
    self.assertTrue(rows.why_long('Crowd.ThousandRanks1024'))
    self.assertIsNone(rows.why_long('mpi.api.3'))


if __name__ == '__main__':
  unittest.main()
