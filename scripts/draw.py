"""Draws which tests of the large matrices run, from a seed.

The tests of a matrix are alike: one program with other numbers of ranks, algorithms or settings. Of these
(MATRICES) about one in EVERY runs, or in what EVERY_OF says, and at least

  * one of each family: what the name says before its numbers and settings (`mpi.nodes-sh-co.7` is of `mpi.nodes`),
  * one of each number of ranks,
  * those of ALWAYS.

Of MPICH's build, which runs the same programs, half as many run; a family or number of ranks that both builds have is
met in one of them, numbers over four in Open MPI's (SPINS). What takes long and is about the same with both MPIs (WITH_EITHER) runs
with one of the two. Of the other MPIs with the same tests a draw leaves one out.

Tests that need one long preparation, such as another build, run all together, or none of them (TOGETHER). What takes
long and sees little that others do not (SELDOM) runs in one draw of a few.

All other tests run always. The draw of a test depends on the seed, the build and its name alone, so a seed and a
build always give the same tests, and a test that is added changes little.
"""

import hashlib
import random
import re
import sys

# Labels of the matrices.
MATRICES = {'mpi', 'examples', 'plan', 'cluster', 'hosts', 'run'}
EVERY = 24
# Those on several hosts take seconds each: beside one of each kind few others.
EVERY_OF = {'hosts': 50}
# Small and telling: both doors, neighbours, the sparse exchange, requests and forced algorithms with three ranks;
# neighbours also with six, where there are grids to recognise; requests also with more ranks than processors, in orders
# of copies, and by a thread. What they skip elsewhere runs here.
ALWAYS = re.compile(r'^mpi\.((api|dropin|neighbor|sparse|requests|forced)\.3|neighbor\.6'
                    r'|requests-(copies|one-processor|by-thread-single|by-thread-multiple)\.3|taken-check-multiple\.2'
                    r'|refused-(dropin|api|api-nodes)\.3|refused-trials\.4)$')
# Of these labels what is one test by itself, and none of many with other parameters, runs always, in one build: it is quick.
UNITS, UNITS_IN = {'plan', 'run'}, 'openmpi'
SANITIZED = 'asan'
# By build. With AddressSanitizer a test takes ten times as long.
TIMES_IF = {f'openmpi-{SANITIZED}': 3, 'mpich': 3}
# A rank that waits in MPICH never leaves its processor: programs of many ranks take half a minute there, and milliseconds elsewhere.
SPINS, MOST_IN_SPINS = 'mpich', 4
# Programs that are drawn anew each time, crowds of processes, and what no MPI has a part in.
EITHER = ('openmpi', 'mpich')
WITH_EITHER = re.compile(r'^(fuzz\.(some|finds|tables)$|cluster\.many-hosts\.|tools\.(bench|info)_runs$|mpi\.device-huge\.)')
# By label: one draw of so many has them. The wheel is built from nothing, for both ABIs. With a sanitizer the command
# line tool and the laboratory take as long to compile as all else.
TOGETHER = {'wheel': 6}
TOGETHER_IF = {f'openmpi-{SANITIZED}': {'tools': 6}}
# A browser is installed for the tests of pages in one draw of so many (.ci/run); without one they are skipped.
BROWSER = 4
# Each of these runs in one draw of so many: a thousand ranks, all orders of up to 64, computed results computed anew, the
# tool's long scripts, the heap's tests once more with other settings, and packages.
SELDOM = 3
IS_SELDOM = re.compile(r'^(Crowd\..*1024|OrderPlanTest\.AllPairs|.*ThousandRanksAreProved|(BruckSimulations|CacheTables)\.AreStored|run-inbox-wrap$'
                       r'|tools\.(gpu_figure|device|overlap|tune_neighbors|model|gpu_report|explain|report|html|tune_algorithms)_runs$'
                       r'|tools\.(bench_errors|report_again)$|Progress\.Without|heap\.(with_|switched_off)|package\.|docs\.draw$|mpi\.huge'
                       r'|mpi\.faults|cluster\.failures)')
# And these in one of more: they build everything twice, or want the Python package index, and what they see rarely changes. What
# they need that the others do not is installed in the draws that have them (.ci/run).
RARE = 8
IS_RARE = re.compile(r'^(package\.deb|docs\.site-built)$')
EVERYTHING = 'all'


def new_seed():
  return str(random.SystemRandom().randrange(1_000_000))


def part(seed, parts):
  """Which of so many parts, from 0 on."""
  return hashlib.sha256(str(seed).encode()).digest()[0] % parts


