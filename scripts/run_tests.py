#!/usr/bin/env python3
"""Runs the tests of one or more builds, then prints one line: 'N passed, N failed'.

  run_tests.py --builds build build/openmpi build/mpich --other-mpis

Each build's tests run under ctest, those that use no MPI first. Tests run side by side, but for most of those with
ranks, which need all cores of a small machine. Where builds with ranks follow, proofs and checks of sources run beside
these, at the lowest priority: they take the processors while launchers start and ranks wait. Of the large matrices the
stored rows run (rows.py), and with --all every test; --only runs all that it names. With --other-mpis the rows of tests
with the label mpi-core then run once more, from the same builds, on every other MPI of the same ABI (other_mpis.py). A
failure never stops the tests that follow. The exit status is 0 when nothing failed and something passed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import defects
import other_mpis
import rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'build' / 'test-results'
# Rooms whose tests start no MPI: they may share the cores.
NO_MPI = '^(plan|run|tools|docs|device)$'
# Tests that look at no clock and wait for nobody, and how long each may take where ranks leave it little.
BESIDE, BESIDE_TIMEOUT_S = '^(plan|check)$', 3600
SLOWEST = 25  # tests whose times are printed


def without_colours(output):
  """Some launchers let googletest give its words colours, and CTest spells out what XML cannot have."""
  return re.sub(r'(?:\x1b|\[NON-XML-CHAR-0x1B\])?\[[0-9;]*m', '', output)


class Totals:
  def __init__(self):
    self.passed = 0
    self.failures = []
    self.skipped = []
    self.times = []  # (seconds, test)
    self.cases = {}  # of googletest: whether one ran that others skipped

  def take_cases(self, output):
    """What a program of googletest says of its cases."""
    for word, case in re.findall(r'^\[ +(OK|SKIPPED) \] ([\w/]+\.[\w/]+)', without_colours(output), re.M):
      self.cases[case] = self.cases.get(case, False) or word == 'OK'

  def skipped_everywhere(self):
    return sorted(case for case, ran in self.cases.items() if not ran)


def environment_of(build, with_mpi, part):
  """Settings for the MPI of `build`, and for sanitizers; without sanitizers those mean nothing."""
  environment = dict(os.environ, **defects.settings_of(build))
  if part is not None:
    environment['QUADRILLE_TEST_PART'] = part
  if build.name.endswith(rows.ASAN):  # proofs of more ranks take the same ways through the code
    environment['QUADRILLE_TEST_PROOF_RANKS'] = '7'
  # The preload library is loaded before the sanitizer's; that is harmless here.
  asan = 'detect_leaks=1:verify_asan_link_order=0'
  # Full stacks are needed to tell the MPI's leaks from ours: Open MPI unloads its components at the
  # end, and only the frames below them still have a name that tests/lsan.supp can match. They make
  # each allocation a hundred times slower, so tests without an MPI do without. The innermost 20 frames reach
  # the function of the MPI; below it are those of the test.
  if with_mpi:
    asan += ':fast_unwind_on_malloc=0:malloc_context_size=20'
  environment.setdefault('ASAN_OPTIONS', asan)
  environment.setdefault('LSAN_OPTIONS',
                         f'suppressions={ROOT}/tests/lsan.supp:print_suppressions=0')
  environment.setdefault('UBSAN_OPTIONS', 'print_stacktrace=1:halt_on_error=1')
  environment.setdefault('TSAN_OPTIONS', 'halt_on_error=1')
  # Open MPI takes ob1 on one machine, but first asks the libraries of fabrics, which is most of what its start takes.
  environment.setdefault('OMPI_MCA_mtl', '^ofi,psm,psm2')
  return environment


def has_label(labels, expression):
  return any(re.search(expression, label) for label in labels)


def numbers_of(names, tests, with_mpi):
  """`names` as ctest takes them: by their numbers among the tests that its -L or -LE leaves."""
  among = [name for name, test in tests.items() if has_label(test.labels, NO_MPI) != with_mpi]
  return [str(number) for number, name in enumerate(among, 1) if name in names]


def failed_cases(output):
  """The names of the cases of googletest that failed."""
  return list(dict.fromkeys(re.findall(r'\[ +FAILED +\] ([\w/]+\.[\w/]+)', without_colours(output))))


def read_report(report, build, totals):
  """Adds ctest's report to `totals`. Returns the names of all tests in it, and the failures."""
  names, failures = set(), []
  if not report.exists():
    return names, failures
  for case in xml.etree.ElementTree.parse(report).iter('testcase'):
    name = f'{build.name}: {case.get("name")}'
    names.add(case.get('name'))
    totals.times.append((float(case.get('time') or 0), name))
    totals.take_cases(case.findtext('system-out') or '')
    if case.get('status') == 'run':
      totals.passed += 1
    elif case.get('status') == 'notrun':
      totals.skipped.append(name)
    elif case.get('status') == 'fail':
      failures.append(' '.join([name, *failed_cases(case.findtext('system-out') or '')]))
  return names, failures


