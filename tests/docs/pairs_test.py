#!/usr/bin/env python3
"""What no row exercises is found: algorithms, settings, ways, and pairs of values; and reasons that nothing needs."""

import copy
import pathlib
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import facts  # noqa: E402
import pairs  # noqa: E402

STRIDE = {'name': 'stride', 'least': 1, 'most': 99, 'standard': 5}
ALGORITHMS = [{'name': 'pairwise', 'collectives': ['alltoall', 'alltoallv'], 'parameters': []},
              {'name': 'waitall', 'collectives': ['alltoall'], 'parameters': [STRIDE]},
              {'name': 'ring', 'collectives': ['allgather'], 'parameters': []}]
SETTINGS = [{'name': 'QUADRILLE_REACH', 'values': 'heap,cma,ring', 'default': 'all'},
            {'name': 'QUADRILLE_INBOX', 'values': 'BYTES', 'default': 'measured'},
            {'name': 'QUADRILLE_HEAP', 'values': 'on, off, early', 'default': 'on'}]


def row(*words):
  """A test's facts, from its command and environment."""
  command = ['mpirun', '-n', '3', '/x/openmpi/bin/quadrille_mpi_tests', *(word for word in words if word.startswith('--'))]
  return facts.of(command, [f'QUADRILLE_{word}' for word in words if not word.startswith('--')], 'openmpi')


def missing(rows, algorithms=ALGORITHMS, settings=SETTINGS):
  return pairs.uncovered({('openmpi', str(number)): found for number, found in enumerate(rows)},
                         pairs.Registry(algorithms, settings))


