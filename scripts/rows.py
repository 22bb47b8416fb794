#!/usr/bin/env python3
"""Which tests of the large matrices `make test` runs: the rows in tests/rows.txt.

  rows.py write    add rows for what none covers, and drop rows that name no test; from the tests with ranks in
                   build/openmpi, build/mpich and, where it is, build/openmpi-asan
  rows.py check    say what no row covers, and which rows name no test

The tests of a matrix (MATRICES) are programs that run with many settings, numbers of ranks and MPIs. The rows cover each
program, and each family of tests (`mpi.nodes`) with each of the words by which its settings are named (`blocked_2`) and
each pair of them that a test has, with each number of ranks and with each ABI, and the tests of ALWAYS; rows that are
there stay. With AddressSanitizer, where a test takes ten times as long, and on the other MPIs, which run the core tests,
each family and each number of ranks is covered. Rows of one program share its cases (part_of): each runs one case in six,
or more where they are fewer, so each collective is in each row, and all cases run in some row; the tests of ALWAYS run all
their cases. `make test-all` runs all cases of all tests.

All other tests run always, but for those of LONG, which `make test-all` runs, and of ONE_MPI, which run on one MPI.
"""

import copy
import heapq
import itertools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / 'tests' / 'rows.txt'
# Labels of the matrices.
MATRICES = {'mpi', 'examples', 'cluster', 'hosts'}
ASAN = 'asan'
SANITIZED = (ASAN, 'tsan')  # how the names of such builds end
PARTS = 6  # of the cases of a program, where so many rows share them
MANY = 8  # with more ranks than this, which share the processors, a row whose cases others have runs half as many
MAIN, SPINNING = 'openmpi', 'mpich'
# Small and telling: both doors, neighbours, the sparse exchange, requests and forced algorithms with three ranks;
# neighbours also with six, where there are grids to recognise; requests also with more ranks than processors, in orders
# of copies, and by a thread.
ALWAYS = re.compile(r'^mpi\.((api|dropin|neighbor|sparse|requests|forced)\.3|neighbor\.6'
                    r'|requests-(copies|one-processor|by-thread-single|by-thread-multiple)\.3|taken-check-multiple\.2'
                    r'|refused-(dropin|api|api-nodes)\.3|refused-trials\.4)$')
# More ranks than this take a rank that never leaves its processor, as a waiting one of MPICH, half a minute.
MOST_SPINNING = 4
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
# No MPI has a part in what these find, or they are drawn anew each time. The tools measure and record by functions that other
# tests call on both MPIs; what the examples refuse, and mistakes that they make to find them, are their own.
ONE_MPI = re.compile(r'^(fuzz\.(some|finds|tables)$|cluster\.many-hosts\.|mpi\.device-huge\.'
                     r'|tools\.((bench|info|job|lab|late|overlap)_runs|doctor_waits|memory_checkers|report_(again|kinds))$'
                     r'|examples\.\w+(\.own)?\.(bad|broken)(\.|$))')


class Test:
  """A test of CTest."""

  def __init__(self, name, labels, programs=(), whole=False, cases=''):
    self.name, self.labels, self.programs = name, set(labels), set(programs)
    self.whole = whole  # whether the test makes sense only with all its cases
    self.cases = cases  # googletest's filter
    number = re.search(r'\.(?:ranks)?(\d+)$', name)
    self.ranks = int(number[1]) if number else None
    self.family = family(name)
    self.settings = set(re.split('[.-]', name.partition('.')[2].rpartition('.')[0])) - {''}

  def is_of_a_matrix(self):
    return self.ranks is not None and bool(self.labels & MATRICES)

  def names_cases(self):
    """Does it run some cases by name, and not all but some?"""
    return bool(self.cases) and not self.cases.startswith('-')


def family(name):
  """What a matrix's test is about: `mpi.nodes-sh-co.7` is of mpi.nodes. Those on devices say more."""
  first, _, rest = name.partition('.')
  words = re.split('[.-]', rest)
  return f'{first}.{"-".join(words[:2]) if words[0] == "device" else words[0]}'


def listed(build):
  """The tests of a build: {name: Test}."""
  answer = subprocess.run(['ctest', '--test-dir', str(build), '--show-only=json-v1'], check=True, capture_output=True,
                          text=True)
  tests = {}
  for test in json.loads(answer.stdout)['tests']:
    properties = {entry['name']: entry['value'] for entry in test.get('properties', [])}
    command = test.get('command', [])
    tests[test['name']] = Test(test['name'], properties.get('LABELS', []),
                               [pathlib.Path(word).name for word in command if f'/{build.name}/bin/' in word],
                               'PASS_REGULAR_EXPRESSION' in properties or any(WHOLE.search(word) for word in command),
                               next((word.removeprefix(FILTER) for word in command if word.startswith(FILTER)), ''))
  return tests


def why_long(name):
  return next((why for expression, why in LONG if re.search(expression, name)), None)


def can_run(build, name):
  """Does `make test` run tests of this name in this build, if they are in a row?"""
  return not why_long(name) and (build == MAIN or not ONE_MPI.search(name))


def needs(build, test):
  """What a row with this test covers, in the builds of both MPIs."""
  found = {('ranks', test.family, test.ranks), ('ABI', test.family, build)}
  found |= {('program', program) for program in test.programs}
  found |= {('setting', test.family, word) for word in test.settings}
  found |= {('settings', test.family, *pair) for pair in itertools.combinations(sorted(test.settings), 2)}
  if ALWAYS.search(test.name) and build == MAIN:
    found.add(('always', test.name))
  return found


