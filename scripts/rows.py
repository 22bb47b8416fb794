#!/usr/bin/env python3
"""Which tests of the large matrices `make test` runs: the rows in tests/rows.txt.

  rows.py write            add rows for what none covers, and drop rows that nothing needs
  rows.py write --fresh    choose all rows anew, by the times of the last run (build/test-results)
  rows.py check            say what no row covers, and which rows name no test

The tests of a matrix (MATRICES) are programs that run with many settings, numbers of ranks and MPIs. Each has facts
(facts.py), such as ranks=3 and map=ragged. The rows of Open MPI and MPICH together have every fact, and every two facts of
the parameters PAIRED that any of these tests has together; each of both MPIs has every fact of these parameters. With
AddressSanitizer, where a test takes ten times as long, and on the other MPIs, which run the core tests, the rows have each
program, each number of ranks and each forced algorithm. The tests of ALWAYS are rows, too.

All other tests run always, but for those of LONG, which `make test-all` runs, and of ONE_MPI, which run on one MPI.
"""

import collections
import copy
import heapq
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import xml.etree.ElementTree

import facts

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / 'tests' / 'rows.txt'
RESULTS = ROOT / 'build' / 'test-results'
# Labels of the matrices.
MATRICES = {'mpi', 'examples', 'cluster', 'hosts'}
ASAN = 'asan'
SANITIZED = (ASAN, 'tsan')  # how the names of such builds end
PARTS = 6  # of the cases of a program, where so many rows share them
MAIN, SPINNING = 'openmpi', 'mpich'
# Small and telling: both doors, neighbours, the sparse exchange, requests and forced algorithms with three ranks;
# neighbours also with six, where there are grids to recognise; requests also with more ranks than processors, in orders
# of copies, and by a thread.
ALWAYS = re.compile(r'^mpi\.((api|dropin|neighbor|sparse|requests|forced)\.3|neighbor\.6'
                    r'|requests-(copies|one-processor|by-thread-single|by-thread-multiple)\.3|taken-check-multiple\.2'
                    r'|refused-(dropin|api|api-nodes)\.3|refused-trials\.4)$')
# With more ranks than this a test takes longer on MPICH, whose waiting ranks never leave their processor: how many times.
MOST_SPINNING, SPINNING_FACTOR = 4, 3
# Of these parameters a row has each two values that some test has together, and each MPI each value.
PAIRED = {'program', 'ranks', 'map', 'reach', 'memory', 'door', 'setting', 'beside', 'algorithm'}
FILTER = '--gtest_filter='
# Words of a command whose program runs all its cases: scripts that look at all output, and a filter that leaves one case.
WHOLE = re.compile(r'(?<!/hosts)\.(py|sh)$|^--gtest_filter=Grids\*$')
# What `make test-all` alone runs: (tests, why).
LONG = [
    (r'^wheel\.', 'builds everything once more, and installs wheels of the package index: five minutes'),
    (r'^package\.deb$', 'builds everything once more, and needs what makes Debian packages'),
    (r'^docs\.site-built$', 'wants the Python package index'),
    (r'^clients\.mpi4py-suite$', 'compiles mpi4py, and runs five hundred of its tests six times'),
    (r'^plan-long$|^Crowd\..*1024|ThousandRanksAreProved|^OrderPlanTest\.AllPairs',
     'a thousand ranks in one process take minutes'),
    (r'^(BruckSimulations|CacheTables)\.AreStored', 'computes stored results anew, for minutes'),
    (r'^mpi\.(huge|faults)|^cluster\.failures', 'blocks above 4 GiB; kills at random moments for minutes'),
    (r'^tools\.(gpu_figure|gpu_report|tune_algorithms|model)_runs$', 'scripts of one minute and more'),
]
# No MPI has a part in what these find, or they are drawn anew each time; 16 and 36 ranks of MPICH, which spin, take long.
# The tools measure and record by functions that other tests call on both MPIs; what the examples refuse, and mistakes that
# they make to find them, are their own.
ONE_MPI = re.compile(r'^(fuzz\.(some|finds|tables)$|cluster\.many-hosts\.|mpi\.(device-huge\.|trial-data\.|api\.16$)'
                     r'|tools\.((bench|info|job|lab|late|overlap)_runs|doctor_waits|memory_checkers|report_(again|kinds))$'
                     r'|examples\.\w+(\.own)?\.(bad|broken)(\.|$))')


class Test:
  """A test of CTest."""

  def __init__(self, name, labels, found=(), whole=False, cases=''):
    self.name, self.labels, self.facts = name, set(labels), frozenset(found)
    self.whole = whole  # whether the test makes sense only with all its cases
    self.cases = cases  # googletest's filter
    number = re.search(r'\.(?:ranks)?(\d+)$', name)
    self.ranks = int(number[1]) if number else None
    self.program = next((facts.value(one) for one in self.facts if facts.parameter(one) == 'program'), '')

  def is_of_a_matrix(self):
    return self.ranks is not None and bool(self.labels & MATRICES)

  def names_cases(self):
    """Does it run some cases by name, and not all but some?"""
    return bool(self.cases) and not self.cases.startswith('-')


