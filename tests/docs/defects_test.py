#!/usr/bin/env python3
"""What a build's own MPI cannot pass is left out with MPICH 4.0, by name and with a reason, and with no other."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import defects  # noqa: E402
import run_tests  # noqa: E402


class Defects(unittest.TestCase):
  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.build = self.make_build(pathlib.Path(folder.name) / 'mpich')
    self.launcher = self.build / 'mpirun'

  def make_build(self, build):
    build.mkdir()
    (build / 'CMakeCache.txt').write_text(f'QUADRILLE_MPIRUN:FILEPATH={build / "mpirun"}\n')
    (build / 'CTestTestfile.cmake').touch()
    return build

  def launcher_says(self, said):
    self.launcher.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n")
    self.launcher.chmod(0o755)

  def left_out(self, said, *names, ranks=2):
    self.launcher_says(said)
    return defects.left_out(self.build, {name: [str(self.launcher), '-n', str(ranks), 'program'] for name in names})

  def test_mpich_4_0(self):
    said = 'HYDRA build details:\n    Version:                                 4.0.2\n'
    left_out = self.left_out(said, 'mpi.neighbor-dropin.torus.2', 'mpi.api.2')
    self.assertIn('wrong bytes', left_out['mpi.neighbor-dropin.torus.2'])
    self.assertNotIn('mpi.api.2', left_out)
    self.assertIn('datatype', self.left_out(said, 'mpi.device-pull-requests-lazy.2')['mpi.device-pull-requests-lazy.2'])
    fuzz = {'fuzz.finds', 'fuzz.kept', 'fuzz.some'}
    self.assertEqual(fuzz - set(self.left_out(said, *fuzz)), {'fuzz.finds'})
    tools = {'tools.run_passes', 'tools.run_signals'}
    self.assertEqual(set(self.left_out(said, *tools)) & tools, {'tools.run_signals'})
    self.assertIn('processor', self.left_out(said, 'mpi.api.4', ranks=4)['mpi.api.4'])
    self.assertIn('GTEST_FILTER', defects.settings_of(self.build))

  def test_others(self):
    for said in ('HYDRA build details:\n    Version:                                 5.0.2\n',
                 'HYDRA build details:\n    Version:                                 4.10.0\n',
                 'mpirun.openmpi (OpenRTE) 4.0.2\n'):
      self.assertEqual(self.left_out(said, 'mpi.neighbor-dropin.torus.2', ranks=4), {})
      self.assertEqual(defects.settings_of(self.build), {})

  def test_tests_on_hosts_are_shared_by_mpis_that_run_them(self):
    both = [self.make_build(self.build.with_name('openmpi')), self.build]
    for version, shared in (('5.0.2', True), ('4.0.2', False)):
      self.launcher_says(f'HYDRA build details:\n    Version:                                 {version}\n')
      self.assertEqual(run_tests.both_run_hosts(both), shared)
      self.assertFalse(run_tests.both_run_hosts(both[:1]) or run_tests.both_run_hosts(both[1:]))
    self.assertFalse(run_tests.both_run_hosts([both[0], self.build / 'gone' / 'mpich']))


if __name__ == '__main__':
  unittest.main()