class Pairs(unittest.TestCase):
  def test_facts_of_a_command(self):
    command = ['/b/says.sh', 'x', '--ranks', '2', '--', 'mpirun', '-n', '2', 'env',
               'LD_PRELOAD=/b/lib/libquadrille_mpi.so:/b/lib/libquadrille_mpix_persistent.so',
               '/b/mpich/bin/quadrille_dropin_checks', 'device_pull', '/b/lib/standin-cuda/libcuda.so.1', 'plain',
               '--size', '4x4']
    environment = ['QUADRILLE_ALGORITHM=alltoall=ipc-pull:leader=1;allgather=ring', 'QUADRILLE_NODES=ragged:1,2',
                   'QUADRILLE_REACH=cma,ring', 'QUADRILLE_TEST_EFFORT=5', 'QUADRILLE_TUNING=none', 'QUADRILLE_HEAP=early',
                   'OTHER=1']
    self.assertEqual(facts.of(command, environment, 'mpich'), {
        'program=dropin_checks.device_pull', 'ranks=2', 'map=ragged', 'nodes=ragged:1,2', 'beside=says.sh', 'reach=cma-read',
        'reach=cma-write', 'reach=ring', 'memory=cuda', 'door=mpi+mpi_persistent', 'setting=HEAP=early',
        'algorithm=ipc-pull', 'algorithm=ring', 'forced=alltoall=ipc-pull:leader=1', 'forced=allgather=ring',
        'argument=dropin_checks.device_pull:plain',
        'argument=dropin_checks.device_pull:--size=4x4'})
    for places, kind in (('0,1,1,0', 'permuted'), ('0,1,0,1', 'in-turn'), ('0,0,1,1', 'in-blocks')):
      found = facts.of(['python3', 'hosts.py', '--places', places, '--', '/b/mpich/bin/x'], [], 'mpich')
      self.assertLessEqual({'ranks=4', f'map=hosts-{kind}', f'nodes={places}'}, found)
    self.assertEqual(facts.of(['python3', 'x.py'], [], 'mpich'), frozenset())

  def test_what_the_registry_has_is_exercised_by_programs_that_read_it(self):
    self.assertFalse([ones for ones in missing([row()]) if ones[0].startswith('algorithm') and len(ones) == 1])
    some = missing([row('--gtest_filter=All/*pairwise:All/*_ring')])
    self.assertIn(('algorithm=waitall',), some)
    self.assertNotIn(('algorithm=ring',), some)
    self.assertNotIn(('algorithm=waitall',), missing([row('--gtest_filter=All/Vector*:All/*stride_99-*ring')]))

  def test_a_new_algorithm_or_setting_or_way_is_missed(self):
    new = ALGORITHMS + [{'name': 'pull', 'collectives': ['neighbor_alltoall'], 'parameters': []}]
    self.assertIn(('algorithm=pull',), missing([row()], new))
    self.assertNotIn(('algorithm=pull',), missing([row(), row('ALGORITHM=neighbor_alltoall=pull')], new))
    self.assertIn(('setting=INBOX',), missing([row()]))
    self.assertNotIn(('setting=INBOX',), missing([row('INBOX=0')]))
    self.assertIn(('setting=HEAP=off',), missing([row('HEAP=early')]))
    self.assertIn(('reach=heap',), missing([row('REACH=cma')]))
    self.assertNotIn(('reach=heap',), missing([row('REACH=ring,heap')]))

  def test_pairs_are_of_one_row(self):
    two = missing([row('INBOX=0'), row('HEAP=off'), row('NODES=ragged:1,2')])
    self.assertIn(('map=ragged', 'setting=INBOX'), two)
    self.assertNotIn(('map=ragged', 'setting=INBOX'), missing([row('INBOX=0', 'NODES=ragged:1,2')]))
    self.assertNotIn(('setting=HEAP=off', 'setting=INBOX'), two)  # of one parameter

  def test_an_algorithm_has_the_collectives_of_the_registry(self):
    new = copy.deepcopy(ALGORITHMS)
    new[2]['collectives'].append('neighbor_allgather')
    neighbors = facts.of(['mpirun', '-n', '2', '/x/openmpi/bin/quadrille_neighbor_dropin_tests'], [], 'openmpi')
    self.assertIn(('algorithm=ring', 'collective=neighbor_allgather'), missing([row(), neighbors], new))
    self.assertNotIn(('algorithm=ring', 'collective=neighbor_allgather'), missing([row(), neighbors]))
    self.assertNotIn(('algorithm=pairwise', 'collective=allgather'), missing([row()]))

  def test_reasons(self):
    some = {('map=even',), ('map=hosts', 'reach=ring'), ('reach=heap', 'setting=INBOX')}
    text = '# words\nmap=even: why\nreach=* map=hosts: why\nsetting=INBOX|HEAP reach=h*: why\n'
    self.assertEqual(pairs.problems(some, pairs.reasons(text)), [])
    self.assertEqual(len(pairs.problems(some | {('ranks=3',)}, pairs.reasons(text))), 1)
    self.assertIn('nothing needs map=even', pairs.problems(some - {('map=even',)}, pairs.reasons(text))[0])
    self.assertIn('has no reason', pairs.problems(some, pairs.reasons(text + 'map=blocked:\n'))[-1])
    self.assertIn('nothing needs *=* reach=ring', pairs.problems(some, pairs.reasons(text + '*=* reach=ring: why\n'))[0])

  def test_a_pair_is_drawn_by_name_and_value(self):
    wanted = {tuple(sorted([one, f'setting={other}'])) for other in ('HEAP=early', 'INBOX')
              for one in ('algorithm=waitall', 'form=persistent', 'map=ragged', 'ranks=7', 'reach=heap', 'types=unlike')}
    never = {('map=even', 'setting=INBOX'), ('ranks=16', 'setting=INBOX'), ('form=enqueued', 'setting=INBOX'),
             ('algorithm=ring', 'setting=INBOX'), ('map=ragged', 'types=unlike')}
    by_collective = {'alltoall': [('pairwise', []), ('waitall', [STRIDE])], 'allgather': [('pairwise', [])]}
    with unittest.mock.patch.object(pairs, 'MOST_DRAWN', 2000):
      self.assertEqual(pairs.drawn(wanted | never, pairs.Registry(ALGORITHMS, SETTINGS), by_collective), wanted)
    given = pairs.reasons('map=e*: why\ndrawn: why\n')
    self.assertEqual(pairs.problems(wanted, given[1:], wanted), [])
    self.assertEqual(len(pairs.problems(wanted, given[1:])), len(wanted) + 1)


if __name__ == '__main__':
  unittest.main()