def fewer_needs(build, test):
  found = {('family', test.family, build), ('ranks', test.ranks, build)}
  if ALWAYS.search(test.name):
    found.add(('always', test.name, build))
  return found


def cost(build, test):
  """About how long a test takes, in no unit."""
  spins = build == SPINNING
  return (1 + test.ranks / 4 * (4 if spins and test.ranks > MOST_SPINNING else 1)) * (1.6 if spins else 1) * (
      2 if 'cluster' in test.labels else 1)


def cover(covered, there=frozenset()):
  """Chooses of {key: (cost, what it covers)} keys that cover all that the keys in `there` do not, each time the one that
  covers most for its cost."""
  left = set().union(*(what for _, what in covered.values())) if covered else set()
  left -= set().union(*(what for key, (_, what) in covered.items() if key in there), set())
  heap = [(-len(what) / price, key) for key, (price, what) in covered.items()]
  heapq.heapify(heap)
  chosen = set()
  while left and heap:
    _, key = heapq.heappop(heap)
    price, what = covered[key]
    worth = -len(what & left) / price
    if worth == 0:
      continue
    if heap and worth > heap[0][0]:
      heapq.heappush(heap, (worth, key))
      continue
    chosen.add(key)
    left -= what
  return chosen


def candidates(build, tests, strength):
  return {(build, name): (cost(build, test), strength(build, test)) for name, test in tests.items()
          if test.is_of_a_matrix() and can_run(build, name)}


def choose(builds, there=frozenset()):
  """The rows: a set of (build, test), with those that are there. builds: {name: {test: Test}}."""
  both = {name: tests for name, tests in builds.items() if name in (MAIN, SPINNING)}
  rows = there | cover({key: one for name, tests in both.items() for key, one in candidates(name, tests, needs).items()}, there)
  for name, tests in builds.items():
    if name not in both:
      rows |= cover(candidates(name, tests, fewer_needs), there)
  return rows


def missing(builds, rows):
  """What no row covers, and rows of these builds that name no test. A build without rows is not looked at."""
  wrong = []
  both = {name: tests for name, tests in builds.items() if name in (MAIN, SPINNING)}
  groups = [(both, needs)] if len(both) == 2 else []
  groups += [({name: tests}, fewer_needs) for name, tests in builds.items() if name not in both]
  for group, strength in groups:
    all_of = {key: what for name, tests in group.items() for key, (_, what) in candidates(name, tests, strength).items()}
    have = set().union(*(what for key, what in all_of.items() if key in rows), set())
    wrong += [f'no row has {" ".join(map(str, pair))}' for pair in sorted(set().union(*all_of.values(), set()) - have, key=str)]
    wrong += [f'{build} has no test {name}' for build, name in sorted(rows) if build in group and (build, name) not in all_of]
  return wrong


def read():
  return {tuple(line.split(' ', 1)) for line in ROWS.read_text().splitlines() if line and not line.startswith('#')}


def selected(build, tests, rows):
  """The names of `tests` that `make test` runs in this build."""
  return {name for name, test in tests.items() if can_run(build, name) and (
      (build, name) in rows if test.is_of_a_matrix() else True)}


def part_of(build, name, tests, names, both_run_hosts):
  """The part of its cases that a test runs, as "0/6", or None for all.

  Each case of a program runs in some row: rows that name no cases share all of them, one part after the other, or a test
  of ALWAYS has all. Where that is so, other rows run a sixth of their cases, and with many ranks a twelfth; else those that
  name the same ones share them.
  A test on hosts that is of no matrix runs half of its cases on each MPI, or all where one MPI alone runs such tests."""
  def runs_always(test):
    return build == MAIN and ALWAYS.search(test.name)

  def shares(test):
    return test.is_of_a_matrix() and not test.whole and not runs_always(test)

  test = tests[name]
  if 'cluster' in test.labels and not test.is_of_a_matrix() and not test.whole:
    return {MAIN: '0/2', SPINNING: '1/2'}.get(build) if both_run_hosts else None
  if not shares(test):
    return None
  # Rows with many ranks come last: the others, which run the larger parts, take the first numbers.
  of_program = sorted((one for one in names if tests[one].is_of_a_matrix() and tests[one].programs == test.programs),
                      key=lambda one: (tests[one].ranks > MANY, one))
  with_all = [one for one in of_program if not tests[one].names_cases()]
  alike = [one for one in of_program if shares(tests[one]) and (build.endswith(ASAN) or tests[one].cases == test.cases)]
  others_run_all = any(runs_always(tests[one]) for one in with_all) or (test.names_cases() and with_all)
  if others_run_all and test.ranks > MANY:
    parts = 2 * PARTS
  else:
    parts = PARTS if others_run_all or build.endswith(ASAN) else min(PARTS, len(alike))
  return f'{alike.index(name) % parts}/{parts}' if parts > 1 else None


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
  if words not in (['write'], ['check']):
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
  there = read() if ROWS.exists() else set()
  rows = choose(builds, frozenset((build, name) for build, name in there
                                  if build not in builds or (name in builds[build] and can_run(build, name))))
  ROWS.write_text('# The tests of the large matrices that `make test` runs, by build or MPI. Written by scripts/rows.py.\n' +
                  ''.join(f'{build} {name}\n' for build, name in sorted(rows)))
  for name in sorted(builds):
    print(f'{name}: {sum(build == name for build, _ in rows)} rows')
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
