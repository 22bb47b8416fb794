#!/usr/bin/env python3
"""The page of bench/gpu/gpu_report.py: verdicts from data that are made here."""

import os
import pathlib
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'bench' / 'gpu'))
import gpu_report  # noqa: E402  pylint: disable=wrong-import-position
import steps as plan  # noqa: E402  pylint: disable=wrong-import-position
import verdicts  # noqa: E402  pylint: disable=wrong-import-position

DEVICE = {'name': 'A GPU', 'mpi_memory': 'device', 'ceilings': {'device_copy_GBps': 1000}}


def row(algorithm='default', size=64, mpi=10.0, ours=5.0, **more):
  return {'algorithm': algorithm, 'bytes': size, 'mpi_us': mpi, 'quadrille_us': ours, 'ratio': ours / mpi, 'errors': 0, **more}


def step(rows, ranks=2, status=0, **device):
  return {'command': 'quadrille bench', 'status': status, 'seconds': 1, 'ranks': ranks, 'rows': rows,
          'header': {'device': {**DEVICE, **device}}}


def page(steps, probe=None):
  return verdicts.page({'probe': probe or {}, 'steps': steps})


class Verdicts(unittest.TestCase):
  def test_small_blocks_are_held_to_the_best_algorithm_at_the_worst_size(self):
    rows = [row(ours=9), row('ipc-pull', ours=3), row(size=4096, ours=4.9)]
    self.assertIn('64 B: 0.30, 4096 B: 0.49 | reached', page({'small-alltoall-2': step(rows)}))
    rows[2] = row(size=4096, ours=5.1)
    self.assertIn('4096 B: 0.51 | not reached', page({'small-alltoall-2': step(rows)}))

  def test_large_totals_are_held_to_copies(self):
    # 4 blocks of 1 MB in 4.6 us are 870 GB/s.
    rows = [row('ipc-pull', 1000000, ours=4.6)]
    text = page({'large-alltoall-2': step(rows)}, {'blocks': {'2 ranks': 900}})
    self.assertIn('870 GB/s, 0.87 of it, 0.97 of bare copies of such blocks | reached', text)
    rows = [row('ipc-pull', 1000000, ours=4.8)]
    self.assertIn('0.83 of it | not reached', page({'large-alltoall-2': step(rows)}))

  def test_the_mean_over_the_papers_sizes(self):
    rows = [row(ours=5), row(size=128, ours=20), row('ipc-pull', ours=1)]
    self.assertIn('1.00 times | not reached', page({'paper-alltoallv-2': step(rows)}))
    rows[1] = row(size=128, ours=8)
    self.assertIn('1.58 times | reached', page({'paper-alltoallv-2': step(rows)}))

  def test_kept_memory_and_strides(self):
    rows = [row(f'copy-to-cpu:buffers={b}', ours=us) for b, us in (('kept', 4), ('fresh', 6), ('pageable', 3))]
    text = page({'buffers-2': step(rows)})
    self.assertIn('buffers=fresh beside copy-to-cpu:buffers=kept | above 1 | 1.50 times its time | reached', text)
    self.assertIn('0.75 times its time | not reached', text)
    rows = [row(f'waitany-stride:stride={s}', ours=us) for s, us in ((1, 4), (5, 2), (10, 3))]
    text = page({'strides-8': step(rows, 8)})
    self.assertIn('stride=1 beside waitany-stride:stride=5 | above 1 | 2.00', text)
    self.assertIn('stride=10 beside waitany-stride:stride=5 | above 1 | 1.50', text)

  def test_strides_beyond_all_partners_are_one_and_the_same(self):
    rows = [row(f'waitany-stride:stride={s}', ours=us) for s, us in ((1, 4), (5, 2), (10, 3))]
    same = '| 1.50 times its time | cannot be told: could not have come out otherwise: identical with 5 partners |'
    text = page({'strides-6': step(rows, 6)})
    self.assertIn('stride=1 beside waitany-stride:stride=5 | above 1 | 2.00 times its time | reached', text)
    self.assertIn(same, text)
    self.assertNotIn('identical', page({'strides-7': step(rows, 7)}))
    self.assertFalse(verdicts.are_one('waitany-stride:stride=5', 'copy-to-cpu:inner=waitany-stride,stride=10', 2))
    rows = [row(f'copy-to-cpu:stride=5,buffers={b}', ours=us) for b, us in (('kept', 4), ('fresh', 6))]
    self.assertNotIn('identical', page({'buffers-2': step(rows)}))

  def test_wrong_bytes_and_failures_count_for_nothing(self):
    wrong = step([row(errors=1)])
    self.assertIn('check-alltoall-2 | not reached', page({'check-alltoall-2': wrong}))
    self.assertIn('no failure | reached', page({'check-alltoall-2': step([row()])}))
    self.assertNotIn('times |', page({'paper-alltoallv-2': wrong}))
    text = page({'paper-alltoallv-2': step([row()], status=139)})
    self.assertNotIn('at least 1.5', text)
    self.assertIn('| paper-alltoallv-2 | 139 |', text)

  def test_chunks_that_were_refused_are_not_judged(self):
    rows = [row('pipelined-copy-to-cpu', path='in chunks', ceiling_by='bus', ceiling_us=4.5, ceiling_part=0.9)]
    self.assertIn('staged-alltoallv-2', page({'staged-alltoallv-2': step(rows)}).split('| step |')[0])
    rows[0]['path'] = 'over host'
    self.assertEqual(verdicts.rows_of({'staged-alltoallv-2': step(rows)}, 'staged-alltoallv-2'), [])

  def test_a_ranks_own_block_does_not_cross_the_bus_in_chunks(self):
    chunks = row('pipelined-copy-to-cpu', path='in chunks', ceiling_us=10, ceiling_part=1.8)
    whole = row('copy-to-cpu', ceiling_us=10, ceiling_part=0.8)
    text = page({'staged-alltoallv-2': step([chunks, whole])})
    self.assertIn('pipelined-copy-to-cpu, blocks of 64 B | at least 0.85 of the bus | 0.90, 0.90 of what', text)
    self.assertIn(': copy-to-cpu, blocks of 64 B | at least 0.85 of the bus | 0.80, 0.80 of what', text)
    known = row('pipelined-copy-to-cpu', path='in chunks', ceiling_us=5, ceiling_part=0.9, ceiling_by='bus, without own blocks')
    self.assertIn('| 0.90, 0.90 of what it did before this step | reached', page({'staged-alltoallv-2': step([known])}))
    chunks['ceiling_part'] = 1.2
    self.assertIn('| 0.90, 0.90 of what it did before this step | reached', page({'staged-alltoallv-4': step([chunks], 4)}))

  def test_the_bus_is_the_best_of_all_steps(self):
    slow = row('copy-to-cpu', ceiling_us=10, ceiling_part=0.9)  # 51.2 MB/s
    fast = row('copy-to-cpu', ceiling_us=20, ceiling_part=0.9)  # 102.4 MB/s
    text = page({'staged-alltoallv-2': step([slow]), 'staged-alltoallv-4': step([fast], 4)})
    self.assertIn('| 0.45, 0.90 of what it did before this step | not reached', text)
    self.assertIn('| 0.90, 0.90 of what it did before this step | reached', text)

  def test_a_standin_reaches_nothing(self):
    text = page({'small-alltoall-2': step([row()], name='Stand-in 0')})
    self.assertIn('cannot be told: no machine: a stand-in of a driver', text)
    self.assertNotIn('| reached', text)

  def test_the_fastest_way_that_takes_such_memory(self):
    steps = {'way-alltoallv-1-4': step([row(mpi=8)], 4), 'way-alltoallv-2-4': step([row(mpi=6)], 4),
             'way-alltoallv-3-4': step([row(mpi=1)], 4, status=139), 'way-alltoall-4-4': step([row(mpi=1)], 4),
             'way-alltoallv-4-4': step([row(mpi=1)], 4, mpi_memory='host')}
    self.assertEqual(verdicts.fastest_way(steps, 'alltoallv', 4), 2)
    self.assertIsNone(verdicts.fastest_way(steps, 'alltoallv', 8))
    self.assertTrue(verdicts.were_ways_tried(steps, 'alltoallv', 4))
    self.assertFalse(verdicts.were_ways_tried(steps, 'alltoallv', 8))
    self.assertEqual(verdicts.fastest_way(steps, 'alltoall', 4), 4)