def ctest_of(build, with_mpi, arguments, report, timeout_s=300):
  """The command."""
  return ['ctest', '--test-dir', str(build), '--output-on-failure', '--no-tests=ignore', '--timeout', str(timeout_s),
          '--output-junit', str(report), '--test-output-size-passed', '1000000', '-LE' if with_mpi else '-L', NO_MPI,
          *arguments]


def by_number(numbers):
  """The option of ctest for tests with these numbers."""
  return ['-I', ','.join(['0,0,0', *numbers])]


def add_results(report, build, name, status, totals):
  """Adds what a run of ctest has reported to `totals`. Returns the names of the tests that ctest ran."""
  names, failures = read_report(report, build, totals)
  if status != 0 and not failures:
    failures.append(f'{build.name}: ctest itself ({name}), exit status {status}')
  totals.failures += failures
  return names


def run_ctest(build, with_mpi, arguments, totals, part=None):
  """Runs ctest in `build` and adds its results to `totals`. Returns the names of the tests that ctest ran."""
  name = 'with-mpi' if with_mpi else 'without-mpi'
  if part is not None:
    name += '-part-' + part.replace('/', '-of-')
  report = RESULTS / f'{build.name}-{name}.xml'
  print(f'== {build.name}: {name}', flush=True)
  status = subprocess.call(ctest_of(build, with_mpi, arguments, report), env=environment_of(build, with_mpi, part),
                           stdin=subprocess.DEVNULL)
  return add_results(report, build, name, status, totals)


class Beside:
  """Tests of a build without MPI that run while others do."""

  def __init__(self, build, names, tests):
    self.build, self.names, self.name = build, names, 'without-mpi-beside'
    self.report = RESULTS / f'{build.name}-{self.name}.xml'
    self.output = tempfile.TemporaryFile()
    # Tests with ranks look for what was left in the usual place.
    self.folder = tempfile.TemporaryDirectory(prefix='beside-', ignore_cleanup_errors=True)
    numbers = numbers_of(names, tests, with_mpi=False)
    ctest = ctest_of(build, False, [*by_number(numbers), '-j', str(os.cpu_count())], self.report, BESIDE_TIMEOUT_S)
    print(f'== {build.name}: {self.name}: {len(numbers)} tests begin', flush=True)
    environment = dict(environment_of(build, False, None), TMPDIR=self.folder.name)
    self.process = subprocess.Popen(['nice', '-n', '19', *ctest], env=environment, stdin=subprocess.DEVNULL,
                                    stdout=self.output, stderr=subprocess.STDOUT)

  def finish(self, totals):
    status = self.process.wait()
    print(f'== {self.build.name}: {self.name}', flush=True)
    self.output.seek(0)
    print(self.output.read().decode(errors='replace'), flush=True)
    check_all_ran(self.build, self.names, add_results(self.report, self.build, self.name, status, totals), totals)

  def clean_up(self):
    """Also where the other tests were interrupted."""
    self.process.terminate()
    self.process.wait()
    self.output.close()
    self.folder.cleanup()


def check_all_ran(build, names, ran, totals):
  """What is selected must run: a run of nothing, or of the wrong tests, would pass unseen."""
  missed = sorted(names - ran)
  if not names:
    totals.failures.append(f'{build.name}: no test is selected')
  elif missed:
    totals.failures.append(f'{build.name}: {len(missed)} tests did not run, for example {missed[0]}')


def both_run_hosts(builds):
  """Whether the builds of both MPIs run the tests on hosts; MPICH 4.0 runs none of them (defects.py)."""
  there = {build.name: build for build in builds if (build / 'CTestTestfile.cmake').exists()}
  return {rows.MAIN, rows.SPINNING} <= set(there) and not defects.has_mpich_4_0(there[rows.SPINNING])


def by_parts(build, names, tests, arguments):
  """{part of their cases that they run: tests}"""
  if arguments.all:
    return {None: names}
  parts = {}
  for name in names:
    parts.setdefault(rows.part_of(build.name, name, tests, names, arguments.both_run_hosts), set()).add(name)
  return parts


