#!/usr/bin/env python3
"""The rows of the matrices cover what they should, and what is missing is found."""

import itertools
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import rows  # noqa: E402


def matrix(build):
  tests = [rows.Test(f'mpi.{program}-{nodes}-{way}.{ranks}', {'mpi'}, [program])
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
    for of in (lambda test: (test.family, test.ranks), lambda test: tuple(test.programs)):
      self.assertEqual(set(map(of, tests)), set(map(of, every)))
    self.assertEqual({(test.family, word) for test in tests for word in test.settings},
                     {(test.family, word) for test in every for word in test.settings})
    pairs = lambda some: {(test.family, pair) for test in some for pair in itertools.combinations(sorted(test.settings), 2)}
    self.assertEqual(pairs(tests), pairs(every))
    self.assertLess(len(chosen), len(matrix('openmpi')) / 2)

  def test_rows_that_go_are_missed(self):
    chosen = rows.choose(BUILDS)
    all_rows = {row: BUILDS[row[0]][row[1]] for row in chosen}
    for of in (lambda test: test.ranks, lambda test: sorted(test.programs), lambda test: test.family):
      for test in all_rows.values():
        self.assertTrue(rows.missing(BUILDS, {row for row, other in all_rows.items() if of(other) != of(test)}), test.name)
    for word in ('heap', 'ring', 'blocked:2'):
      self.assertTrue(rows.missing(BUILDS, {row for row, test in all_rows.items() if word not in test.settings}), word)

  def test_new_settings_numbers_of_ranks_and_families_are_missed(self):
    chosen = rows.choose(BUILDS)
    for name, needs in (('mpi.api-blocked:9-heap.2', 3), ('mpi.api-blocked:1-heap.7', 1), ('mpi.other.2', 4)):
      more = {build: dict(tests) for build, tests in BUILDS.items()}
      more['openmpi'][name] = rows.Test(name, {'mpi'}, ['other' if 'other' in name else 'api'])
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

  def parts(self, build, names, whole=(), cases=None, label='mpi', both_run_hosts=True):
    tests = {name: rows.Test(name, {label}, [rows.family(name)], name in whole, (cases or {}).get(name, '')) for name in names}
    return {name: rows.part_of(build, name, tests, set(names), both_run_hosts) for name in names}

  def test_rows_of_a_program_share_its_cases(self):
    names = [f'mpi.nodes.{ranks}' for ranks in range(1, 8)]
    self.assertEqual(list(self.parts('openmpi', names).values()), ['0/6', '1/6', '2/6', '3/6', '4/6', '5/6', '0/6'])
    self.assertEqual(list(self.parts('openmpi', names[:4]).values()), ['0/4', '1/4', '2/4', '3/4'])
    self.assertEqual(list(self.parts('openmpi', names[:2] + ['mpi.other.1']).values()), ['0/2', '1/2', None])

  def test_rows_that_name_cases_leave_none_to_nobody(self):
    names = ['mpi.nodes.1', 'mpi.nodes.2', 'mpi.nodes.3', 'mpi.nodes.5']
    some = {'mpi.nodes.2': 'All/*', 'mpi.nodes.3': '-Errors*'}
    self.assertEqual(list(self.parts('openmpi', names, cases=some).values()), ['0/2', '0/6', None, '1/2'])
    every = dict.fromkeys(names[:3], 'All/*') | {'mpi.nodes.5': 'Errors*'}
    self.assertEqual(list(self.parts('openmpi', names, cases=every).values()), ['0/3', '1/3', '2/3', None])

  def test_on_hosts_a_case_runs_on_one_of_both_mpis(self):
    names = ['cluster.api.2x2', 'cluster.run.2x2']
    for build, part in (('openmpi', '0/2'), ('mpich', '1/2'), ('standard', None)):
      self.assertEqual(self.parts(build, names, whole={'cluster.run.2x2'}, label='cluster'),
                       {'cluster.api.2x2': part, 'cluster.run.2x2': None})

  def test_on_hosts_all_cases_run_where_one_mpi_alone_runs_them(self):
    self.assertEqual(self.parts('openmpi', ['cluster.api.2x2'], label='cluster', both_run_hosts=False),
                     {'cluster.api.2x2': None})

  def test_with_a_sanitizer_a_single_row_is_a_part_too(self):
    self.assertEqual(list(self.parts('openmpi-asan', ['mpi.api.1', 'mpi.api.3', 'mpi.sparse.3']).values()),
                     ['0/6', '1/6', '0/6'])

  def test_what_always_runs_and_what_looks_at_all_output_is_whole(self):
    names = ['mpi.api.1', 'mpi.api.2', 'mpi.api.3', 'mpi.api.5', 'mpi.api.7']
    self.assertEqual(list(self.parts('openmpi', names, whole={'mpi.api.5'}).values()), ['0/6', '1/6', None, None, '2/6'])

  def test_with_many_ranks_a_row_whose_cases_others_have_runs_half_as_many(self):
    names = ['mpi.api.16', 'mpi.api.2', 'mpi.api.3']
    self.assertEqual(list(self.parts('openmpi', names).values()), ['1/12', '0/6', None])
    self.assertEqual(list(self.parts('mpich', names).values()), ['2/3', '0/3', '1/3'])
    names = ['mpi.api.16', *(f'mpi.api.{ranks}' for ranks in range(1, 8))]
    self.assertEqual(set(self.parts('openmpi', names).values()) - {None}, {f'{part}/6' for part in range(6)} | {'6/12'})

  def test_each_long_test_has_a_reason(self):
    self.assertTrue(all(len(why) > 10 for _, why in rows.LONG))
    self.assertTrue(rows.why_long('Crowd.ThousandRanks1024'))
    self.assertTrue(rows.why_long('plan-long'))
    self.assertIsNone(rows.why_long('plan.part-1'))
    self.assertIsNone(rows.why_long('mpi.api.3'))


if __name__ == '__main__':
  unittest.main()