def launcher(folder, text):
  path = pathlib.Path(folder) / 'mpirun'
  path.write_text('#!/bin/sh\n' + text)
  path.chmod(0o755)
  return str(path)


SECONDS_TO_BEGIN = (0.5, 5, 50)  # tried in turn: a busy machine starts a launcher late


class Launchers(unittest.TestCase):
  def test_one_that_will_not_end_is_ended(self):
    patience, gpu_report.PATIENCE = gpu_report.PATIENCE, ((signal.SIGTERM, 0.2), (signal.SIGKILL, 0.2))
    try:
      with tempfile.TemporaryDirectory() as folder:
        # It does not heed SIGTERM, and a rank in a session of its own holds its output.
        pids = pathlib.Path(folder) / 'pids'
        stubborn = launcher(folder, f"trap '' TERM\necho begun\nsetsid sleep 600 &\necho $$ $! >{pids}\nsleep 600; sleep 600\n")
        for seconds in SECONDS_TO_BEGIN:
          status, _, _ = gpu_report.run([stubborn], {}, seconds)
          self.assertEqual(status, 124)
          if pids.exists():
            break
        begun, rank = map(int, pids.read_text().split())
        os.kill(rank, signal.SIGKILL)
        self.assertRaises(ProcessLookupError, os.kill, begun, 0)
    finally:
      gpu_report.PATIENCE = patience

  def test_what_one_printed_that_ends_in_time(self):
    with tempfile.TemporaryDirectory() as folder:
      slow = launcher(folder, "trap 'echo ended; exit 1' TERM\necho begun\nsleep 600 & wait\n")
      for seconds in SECONDS_TO_BEGIN:
        status, text, _ = gpu_report.run([slow], {}, seconds)
        if text:
          break
      self.assertEqual((status, text), (124, 'begun\nended\n'))

  def test_whose_it_is(self):
    with tempfile.TemporaryDirectory() as folder:
      self.assertTrue(gpu_report.is_hydra(launcher(folder, 'echo "HYDRA build details:"\n')))
      self.assertFalse(gpu_report.is_hydra(launcher(folder, 'echo "mpirun (Open MPI) 5.0.8"\n')))
      self.assertFalse(gpu_report.is_hydra(f'{folder}/none'))


class Steps(unittest.TestCase):
  def test_names_differ_and_totals_are_what_is_said(self):
    all_steps = list(plan.steps())
    self.assertEqual(len({one.name for one in all_steps}), len(all_steps))
    for ranks in (2, 4, 8):
      for name, total in (('large', 256 << 20), ('large-1GiB', 1024 << 20)):
        large = next(one for one in all_steps if one.name == f'{name}-alltoall-{ranks}')
        self.assertEqual(int(large.bench[2]) * ranks * ranks, total)


if __name__ == '__main__':
  unittest.main()
