#!/usr/bin/env python3
"""What is drawn of the tests: repeatable, never empty, one of each kind, and in time everything."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import draw  # noqa: E402
import run_tests  # noqa: E402

MPI = [f'mpi.{family}.{ranks}' for family in ('api', 'dropin', 'nodes-sh-co', 'nodes.blocked_2', 'grids')
       for ranks in (1, 2, 3, 5, 8, 16)] + ['mpi.grids.36']
EXAMPLES = [f'examples.ft.S.ranks{ranks}' for ranks in range(1, 30)]
PLAN = [f'All/ProofTest.IsProved/p{number}  # GetParam() = a/b {number}' for number in range(50)] + ['OrderTest.One']
HOSTS = [f'cluster.{program}.on-{hosts}-{places}.{hosts + 3}'
         for program in ('dense-api', 'dense-dropin', 'taken-started')
         for hosts in (2, 3, 4) for places in ('turns', 'ragged', 'permuted')]
TESTS = {**{name: {'mpi', 'mpi-core'} for name in MPI}, **{name: {'examples'} for name in EXAMPLES},
         **{name: {'plan'} for name in PLAN}, **{name: {'cluster', 'hosts'} for name in HOSTS},
         'cluster.dense.3x2': {'cluster'}, 'heap.Fork.One': {'heap'}, 'run': {'run'}, 'unlabelled': set()}


class Draw(unittest.TestCase):
  def test_a_seed_gives_the_same_tests(self):
    self.assertEqual(draw.draw('7', 'openmpi', TESTS), draw.draw('7', 'openmpi', dict(reversed(TESTS.items()))))

  def test_other_seeds_and_builds_give_others(self):
    self.assertGreater(len({frozenset(draw.draw(seed, 'openmpi', TESTS)) for seed in '12345'}), 1)
    self.assertNotEqual(draw.draw('7', 'openmpi', TESTS), draw.draw('7', 'mpich', TESTS))

  def test_all_parts_are_drawn(self):
    self.assertEqual({draw.part(str(seed), 3) for seed in range(50)}, {0, 1, 2})
    self.assertEqual(draw.part('7', 3), draw.part(7, 3))

  def test_a_part_is_left_out(self):
    for seed in range(50):
      drawn = draw.draw(str(seed), 'mpich', TESTS)
      self.assertLess(len(drawn), 0.7 * len(TESTS))

  def test_what_is_no_matrix_always_runs(self):
    for seed in range(50):
      drawn = draw.draw(str(seed), 'mpich', TESTS)
      self.assertLessEqual({'cluster.dense.3x2', 'heap.Fork.One', 'run', 'unlabelled', 'OrderTest.One',
                            'mpi.api.3', 'mpi.dropin.3'}, drawn)

  def test_units_run_always_in_one_build(self):
    units = {f'RegistryTest.Says{number}': {'plan'} for number in range(50)}
    for seed in range(20):
      self.assertLessEqual(set(units), draw.draw(str(seed), 'openmpi', {**TESTS, **units}))
      self.assertLess(len(set(units) & draw.draw(str(seed), 'mpich', {**TESTS, **units})), 10)

  def test_one_of_each_kind(self):
    for seed in range(50):
      drawn = draw.draw(str(seed), 'mpich', TESTS)
      self.assertEqual({draw.family(name) for name in drawn}, {draw.family(name) for name in TESTS})
      self.assertEqual({draw.ranks(name) for name in drawn & set(MPI)}, {'1', '2', '3', '5', '8', '16', '36'})
      self.assertEqual({draw.family(name) for name in drawn & set(HOSTS)}, {'cluster.dense', 'cluster.taken'})
      self.assertEqual({draw.ranks(name) for name in drawn & set(HOSTS)}, {'5', '6', '7'})

  def test_nothing_is_left_out_for_ever(self):
    drawn = set().union(*(draw.draw(str(seed), 'openmpi', TESTS) for seed in range(400)))
    self.assertEqual(drawn, set(TESTS))

  def test_fewer_are_drawn_with_a_sanitizer(self):
    sanitized = {**TESTS, **{f'run.part-{part}': {'run'} for part in range(1, 7)}}
    sizes = [[len(draw.draw(str(seed), build, sanitized)) for seed in range(50)] for build in ('openmpi', 'openmpi-asan')]
    self.assertLess(sum(sizes[1]), sum(sizes[0]))
    for seed in range(50):
      self.assertTrue(any(name.startswith('run.part') for name in draw.draw(str(seed), 'openmpi-asan', sanitized)))
    drawn = set().union(*(draw.draw(str(seed), 'openmpi-asan', sanitized) for seed in range(2500)))
    self.assertEqual(drawn, set(sanitized))

  def test_what_is_prepared_together_is_drawn_together(self):
    tests = {**TESTS, **{f'wheel.{name}': {'wheel'} for name in ('build', 'openmpi', 'mpich')}}
    drawn = [draw.draw(str(seed), 'openmpi', tests) for seed in range(200)]
    whole = sum('wheel.build' in one for one in drawn)
    self.assertTrue(0.1 * len(drawn) < whole < 0.5 * len(drawn))
    for one in drawn:
      self.assertIn(sum(name.startswith('wheel.') for name in one), (0, 3))
    self.assertLess(whole, len(drawn))
    self.assertEqual(draw.draw('all', 'openmpi', tests), set(tests))

  def test_what_takes_long_runs_with_one_of_both(self):
    tests = {**TESTS, 'fuzz.some': {'fuzz'}, 'cluster.many-hosts.16x4': {'cluster'}}
    met = set()
    for seed in map(str, range(50)):
      for name in ('fuzz.some', 'cluster.many-hosts.16x4'):
        where = {build for build in ('openmpi', 'mpich') if name in draw.draw(seed, build, tests)}
        self.assertEqual(len(where), 1)
        met |= {(name, *where)}
        self.assertIn(name, draw.draw(seed, 'openmpi-asan', tests))
    self.assertEqual(len(met), 4)
    self.assertEqual(draw.draw('all', 'mpich', tests), set(tests))

  def test_of_two_builds_one_meets_a_kind(self):
    here = {name: {'mpi'} for name in [*MPI, 'mpi.rows.2', 'mpi.rows.3'] if not re.search(r'\.(api|dropin)\.', name)}
    others = {**here, 'mpi.only-there.7': {'mpi'}}
    where = set()
    for seed in map(str, range(60)):
      drawn = {'openmpi': draw.draw(seed, 'openmpi', here, others), 'mpich': draw.draw(seed, 'mpich', others, here)}
      both = drawn['openmpi'] | drawn['mpich']
      for kind in ('mpi.nodes', 'mpi.grids', 'mpi.rows'):
        self.assertIn(kind, {draw.family(name) for name in both})
      self.assertLessEqual({'1', '2', '3', '5', '8', '16', '36'}, {draw.ranks(name) for name in both})
      self.assertIn('mpi.only-there.7', drawn['mpich'])
      where |= {build for build, names in drawn.items() if 'mpi.rows' not in {draw.family(name) for name in names}}
    self.assertEqual(where, {'openmpi', 'mpich'})

  def test_where_ranks_spin_they_are_few(self):
    here = {name: {'mpi'} for name in MPI}
    many = re.compile(r'\.(5|8|16|36)$')
    drawn = [(draw.draw(seed, 'openmpi', here, here), draw.draw(seed, 'mpich', here, here)) for seed in map(str, range(20))]
    for openmpi, mpich in drawn:
      self.assertLessEqual({'5', '8', '16', '36'}, {draw.ranks(name) for name in openmpi})
      self.assertLess(sum(bool(many.search(name)) for name in mpich), sum(bool(many.search(name)) for name in openmpi))
    self.assertTrue(any(many.search(name) for _, mpich in drawn for name in mpich))

  def test_each_other_mpi_is_left_out_now_and_then(self):
    names = ['a', 'b', 'c']
    self.assertEqual({draw.left_out_of(str(seed), names, 'mpi') for seed in range(60)}, set(names))
    self.assertIsNone(draw.left_out_of('7', ['a'], 'mpi'))
    self.assertIsNone(draw.left_out_of('all', names, 'mpi'))

  def test_what_takes_long_runs_seldom(self):
    tests = {**TESTS, **{name: {'tools'} for name in ('tools.gpu_figure_runs', 'heap.with_x', 'Crowd.OneOf1024')}}
    for name in tests.keys() - TESTS.keys():
      runs = sum(name in draw.draw(str(seed), 'openmpi', tests) for seed in range(200))
      self.assertTrue(40 < runs < 100, (name, runs))

  def test_what_is_rare_runs_rarely(self):
    tests = {**TESTS, 'package.deb': {'package'}, 'docs.site-built': {'docs'}}
    for name in ('package.deb', 'docs.site-built'):
      runs = 0
      for seed in map(str, range(400)):
        drawn = name in draw.draw(seed, 'openmpi', tests)
        self.assertEqual(draw.main(['rare', name, seed]), 0 if drawn else 1)
        runs += drawn
      self.assertTrue(25 < runs < 80, (name, runs))
    self.assertEqual(draw.draw('all', 'openmpi', tests), set(tests))

  def test_the_tool_with_a_sanitizer(self):
    tests = {**TESTS, 'tools.run_errors': {'tools'}, 'Elf.One': {'tools'}}
    whole = 0
    for seed in map(str, range(100)):
      drawn = draw.draw(seed, 'openmpi-asan', tests)
      self.assertEqual({'tools.run_errors' in drawn, 'Elf.One' in drawn}, {draw.has(seed, 'openmpi-asan', 'tools')})
      self.assertIn('Elf.One', draw.draw(seed, 'openmpi', tests))
      whole += 'Elf.One' in drawn
    self.assertTrue(15 < whole < 60)
    self.assertEqual(draw.main(['has', 'tools', 'openmpi-asan', 'all']), 0)

  def test_all(self):
    self.assertEqual(draw.draw('all', 'openmpi', TESTS), set(TESTS))

  def test_families(self):
    for name, family in [('mpi.api.3', 'mpi.api'), ('mpi.nodes-sh-co.7', 'mpi.nodes'), ('mpi.nodes.x.7', 'mpi.nodes'),
                         ('run', 'run.'), ('OrderTest.One', 'OrderTest'), (PLAN[0], 'All/ProofTest.IsProved')]:
      self.assertEqual(draw.family(name), family)


class Cases(unittest.TestCase):
  def test_what_skips_itself_everywhere_is_named(self):
    totals = run_tests.Totals()
    totals.take_cases('[ RUN      ] A.One\n[       OK ] A.One (0 ms)\n[  SKIPPED ] A.Two (1 ms)\n'
                      '[  SKIPPED ] All/B.Three/p_1, where GetParam() = 1 (0 ms)\n'
                      '[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] A.Two\n')
    totals.take_cases('\x1b[0;32m[       OK ] \x1b[mA.Two (1 ms)\n')
    totals.take_cases('[  SKIPPED ] A.One (0 ms)\n')
    self.assertEqual(totals.skipped_everywhere(), ['All/B.Three/p_1'])


if __name__ == '__main__':
  unittest.main()
