#!/usr/bin/env python3
"""Runs the tests of one or more builds, then prints one line: 'N passed, N failed'.

  run_tests.py --builds build/openmpi build/mpich --other-mpis

Each build's tests run under ctest, those that use no MPI first. Tests run side by side, but for those
of the collectives themselves, whose ranks alone are more than the cores. Of the large matrices a drawn part runs
(draw.py): --seed NUMBER repeats a draw, --seed all leaves nothing out, and --only runs all that it names. With
--other-mpis the tests with the label mpi-core then run once more, from the same builds, on every other MPI of the
same ABI (other_mpis.py). A failure never stops the tests that follow. The exit status is 0 when nothing failed and
something passed.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import defects
import draw
import other_mpis

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'build' / 'test-results'
# Rooms whose tests start no MPI: they may share the cores.
NO_MPI = '^(plan|run|tools|docs|device)$'
SLOWEST = 10  # tests whose times are printed
PARTS = 6  # of the cases of a program of ranks with a sanitizer


class Totals:
  def __init__(self):
    self.passed = 0
    self.failures = []
    self.skipped = []
    self.times = []  # (seconds, test)
    self.cases = {}  # of googletest: whether one ran that others skipped

  def take_cases(self, output):
    """What a program of googletest says of its cases. Some launchers give it colours."""
    plain = re.sub(r'\x1b?\[[0-9;]*m', '', output)
    for word, case in re.findall(r'^\[ +(OK|SKIPPED) \] ([\w/]+\.[\w/]+)', plain, re.M):
      self.cases[case] = self.cases.get(case, False) or word == 'OK'

  def skipped_everywhere(self):
    return sorted(case for case, ran in self.cases.items() if not ran)


def environment_of(build, with_mpi, seed):
  """Settings for the MPI of `build`, and for sanitizers; without sanitizers those mean nothing."""
  environment = dict(os.environ, **defects.settings_of(build))
  # With a sanitizer a program of ranks takes ten times as long: one part of its cases runs, which the seed draws.
  if build.name.endswith(draw.SANITIZED) and seed not in (None, draw.EVERYTHING):
    environment['QUADRILLE_TEST_PART'] = f'{draw.part(seed, PARTS)}/{PARTS}'
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


def listed_tests(build):
  """The tests of `build`, as ctest numbers them: {name: (labels, command)}."""
  answer = subprocess.run(['ctest', '--test-dir', str(build), '--show-only=json-v1'], check=True,
                          capture_output=True, text=True)
  tests = {}
  for test in json.loads(answer.stdout)['tests']:
    properties = {entry['name']: entry['value'] for entry in test.get('properties', [])}
    tests[test['name']] = set(properties.get('LABELS', [])), test.get('command', [])
  return tests


def has_label(labels, expression):
  return any(re.search(expression, label) for label in labels)


def numbers_of(names, tests, with_mpi):
  """`names` as ctest takes them: by their numbers among the tests that its -L or -LE leaves."""
  among = [name for name, (labels, _) in tests.items() if has_label(labels, NO_MPI) != with_mpi]
  return [str(number) for number, name in enumerate(among, 1) if name in names]


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
      failures.append(name)
  return names, failures


def run_ctest(build, with_mpi, seed, arguments, totals):
  """Runs ctest in `build` and adds its results to `totals`. Returns the names of the tests that ctest ran."""
  name = 'with-mpi' if with_mpi else 'without-mpi'
  report = RESULTS / f'{build.name}-{name}.xml'
  report.unlink(missing_ok=True)
  print(f'== {build.name}: {name}', flush=True)
  status = subprocess.call(
      ['ctest', '--test-dir', str(build), '--output-on-failure', '--no-tests=ignore', '--timeout',
       '300', '--output-junit', str(report), '--test-output-size-passed', '1000000',
       '-LE' if with_mpi else '-L', NO_MPI, *arguments],
      env=environment_of(build, with_mpi, seed), stdin=subprocess.DEVNULL)
  names, failures = read_report(report, build, totals)
  if status != 0 and not failures:
    failures.append(f'{build.name}: ctest itself ({name}), exit status {status}')
  totals.failures += failures
  return names


def other_build(build, builds):
  """The tests of the other of two builds that are drawn together."""
  others = [one for one in builds if one.resolve() != build and (one / 'CTestTestfile.cmake').exists()]
  return {name: labels for one in others for name, (labels, _) in listed_tests(one).items()}


def run_build(build, arguments, totals):
  if not (build / 'CTestTestfile.cmake').exists():
    totals.failures.append(f'{build}: there is no such build; run make build')
    return
  parallel = ['-j', str(arguments.jobs)]
  if arguments.only:
    chosen = ['-R', arguments.only] + (['-L', arguments.labels] if arguments.labels else [])
    for with_mpi in (False, True):
      run_ctest(build, with_mpi, None, [*chosen, *parallel], totals)
    return
  tests = listed_tests(build)
  wanted = {name: labels for name, (labels, _) in tests.items()
            if not arguments.labels or has_label(labels, arguments.labels)}
  defective = defects.left_out(build, {name: tests[name][1] for name in wanted})
  for name, why in defective.items():
    totals.skipped.append(f'{build.name}: {name}: {why}')
    wanted.pop(name, None)
  names = draw.draw(arguments.seed, build.name, wanted, other_build(build, arguments.builds))
  print(f'== {build.name}: {len(names)} of {len(wanted)} tests drawn with seed {arguments.seed}', flush=True)
  ran = set()
  for with_mpi in (False, True):
    numbers = numbers_of(names, tests, with_mpi)
    if numbers:
      ran |= run_ctest(build, with_mpi, arguments.seed, ['-I', ','.join(['0,0,0', *numbers]), *parallel], totals)
  # What is drawn must run: a draw of nothing, or of the wrong tests, would pass unseen.
  missed = sorted(names - ran)
  if not names:
    totals.failures.append(f'{build.name}: no test was drawn')
  elif missed:
    totals.failures.append(f'{build.name}: {len(missed)} drawn tests did not run, for example {missed[0]}')


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--builds', nargs='+', type=pathlib.Path, required=True)
  # Many tests wait for a launcher most of their time.
  parser.add_argument('--jobs', type=int, default=2 * os.cpu_count(), help='tests side by side')
  parser.add_argument('--labels', help='only tests with a label that matches this expression')
  parser.add_argument('--only', help='only tests with a name that matches this expression')
  parser.add_argument('--seed', default='', help="of the draw; 'all' for all tests (default: a new one)")
  parser.add_argument('--other-mpis', action='store_true')
  arguments = parser.parse_args()
  arguments.seed = arguments.seed or draw.new_seed()

  if re.search(r'[\s:]', str(ROOT)):
    print(f"run_tests: '{ROOT}' has a blank or a colon, which LD_PRELOAD cannot have: move the folder",
          file=sys.stderr)
    return 1
  RESULTS.mkdir(parents=True, exist_ok=True)
  totals = Totals()
  for build in arguments.builds:
    run_build(build.resolve(), arguments, totals)
  if arguments.other_mpis:
    passed, failures = other_mpis.run(arguments.builds, arguments.only, arguments.seed)
    totals.passed += passed
    totals.failures += failures

  for seconds, name in sorted(totals.times, reverse=True)[:SLOWEST]:
    print(f'{seconds:.1f} s: {name}')
  for skipped in totals.skipped:
    print(f'skipped: {skipped}')
  for case in totals.skipped_everywhere():
    print(f'skipped: {case}: it skips itself in each of these runs')
  for failure in totals.failures:
    print(f'failed: {failure}')
  if not arguments.only and arguments.seed != draw.EVERYTHING:
    print(f'seed {arguments.seed}: SEED={arguments.seed} draws the same tests again, SEED=all draws all')
  print(f'{totals.passed} passed, {len(totals.failures)} failed', flush=True)
  return 0 if totals.passed > 0 and not totals.failures else 1


if __name__ == '__main__':
  sys.exit(main())