def run_build(build, arguments, totals):
  """Returns the tests of it that run beside those of other builds, if any."""
  if not (build / 'CTestTestfile.cmake').exists():
    totals.failures.append(f'{build}: there is no such build; run make tests')
    return None
  for report in RESULTS.glob(f'{build.name}-with*.xml'):
    report.unlink()
  parallel = ['-j', str(arguments.jobs)]
  if arguments.only:
    chosen = ['-R', arguments.only] + (['-L', arguments.labels] if arguments.labels else [])
    for with_mpi in (False, True):
      run_ctest(build, with_mpi, [*chosen, *parallel], totals)
    return None
  tests = rows.listed(build)
  wanted = {name: test for name, test in tests.items()
            if (not arguments.labels or has_label(test.labels, arguments.labels))
            and not (arguments.without and has_label(test.labels, arguments.without))}
  for name, why in defects.left_out(build, {name: test.labels for name, test in wanted.items()}).items():
    totals.skipped.append(f'{build.name}: {name}: {why}')
    wanted.pop(name, None)
  names = set(wanted) if arguments.all else rows.selected(build.name, wanted, arguments.rows)
  print(f'== {build.name}: {len(names)} of {len(wanted)} tests', flush=True)
  beside = {name for name in names if has_label(tests[name].labels, BESIDE)} if runs_beside(build, arguments) else set()
  now, ran = names - beside, set()
  for with_mpi in (False, True):
    for part, here in sorted(by_parts(build, now, tests, arguments).items(), key=str):
      numbers = numbers_of(here, tests, with_mpi)
      if numbers:
        ran |= run_ctest(build, with_mpi, [*by_number(numbers), *parallel], totals, part)
  if now or not beside:
    check_all_ran(build, now, ran, totals)
  return Beside(build, beside, tests) if beside else None


def runs_beside(build, arguments):
  """Whether tests of a build run beside builds with ranks, which follow. With --all the proofs take hours."""
  return not arguments.all and build == arguments.builds[0] and len(arguments.builds) > 1


def check_rows(arguments, totals):
  """Are the stored rows those of these builds?"""
  here = {build.name for build in arguments.builds}
  builds = {name: tests for name, tests in rows.builds_there().items()
            if name in here or (arguments.other_mpis and name not in (rows.MAIN, rows.SPINNING, *here)
                                and not name.endswith(rows.SANITIZED))}
  wrong = rows.missing(builds, arguments.rows)
  for one in wrong[:SLOWEST]:
    print(one)
  if wrong:
    totals.failures.append(f'tests/rows.txt: {len(wrong)} things that no row covers, or rows without a test; run make rows')


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--builds', nargs='+', type=pathlib.Path, required=True)
  # Many tests wait for a launcher most of their time.
  parser.add_argument('--jobs', type=int, default=2 * os.cpu_count(), help='tests side by side')
  parser.add_argument('--labels', help='only tests with a label that matches this expression')
  parser.add_argument('--without', help='no tests with a label that matches this expression')
  parser.add_argument('--only', help='only tests with a name that matches this expression')
  parser.add_argument('--all', action='store_true', help='all tests, also those of the matrices that are in no row')
  parser.add_argument('--other-mpis', action='store_true')
  arguments = parser.parse_args()
  arguments.builds = [build.resolve() for build in arguments.builds]
  arguments.rows = rows.read()
  arguments.both_run_hosts = both_run_hosts(arguments.builds)

  if re.search(r'[\s:]', str(ROOT)):
    print(f"run_tests: '{ROOT}' has a blank or a colon, which LD_PRELOAD cannot have: move the folder",
          file=sys.stderr)
    return 1
  if arguments.all:
    os.environ.setdefault('QUADRILLE_TEST_PROOF_RANKS', '33')  # each number of ranks, not some of the larger ones
  RESULTS.mkdir(parents=True, exist_ok=True)
  totals = Totals()
  if not arguments.only and not arguments.all:
    check_rows(arguments, totals)
  beside = []
  try:
    for build in arguments.builds:
      beside += filter(None, [run_build(build, arguments, totals)])
    if arguments.other_mpis:
      passed, failures = other_mpis.run(arguments.builds, arguments.only, None if arguments.all else arguments.rows)
      totals.passed += passed
      totals.failures += failures
    for one in beside:
      one.finish(totals)
  finally:
    for one in beside:
      one.clean_up()

  for seconds, name in sorted(totals.times, reverse=True)[:SLOWEST]:
    print(f'{seconds:.1f} s: {name}')
  for skipped in totals.skipped:
    print(f'skipped: {skipped}')
  for case in totals.skipped_everywhere():
    print(f'skipped: {case}: it skips itself in each of these runs')
  for failure in totals.failures:
    print(f'failed: {failure}')
  print(f'{totals.passed} passed, {len(totals.failures)} failed', flush=True)
  return 0 if totals.passed > 0 and not totals.failures else 1


if __name__ == '__main__':
  sys.exit(main())
