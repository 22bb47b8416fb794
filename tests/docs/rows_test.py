#!/usr/bin/env python3
"""The rows of the matrices cover what they should, and what is missing is found."""

import itertools
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import rows  # noqa: E402


def matrix(build):
  """Programs on node maps and by ways, with their facts."""
  tests = [rows.Test(f'mpi.{program}-{nodes}-{way}.{ranks}', {'mpi'},
                     [f'program={program}', f'map={nodes}', f'reach={way}', f'ranks={ranks}'])
           for program in ('api', 'dropin', 'sparse') for nodes in ('blocked', 'ragged', 'permuted')
           for way in ('heap', 'ring', 'cma-read') for ranks in (2, 3, 5)]
  tests += [rows.Test(name, labels) for name, labels in
            (('Plan.One', {'plan'}), ('package.deb', {'package'}), ('fuzz.some', {'fuzz', 'mpi'}), ('docs.links', {'docs'}))]
  return {test.name: test for test in tests if build == 'openmpi' or not test.name.startswith('Plan')}


BUILDS = {build: matrix(build) for build in ('openmpi', 'mpich')}


def with_facts(chosen):
  return {(build, name): BUILDS[build][name].facts for build, name in chosen}


class Rows(unittest.TestCase):
  def test_all_pairs_are_covered_and_each_fact_on_both_mpis(self):
    chosen = rows.choose(BUILDS)
    self.assertEqual(rows.missing(BUILDS, with_facts(chosen)), [])
    every = [test for build in BUILDS.values() for test in build.values() if test.is_of_a_matrix()]
    def pairs(some):
      return {pair for test in some for pair in itertools.combinations(sorted(test.facts), 2)}
    self.assertEqual(pairs(BUILDS[build][name] for build, name in chosen), pairs(every))
    for mpi in BUILDS:
      self.assertEqual({fact for build, name in chosen if build == mpi for fact in BUILDS[build][name].facts},
                       {fact for test in every for fact in test.facts})
    self.assertLess(len(chosen), len(matrix('openmpi')) / 3)

  def test_each_row_is_needed(self):
    chosen = rows.choose(BUILDS)
    for row in chosen:
      self.assertTrue(rows.missing(BUILDS, with_facts(chosen - {row})), row)

  def test_new_facts_are_missed(self):
    chosen = with_facts(rows.choose(BUILDS))
    for name, found, needs in (('mpi.new.2', ['program=api', 'ranks=2', 'map=even'], 4),
                               ('mpi.new.7', ['program=api', 'ranks=7', 'map=blocked'], 4),
                               ('mpi.new.3', ['program=api', 'ranks=3', 'map=blocked'], 0)):
      more = {build: dict(tests) for build, tests in BUILDS.items()}
      more['openmpi'][name] = rows.Test(name, {'mpi'}, found)
      self.assertEqual(len(rows.missing(more, chosen)), needs, rows.missing(more, chosen))

  def test_facts_that_changed_are_found(self):
    chosen = with_facts(rows.choose(BUILDS))
    build, name = row = min(chosen)
    self.assertEqual(rows.missing(BUILDS, chosen | {row: chosen[row] - {'ranks=2'} | {'ranks=9'}}),
                     [f'{build} {name} has other facts now'])

  def test_rows_that_are_there_stay_if_they_are_needed(self):
    there = rows.choose(BUILDS)
    self.assertEqual(rows.choose(BUILDS, there), there)
    more = ('mpich', 'mpi.api-blocked-ring.5')
    self.assertEqual(rows.missing(BUILDS, with_facts(rows.choose(BUILDS, there | {more}))), [])
    self.assertLessEqual(len(rows.choose(BUILDS, there | {more})), len(there))

  def test_what_takes_less_time_is_chosen(self):
    dear = {name: 9 for name in BUILDS['openmpi'] if '-ring' in name}
    times = {'openmpi': {name: dear.get(name, 0.1) for name in BUILDS['openmpi']}, 'mpich': {}}
    cost = rows.seconds(BUILDS, {'openmpi': times['openmpi'], 'mpich': {}})
    spent = [sum(cost[row] for row in rows.choose(BUILDS, times=some)) for some in (times, None)]
    self.assertLessEqual(*spent)

  def test_a_test_without_a_time_takes_what_its_program_does(self):
    cost = rows.seconds(BUILDS, {'openmpi': {'mpi.api-blocked-ring.2': 4.0}, 'mpich': {}})
    self.assertEqual(cost['openmpi', 'mpi.api-ragged-heap.3'], 4)
    self.assertEqual(cost['mpich', 'mpi.api-ragged-heap.5'], 4 * rows.SPINNING_FACTOR)
    self.assertEqual(cost['openmpi', 'mpi.sparse-ragged-heap.3'], 1)

  def test_a_test_without_a_time_takes_what_it_does_on_the_other_mpi(self):
    cost = rows.seconds(BUILDS, {'openmpi': {'mpi.api-blocked-ring.2': 4.0, 'mpi.api-ragged-ring.5': 2.0},
                                 'mpich': {'mpi.api-permuted-ring.5': 9.0}})
    self.assertEqual(cost['mpich', 'mpi.api-blocked-ring.2'], 4)
    self.assertEqual(cost['mpich', 'mpi.api-ragged-ring.5'], 2 * rows.SPINNING_FACTOR)
    self.assertEqual(cost['openmpi', 'mpi.api-permuted-ring.5'], 9 / rows.SPINNING_FACTOR)

  def test_a_row_without_a_test_is_found(self):
    chosen = with_facts(rows.choose(BUILDS)) | {('openmpi', 'mpi.gone.3'): frozenset()}
    self.assertEqual(rows.missing(BUILDS, chosen), ['openmpi has no test mpi.gone.3'])

  def test_what_is_no_matrix_runs_always(self):
    chosen = rows.choose(BUILDS)
    self.assertLessEqual({'Plan.One', 'docs.links', 'fuzz.some'}, rows.selected('openmpi', BUILDS['openmpi'], chosen))
    self.assertNotIn('package.deb', rows.selected('openmpi', BUILDS['openmpi'], chosen))
    self.assertNotIn('fuzz.some', rows.selected('mpich', BUILDS['mpich'], chosen))

  def parts(self, build, names, whole=(), cases=None, label='mpi', both_run_hosts=True):
    tests = {name: rows.Test(name, {label}, [f'program={name.split(".")[1]}'], name in whole, (cases or {}).get(name, ''))
             for name in names}
    return {name: rows.part_of(build, name, tests, set(names), both_run_hosts) for name in names}

  def test_rows_of_a_program_share_its_cases(self):
    names = [f'mpi.nodes.{ranks}' for ranks in range(1, 8)]
    self.assertEqual(list(self.parts('openmpi', names).values()), ['0/6', '1/6', '2/6', '3/6', '4/6', '5/6', '0/6'])
    self.assertEqual(list(self.parts('openmpi', names[:4]).values()), ['0/4', '1/4', '2/4', '3/4'])
    self.assertEqual(list(self.parts('openmpi', names[:2] + ['mpi.other.1']).values()), ['0/2', '1/2', None])

  def test_examples_have_no_cases(self):
    names = [f'examples.heat.{ranks}' for ranks in range(1, 8)]
    self.assertEqual(set(self.parts('openmpi', names, label='examples').values()), {None})

  def test_rows_that_name_cases_leave_none_to_nobody(self):
    names = ['mpi.nodes.1', 'mpi.nodes.2', 'mpi.nodes.3', 'mpi.nodes.5']
    some = {'mpi.nodes.2': 'All/*', 'mpi.nodes.3': '-Errors*'}
    self.assertEqual(list(self.parts('openmpi', names, cases=some).values()), ['0/2', '3/6', None, '1/2'])
    every = dict.fromkeys(names[:3], 'All/*') | {'mpi.nodes.5': 'Errors*'}
    self.assertEqual(list(self.parts('openmpi', names, cases=every).values()), ['0/3', '1/3', '2/3', None])

  def test_what_a_whole_row_leaves_out_runs_in_others(self):
    names = ['mpi.nodes.1', 'mpi.nodes.2', 'mpi.nodes.3']
    some = {'mpi.nodes.1': '-Errors*'}
    self.assertEqual(list(self.parts('openmpi', names, {'mpi.nodes.1'}, some).values()), [None, '0/2', '1/2'])
    self.assertEqual(list(self.parts('openmpi', names, {'mpi.nodes.1'}).values()), [None, '0/6', '1/6'])

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

  def test_each_long_test_has_a_reason(self):
    self.assertTrue(all(len(why) > 10 for _, why in rows.LONG))
    self.assertTrue(rows.why_long('Crowd.ThousandRanks1024'))
    self.assertTrue(rows.why_long('plan-long'))
    self.assertIsNone(rows.why_long('plan.part-1'))
    self.assertIsNone(rows.why_long('mpi.api.3'))


if __name__ == '__main__':
  unittest.main()