def family(name):
  name = name.partition('  #')[0]  # googletest adds what the parameter is
  if '/' in name:  # a test with parameters: `All/SuiteTest.Name/parameter`
    return name.rsplit('/', 1)[0]
  first, _, rest = name.partition('.')
  if first[0].isupper():
    return first  # one of a suite
  return f'{first}.{re.split("[.-]", rest)[0]}'


def ranks(name):
  found = re.search(r'\.(?:ranks)?(\d+)$', name)
  return found[1] if found else None


def kinds_of(name, labels):
  """Of each kind that a draw has at least one test runs."""
  matrix = frozenset(MATRICES & labels)
  return {(matrix, 'family', family(name)), (matrix, 'ranks', ranks(name))}


def together(build):
  return TOGETHER | TOGETHER_IF.get(build, {})


def has(seed, build, label):
  """Does a draw have the tests with this label, which run together?"""
  return seed == EVERYTHING or part(f'{seed}/{label}', together(build).get(label, 1)) == 0


def left_out_of(seed, names, what):
  """Which of several MPIs, on which the tests run once more, a draw leaves out; none of one, or of all."""
  return None if seed == EVERYTHING or len(names) < 2 else sorted(names)[part(f'{seed}/{what}', len(names))]


def has_many_ranks(kind):
  return kind[1] == 'ranks' and kind[2] is not None and int(kind[2]) > MOST_IN_SPINS


def is_time_for(seed, build, name):
  if IS_RARE.search(name):
    return has_rare(seed, name)
  return not IS_SELDOM.search(name) or part(f'{seed}/{build}/{name}/seldom', SELDOM) == 0


def has_rare(seed, name):
  return seed == EVERYTHING or part(f'{seed}/{name}', RARE) == 0


def is_unit(build, name, labels):
  return build == UNITS_IN and labels & UNITS and '/' not in name.partition('  #')[0] and name[0].isupper()


def is_here(seed, build, name):
  """Is a test for this one of the two builds?"""
  if build not in EITHER or not WITH_EITHER.search(name):
    return True
  return EITHER[part(f'{seed}/{name}', len(EITHER))] == build


def met_elsewhere(seed, build, kind, elsewhere):
  """Is one of this kind drawn in the other build?"""
  if build not in EITHER or kind not in elsewhere:
    return False
  if has_many_ranks(kind):
    return build == SPINS
  return EITHER[part(f'{seed}/{sorted(kind[0])}/{kind[1:]}', len(EITHER))] != build


def draw(seed, build, tests, others=None):
  """The names of `tests` that run. tests: {name: set of labels}; others: those of the other build, if it is drawn, too."""
  if seed == EVERYTHING:
    return set(tests)

  def luck(name):
    return int.from_bytes(hashlib.sha256(f'{seed}/{build}/{name}'.encode()).digest()[:8], 'big')

  left_out = {label for label in together(build) if not has(seed, build, label)}
  tests = {name: labels for name, labels in tests.items()
           if not labels & left_out and is_here(seed, build, name) and is_time_for(seed, build, name)}
  elsewhere = {kind for name, labels in (others or {}).items() if MATRICES & labels for kind in kinds_of(name, labels)}
  times = TIMES_IF.get(build, 1)
  chosen, met = set(), set()
  # The luckiest comes first, so the first of its kind is drawn by chance, too.
  for name in sorted(tests, key=lambda name: (build == SPINS and any(map(has_many_ranks, kinds_of(name, tests[name]))), luck(name))):
    kinds = kinds_of(name, tests[name])
    new = {kind for kind in kinds if kind[2] and kind not in met and not met_elsewhere(seed, build, kind, elsewhere)}
    every = max((EVERY_OF.get(label, EVERY) for label in MATRICES & tests[name]), default=1) * times
    if new or ALWAYS.search(name) or is_unit(build, name, tests[name]) or luck(name) % every == 0:
      chosen.add(name)
      met |= kinds
  return chosen


def main(words):
  """draw.py has LABEL BUILD SEED, draw.py browser SEED or draw.py rare TEST SEED: exit status 0 if the draw has these tests."""
  if words[0] == 'rare':
    return 0 if has_rare(words[2], words[1]) else 1
  if words[0] == 'browser':
    return 0 if words[1] == EVERYTHING or part(f'{words[1]}/browser', BROWSER) == 0 else 1
  return 0 if has(words[3], words[2], words[1]) else 1


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