def listed(build):
  """The tests of a build: {name: Test}."""
  answer = subprocess.run(['ctest', '--test-dir', str(build), '--show-only=json-v1'], check=True, capture_output=True,
                          text=True)
  tests = {}
  for test in json.loads(answer.stdout)['tests']:
    properties = {entry['name']: entry['value'] for entry in test.get('properties', [])}
    command = test.get('command', [])
    tests[test['name']] = Test(test['name'], properties.get('LABELS', []),
                               facts.of(command, properties.get('ENVIRONMENT', []), build.name),
                               'PASS_REGULAR_EXPRESSION' in properties or any(WHOLE.search(word) for word in command),
                               next((word.removeprefix(FILTER) for word in command if word.startswith(FILTER)), ''))
  return tests


def why_long(name):
  return next((why for expression, why in LONG if re.search(expression, name)), None)


def can_run(build, name):
  """Does `make test` run tests of this name in this build, if they are in a row?"""
  return not why_long(name) and (build == MAIN or not ONE_MPI.search(name))


def are_paired(one, other):
  """Whether a row must have both facts. Arguments belong to one program: they are paired with each other and settings."""
  parameters = {facts.parameter(one), facts.parameter(other)}
  if len(parameters) == 1:
    return parameters <= {'setting', 'argument'}
  return parameters <= PAIRED or parameters == {'argument', 'setting'}


def needs(build, test):
  """What a row with this test covers, in the builds of both MPIs."""
  found = set(test.facts) | {f'{one} on {build}' for one in test.facts if facts.parameter(one) in PAIRED}
  found |= {f'{one} with {other}' for one, other in itertools.combinations(sorted(test.facts), 2) if are_paired(one, other)}
  return found | ({test.name} if build == MAIN and ALWAYS.search(test.name) else set())


def fewer_needs(build, test):
  """What a row with this test covers, with AddressSanitizer or on another MPI."""
  found = {f'{one} on {build}' for one in test.facts if facts.parameter(one) in ('program', 'ranks', 'algorithm')}
  return found | ({f'{test.name} on {build}'} if ALWAYS.search(test.name) else set())


def times_of(build):
  """{test: seconds} of the last run."""
  return {case.get('name'): float(case.get('time') or 0) for report in sorted(RESULTS.glob(f'{build}-with*.xml'))
          for case in xml.etree.ElementTree.parse(report).iter('testcase') if case.get('status') == 'run'}


def seconds(builds, times):
  """{(build, test): seconds}: as measured, else as on the other of both MPIs, else as the program's tests on average.
  times: {build: {test: seconds}}."""
  both = [build for build in (MAIN, SPINNING) if build in builds]
  by_program = {}
  for build, tests in builds.items():
    for name in tests.keys() & times[build].keys():
      for key in ((build, tests[name].program), tests[name].program):
        by_program.setdefault(key, []).append(times[build][name])

  def spinning(build, test):
    return SPINNING_FACTOR if build == SPINNING and test.ranks > MOST_SPINNING else 1

  def of(build, test):
    if times[build].get(test.name):
      return times[build][test.name]
    on_the_other = [times[other][test.name] / spinning(other, test) for other in both
                    if build in both and test.name in times[other]]
    like = on_the_other or by_program.get((build, test.program)) or by_program.get(test.program, [1])
    return statistics.mean(like) * spinning(build, test)

  return {(build, name): max(of(build, test), 0.01) for build, tests in builds.items() for name, test in tests.items()
          if test.is_of_a_matrix()}


def cover(covered, cost, there):
  """Chooses of {key: what it covers} keys that together cover all: those in `there`, then each time the one that covers most
  of what is left for its cost. What the others cover as well is left out again, the dearest first."""
  chosen = {key for key in there if key in covered}
  left = set().union(*covered.values()).difference(*(covered[key] for key in chosen))
  heap = [(-len(what) / cost[key], key) for key, what in covered.items()]
  heapq.heapify(heap)
  while left and heap:
    _, key = heapq.heappop(heap)
    worth = -len(covered[key] & left) / cost[key]
    if heap and worth > heap[0][0]:
      heapq.heappush(heap, (worth, key))
    elif worth < 0:
      chosen.add(key)
      left -= covered[key]
  times_covered = collections.Counter(itertools.chain.from_iterable(covered[key] for key in chosen))
  for key in sorted(chosen, key=lambda key: (-cost[key], key)):
    if all(times_covered[what] > 1 for what in covered[key]):
      chosen.discard(key)
      times_covered.subtract(covered[key])
  return chosen


def groups(builds):
  """What rows cover together: {(build, test): needs}, for both MPIs, and for each other build or MPI."""
  both = {name: tests for name, tests in builds.items() if name in (MAIN, SPINNING)}
  some = [(both, needs)] if len(both) == 2 else []
  some += [({name: tests}, fewer_needs) for name, tests in builds.items() if name not in both]
  return [{(build, name): strength(build, test) for build, tests in group.items() for name, test in tests.items()
           if test.is_of_a_matrix() and can_run(build, name)} for group, strength in some]


