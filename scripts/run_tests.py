#!/usr/bin/env python3
"""Runs the tests of one or more builds, then prints one line: 'N passed, N failed'.

  run_tests.py --builds build/openmpi build/mpich --other-mpis

Each build's tests run under ctest, those that use no MPI first. Tests run side by side, but for those
of the collectives themselves, whose ranks alone are more than the cores. With --other-mpis the tests with the label mpi-core then run once more, from the same builds,
on every other MPI of the same ABI (other_mpis.py). A failure never stops the tests that follow. The
exit status is 0 when nothing failed and something passed.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import other_mpis

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'build' / 'test-results'
# Rooms whose tests start no MPI: they may share the cores.
NO_MPI = '^(plan|run|tools|docs)$'


class Totals:
  def __init__(self):
    self.passed = 0
    self.failures = []
    self.skipped = []


def sanitizer_environment(with_mpi):
  """For builds without sanitizers these variables mean nothing."""
  environment = dict(os.environ)
  # The preload library is loaded before the sanitizer's; that is harmless here.
  asan = 'detect_leaks=1:verify_asan_link_order=0'
  # Full stacks are needed to tell the MPI's leaks from ours: Open MPI unloads its components at the
  # end, and only the frames below them still have a name that tests/lsan.supp can match. They make
  # each allocation a hundred times slower, so tests without an MPI do without.
  if with_mpi:
    asan += ':fast_unwind_on_malloc=0'
  environment.setdefault('ASAN_OPTIONS', asan)
  environment.setdefault('LSAN_OPTIONS',
                         f'suppressions={ROOT}/tests/lsan.supp:print_suppressions=0')
  environment.setdefault('UBSAN_OPTIONS', 'print_stacktrace=1:halt_on_error=1')
  environment.setdefault('TSAN_OPTIONS', 'halt_on_error=1')
  return environment


def run_ctest(build, with_mpi, arguments, totals):
  """Runs ctest in `build` and adds its results to `totals`."""
  name = 'with-mpi' if with_mpi else 'without-mpi'
  report = RESULTS / f'{build.name}-{name}.xml'
  report.unlink(missing_ok=True)
  print(f'== {build.name}: {name}', flush=True)
  status = subprocess.call(
      ['ctest', '--test-dir', str(build), '--output-on-failure', '--no-tests=ignore', '--timeout',
       '300', '--output-junit', str(report), *arguments],
      env=sanitizer_environment(with_mpi), stdin=subprocess.DEVNULL)
  failures = []
  if report.exists():
    for case in xml.etree.ElementTree.parse(report).iter('testcase'):
      if case.get('status') == 'run':
        totals.passed += 1
      elif case.get('status') == 'notrun':
        totals.skipped.append(f'{build.name}: {case.get("name")}')
      elif case.get('status') == 'fail':
        failures.append(f'{build.name}: {case.get("name")}')
  if status != 0 and not failures:
    failures.append(f'{build.name}: ctest itself ({name}), exit status {status}')
  totals.failures += failures


def run_build(build, arguments, totals):
  if not (build / 'CTestTestfile.cmake').exists():
    totals.failures.append(f'{build}: there is no such build; run make build')
    return
  chosen = ['-R', arguments.only] if arguments.only else []
  chosen += ['-L', arguments.labels] if arguments.labels else []
  run_ctest(build, False, [*chosen, '-L', NO_MPI, '-j', str(arguments.jobs)], totals)
  run_ctest(build, True, [*chosen, '-LE', NO_MPI, '-j', str(arguments.jobs)], totals)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--builds', nargs='+', type=pathlib.Path, required=True)
  # Many tests wait for a launcher most of their time.
  parser.add_argument('--jobs', type=int, default=2 * os.cpu_count(), help='tests side by side')
  parser.add_argument('--labels', help='only tests with a label that matches this expression')
  parser.add_argument('--only', help='only tests with a name that matches this expression')
  parser.add_argument('--other-mpis', action='store_true')
  arguments = parser.parse_args()

  RESULTS.mkdir(parents=True, exist_ok=True)
  totals = Totals()
  for build in arguments.builds:
    run_build(build.resolve(), arguments, totals)
  if arguments.other_mpis:
    passed, failures = other_mpis.run(arguments.builds, arguments.only)
    totals.passed += passed
    totals.failures += failures

  for skipped in totals.skipped:
    print(f'skipped: {skipped}')
  for failure in totals.failures:
    print(f'failed: {failure}')
  print(f'{totals.passed} passed, {len(totals.failures)} failed', flush=True)
  return 0 if totals.passed > 0 and not totals.failures else 1


if __name__ == '__main__':
  sys.exit(main())
