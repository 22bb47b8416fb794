#!/usr/bin/env python3
"""The rows of the matrices cover what they should, and what is missing is found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import rows  # noqa: E402


def matrix(build):
  tests = [rows.Test(f'mpi.{program}-{nodes}-{way}.{ranks}', {'mpi'})
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
    every = [test for build in BUILDS.values() for test in build.values() if test.is_of_a_matrix()]
    self.assertEqual({test.settings for test in tests}, {test.settings for test in every})
    self.assertEqual({(test.family, test.ranks) for test in tests}, {(test.family, test.ranks) for test in every})
    self.assertLess(len(chosen), len(matrix('openmpi')) / 2)

  def test_a_row_that_goes_is_missed(self):
    chosen = rows.choose(BUILDS)
    for row in chosen:
      self.assertTrue(rows.missing(BUILDS, chosen - {row}), row)

  def test_new_settings_numbers_of_ranks_and_families_are_missed(self):
    chosen = rows.choose(BUILDS)
    for name, needs in (('mpi.api-blocked:9-heap.2', 1), ('mpi.api-blocked:1-heap.7', 1), ('mpi.other.2', 3)):
      more = {build: dict(tests) for build, tests in BUILDS.items()}
      more['openmpi'][name] = rows.Test(name, {'mpi'})
      self.assertEqual(len(rows.missing(more, chosen)), needs)

  def test_rows_that_are_there_stay(self):
    there = frozenset({('mpich', 'mpi.api-blocked:2-ring.5')})
    self.assertLessEqual(there, rows.choose(BUILDS, there))
    self.assertEqual(rows.missing(BUILDS, rows.choose(BUILDS, there)), [])

  def test_a_row_without_a_test_is_found(self):
    self.assertIn('openmpi has no test mpi.gone.3', rows.missing(BUILDS, rows.choose(BUILDS) | {('openmpi', 'mpi.gone.3')}))

  def test_what_is_no_matrix_runs_always(self):
    chosen = rows.choose(BUILDS)
    self.assertLessEqual({'Plan.One', 'docs.links', 'fuzz.some'}, rows.selected('openmpi', BUILDS['openmpi'], chosen))
    self.assertNotIn('package.deb', rows.selected('openmpi', BUILDS['openmpi'], chosen))
    self.assertNotIn('fuzz.some', rows.selected('mpich', BUILDS['mpich'], chosen))

  def test_rows_of_a_program_run_other_cases(self):
    names = {'mpi.api.1', 'mpi.api.2', 'mpi.api.3', 'mpi.sparse.3'}
    self.assertEqual({name: rows.part_of(name, names) for name in names},
                     {'mpi.api.1': '0/6', 'mpi.api.2': '1/6', 'mpi.api.3': '2/6', 'mpi.sparse.3': '0/6'})

  def test_each_long_test_has_a_reason(self):
    self.assertTrue(all(len(why) > 10 for _, why in rows.LONG))
    self.assertTrue(rows.why_long('Crowd.ThousandRanks1024'))
    self.assertTrue(rows.why_long('plan-long'))
    self.assertIsNone(rows.why_long('plan.part-1'))
    self.assertIsNone(rows.why_long('mpi.api.3'))


if __name__ == '__main__':
  unittest.main()