def choose(builds, there=frozenset(), times=None):
  """The rows: a set of (build, test), with those that are there and needed. builds: {name: {test: Test}}."""
  cost = seconds(builds, {build: (times or {}).get(build, {}) for build in builds})
  return {key for group in groups(builds) for key in cover(group, cost, there)}


def missing(builds, rows):
  """What no row covers, rows of these builds that name no test, and rows that tell other facts than their tests.
  rows: {(build, test): facts}."""
  wrong = []
  for group in groups(builds):
    have = set().union(*(what for key, what in group.items() if key in rows))
    wrong += [f'no row has {one}' for one in sorted(set().union(*group.values()) - have)]
    here = {build for build, _ in group}
    wrong += [f'{build} has no test {name}' for build, name in sorted(rows) if build in here and (build, name) not in group]
    wrong += [f'{build} {name} has other facts now' for build, name in sorted(rows.keys() & group.keys())
              if rows[build, name] != builds[build][name].facts]
  return wrong


def read():
  """{(build, test): its facts}"""
  lines = (line.split() for line in ROWS.read_text().splitlines() if line and not line.startswith('#'))
  return {(build, name): frozenset(found) for build, name, *found in lines}


def selected(build, tests, rows):
  """The names of `tests` that `make test` runs in this build."""
  return {name for name, test in tests.items() if can_run(build, name) and (
      (build, name) in rows if test.is_of_a_matrix() else True)}


def part_of(build, name, tests, names, both_run_hosts):
  """The part of its cases that a test runs, as "0/6", or None for all.

  The rows of a program share its cases: the first runs one in six, the next row the ones after them. Fewer than six rows run
  more each, so that all cases run in some row: those of one filter, unless rows without a filter run its cases, too. A test
  on hosts that is no row runs half of its cases on each MPI, or all where one MPI alone runs such tests."""
  test = tests[name]
  if 'examples' in test.labels:
    return None  # these have no cases, and share their processors with others of one run of ctest
  if not test.is_of_a_matrix():
    shared = 'cluster' in test.labels and not test.whole and both_run_hosts
    return {MAIN: '0/2', SPINNING: '1/2'}.get(build) if shared else None

  def is_whole(one):
    return one.whole or (build == MAIN and bool(ALWAYS.search(one.name)))

  if is_whole(test):
    return None
  rows = sorted((one for one in map(tests.get, names) if one.is_of_a_matrix() and one.program == test.program),
                key=lambda one: (one.names_cases(), one.name))
  everything = [one for one in rows if not one.names_cases()]
  sharing = [one for one in rows if not is_whole(one)]
  if any(is_whole(one) and one.cases in ('', test.cases) for one in everything) or (everything and test.names_cases()):
    parts = PARTS
  else:
    sharing = [one for one in sharing if one.cases == test.cases]
    parts = PARTS if build.endswith(ASAN) else min(PARTS, len(sharing))
  return f'{sharing.index(test) % parts}/{parts}' if parts > 1 else None


def builds_there():
  import other_mpis  # it imports this module
  builds = {name: listed(ROOT / 'build' / name) for name in (MAIN, SPINNING, f'{MAIN}-{ASAN}')
            if (ROOT / 'build' / name / 'CTestTestfile.cmake').exists()}
  for mpi in other_mpis.other_mpis():
    if mpi.abi in builds:
      names = other_mpis.names_for(mpi, ROOT / 'build' / mpi.abi)
      builds[mpi.name] = {name: copy.copy(test) for name, test in builds[mpi.abi].items() if name in names}
      for test in builds[mpi.name].values():
        test.labels = test.labels | {'mpi'}
  return builds


def main(words):
  if words not in (['write'], ['write', '--fresh'], ['check']):
    print(__doc__)
    return 2
  builds = builds_there()
  if MAIN not in builds or SPINNING not in builds:
    print('rows: there is no build of the tests of both MPIs; run make tests', file=sys.stderr)
    return 1
  if words == ['check']:
    wrong = missing(builds, read())
    print('\n'.join(wrong) or 'the rows cover all that they should')
    return 1 if wrong else 0
  there = read().keys() if ROWS.exists() and words == ['write'] else set()
  # Rows of what is not built here stay.
  unseen = {key: found for key, found in (read() if ROWS.exists() else {}).items() if key[0] not in builds}
  rows = choose(builds, there, {build: times_of(build) for build in builds})
  rows = unseen | {(build, name): builds[build][name].facts for build, name in rows}
  ROWS.write_text('# The tests of the large matrices that `make test` runs: the build or MPI, the test, and its facts\n'
                  '# (scripts/facts.py). Written by scripts/rows.py.\n' +
                  ''.join(f'{build} {name} {" ".join(sorted(rows[build, name]))}\n' for build, name in sorted(rows)))
  for name in sorted(builds):
    print(f'{name}: {sum(build == name for build, _ in rows)} rows')
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
