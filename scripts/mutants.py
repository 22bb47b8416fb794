#!/usr/bin/env python3
"""Puts mistakes into the library, one at a time, and says which test finds each.

  mutants.py                    all of tests/mutants
  mutants.py 01 14              these
  mutants.py --new              those without a stored result
  mutants.py --again            also those with a result for this commit
  mutants.py --list             what they are
  mutants.py --write            store the results for this commit in tests/mutants/results.json, and write the table of all
                                stored ones into tests/mutants/README.md; exit status 1 if a mutant has none, or was not found

A mutant is a patch with a head: the room that it is in, what is wrong then, the tests that should find it (a regular
expression for CTest), which of their cases (a filter for GoogleTest, unless all), and what to build for them, if anything.
The work is done on a copy of the last commit, in build/mutants; there all named tests must pass first. If they do not find
a mutant, the tests of `make check` run, too. A mutant that no test finds, or that does not compile, makes the exit status 1.
Results are kept: a stopped run continues. A stored result is that of a patch's head and of the lines that the patch changes.
"""

import argparse
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTANTS = ROOT / 'tests' / 'mutants'
FOLDER = ROOT / 'build' / 'mutants'
SOURCE = FOLDER / 'source'
BUILD = SOURCE / 'build'  # where other copies have theirs: ccache takes objects from these
RANKS = BUILD / 'openmpi'  # tests with ranks
LIBRARY = ['quadrille_api', 'quadrille_core', 'quadrille_so', 'quadrille_preload']  # what these are linked to
RESULTS = FOLDER / 'results.json'
STORED = MUTANTS / 'results.json'
PAGE, MARK = MUTANTS / 'README.md', '<!-- written by scripts/mutants.py --write -->\n'
TEST_TIMEOUT_S = 60  # a hang counts as found
# What `make check` builds and runs. docs.mutants and docs.format would find the patch itself.
CHECK_TARGETS, CHECK_TIMEOUT_S = ['quadrille_checked'], 600
CHECK_TESTS = ['-L', '^(plan|run|device|check)$', '-E', r'^docs\.(mutants|format)$']


@dataclasses.dataclass
class Mutant:
  name: str
  patch: pathlib.Path
  room: str
  what: str
  tests: str
  cases: str
  targets: list


def read_mutant(path):
  head = dict(re.findall(r'^# (\w+): (.*)$', path.read_text(), re.MULTILINE))
  lacking = [word for word in ('room', 'what', 'tests') if not head.get(word)]
  if lacking:
    raise SystemExit(f'mutants: {path.name} has no line "# {lacking[0]}: ..."')
  return Mutant(path.stem, path, head['room'], head['what'], head['tests'], head.get('cases', '*'),
                head.get('targets', '').split())


def digest_of(mutant):
  """Of what decides the result. Lines around a change, and their numbers, do not."""
  lines = [line for line in mutant.patch.read_text().splitlines() if re.match(r'# |[+-]', line)]
  return hashlib.sha256('\n'.join(lines).encode()).hexdigest()[:12]


def run(command, **more):
  return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)


def checked(command):
  answer = run(command)
  if answer.returncode != 0:
    raise SystemExit(f'mutants: {" ".join(map(str, command))}\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}')


def last_commit():
  return run(['git', '-C', ROOT, 'rev-parse', 'HEAD']).stdout.strip()


def prepare():
  """A copy of the last commit, and a configured build of it."""
  FOLDER.mkdir(parents=True, exist_ok=True)
  if not SOURCE.exists():
    checked(['git', '-C', ROOT, 'worktree', 'prune'])  # git still lists the copy if somebody has removed build/
    checked(['git', '-C', ROOT, 'worktree', 'add', '--detach', SOURCE, 'HEAD'])
  checked(['git', '-C', SOURCE, 'checkout', '-q', '--force', '--detach', last_commit()])
  checked(['cmake', '-S', SOURCE, '-B', BUILD, '-G', 'Ninja'])
  checked(['cmake', '-S', SOURCE, '-B', RANKS, '-G', 'Ninja', '-DQUADRILLE_MPI=openmpi'])


def builds_of(targets):
  """The commands that build `targets`: those of the product, and of the tests with ranks."""
  known = set(re.findall(r'^(\w+): phony$', run(['cmake', '--build', BUILD, '--target', 'help']).stdout, re.MULTILINE))
  with_ranks = sorted(set(targets) - known)
  without = sorted(set(targets) & known | set(LIBRARY if with_ranks else []))
  return [['cmake', '--build', folder, '--target', *those] for folder, those in ((BUILD, without), (RANKS, with_ranks)) if those]


def build(targets):
  """Whether they compile."""
  return all(run(command).returncode == 0 for command in builds_of(targets))


def count_run(mutant, tests):
  """How many <testcase> elements ran, or how many cases GoogleTest says that it ran if the mutant names cases."""
  ran = [test for test in tests if test.get('status') in ('run', 'fail')]
  if mutant.cases == '*':
    return len(ran)
  output = ' '.join(test.findtext('system-out') or '' for test in ran)
  return sum(map(int, re.findall(r'Running (\d+) tests? from', output)))


def run_tests(folder, which, timeout_s, **environment):
  """The <testcase> elements of the tests of a build, up to the first that fails."""
  report = FOLDER / 'report.xml'
  report.unlink(missing_ok=True)
  run(['ctest', '--test-dir', folder, *which, '--timeout', timeout_s, '--stop-on-failure', '--no-tests=ignore',
       '--output-junit', report, '--test-output-size-passed', '1000000'], env={**os.environ, **environment})
  return list(xml.etree.ElementTree.parse(report).iter('testcase')) if report.exists() else []


def first_failed(tests):
  return next((test.get('name') for test in tests if test.get('status') == 'fail'), None)


def failing(mutant):
  """The first test that fails of those that should find it, or None; and how many tests or cases ran."""
  tests = [test for folder in (BUILD, RANKS)
           for test in run_tests(folder, ['-R', mutant.tests], TEST_TIMEOUT_S, GTEST_FILTER=mutant.cases)]
  return first_failed(tests), count_run(mutant, tests)


def failing_in_check():
  """The first test of `make check` that fails, or None."""
  return first_failed(run_tests(BUILD, CHECK_TESTS, CHECK_TIMEOUT_S, QUADRILLE_TEST_PROOF_RANKS='17'))


@functools.cache
def check_passes_without_mutants():
  for command in builds_of(CHECK_TARGETS):
    checked(command)
  if test := failing_in_check():
    raise SystemExit(f'mutants: {test} of make check fails without a mutant')


@contextlib.contextmanager
def applied(mutant):
  checked(['git', '-C', SOURCE, 'apply', mutant.patch])
  try:
    yield
  finally:
    checked(['git', '-C', SOURCE, 'apply', '-R', mutant.patch])


def try_named_tests(mutant):
  with applied(mutant):
    if not build(mutant.targets):
      return 'does not compile'
    test, ran = failing(mutant)
  cases = '' if mutant.cases == '*' else f' {mutant.cases}'
  return f'found by {test}{cases}' if test else 'survives' if ran else 'no such tests'


def try_check(mutant):
  check_passes_without_mutants()
  with applied(mutant):
    if not build(CHECK_TARGETS):
      return 'does not compile'
    test = failing_in_check()
  return f'found by make check: {test}, not by its named tests' if test else 'survives'


def try_mutant(mutant):
  """What became of it."""
  result = try_named_tests(mutant)
  return try_check(mutant) if result == 'survives' else result


def kept_results(commit, mutants):
  """{name: result} of this commit, without those of patches that have changed since."""
  kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
  results = kept['results'] if kept.get('commit') == commit else {}
  return {one.name: results[one.name] for one in mutants if results.get(one.name, {}).get('patch') == digest_of(one)}


def try_all(mutants, commit, results):
  prepare()
  print(f'{len(mutants)} mutants; first all tests without any', flush=True)
  for command in builds_of(sorted({target for one in mutants for target in one.targets})):
    checked(command)
  for one in {(one.tests, one.cases): one for one in mutants}.values():
    test, ran = failing(one)
    if test:
      raise SystemExit(f'mutants: {test} fails without a mutant')
    if not ran:
      raise SystemExit(f'mutants: {one.name}: no test {one.tests} with cases {one.cases} runs')
  for one in mutants:
    start = time.monotonic()
    results[one.name] = {'patch': digest_of(one), 'result': try_mutant(one), 'seconds': round(time.monotonic() - start, 1)}
    RESULTS.write_text(json.dumps({'commit': commit, 'results': results}, indent=1) + '\n')
    print(f'{one.name} ({one.room}): {results[one.name]["result"]}, {results[one.name]["seconds"]} s', flush=True)


# ---- Stored results ----

def stored_results():
  return json.loads(STORED.read_text()) if STORED.exists() else {}


def why_not_found(mutant, stored):
  """What is wrong with the stored result of a mutant; empty if the mutant was found."""
  one = stored.get(mutant.name)
  if one is None:
    return 'no stored result'
  if one['patch'] != digest_of(mutant):
    return 'the stored result is that of another patch'
  return '' if one['result'].startswith('found by ') else one['result']


def table_of(mutants, stored):
  lines = ['| mutant | room | mistake | found by | seconds |', '|---|---|---|---|---|']
  for one in mutants:
    found = stored[one.name]
    by = found['result'].removeprefix('found by ').replace('|', '\\|')
    lines.append(f'| {one.name.split("-")[0]} | {one.room} | {one.what} | `{by}` | {found["seconds"]:.0f} |')
  return '\n'.join(lines) + '\n'


def page_with(mutants, stored):
  return PAGE.read_text().split(MARK)[0] + MARK + '\n' + table_of(mutants, stored)


def write(mutants, commit):
  """Stores the results for `commit` of mutants that were found, keeps the older ones of others, and writes the page."""
  new = {name: {'commit': commit, **one} for name, one in kept_results(commit, mutants).items()}
  known = stored_results() | new
  lacking = {one.name: why for one in mutants if (why := why_not_found(one, known))}
  found = [one for one in mutants if one.name not in lacking]
  STORED.write_text('{\n' + ',\n'.join(f'"{one.name}": {json.dumps(known[one.name])}' for one in found) + '\n}\n')
  PAGE.write_text(page_with(found, known))
  for name, why in lacking.items():
    print(f'{name}: {why}', file=sys.stderr)
  return 1 if lacking else 0


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('mutants', nargs='*', help='numbers or names; all if none is given')
  parser.add_argument('--new', action='store_true', help='those without a stored result')
  parser.add_argument('--again', action='store_true', help='also those with a result for this commit')
  parser.add_argument('--list', action='store_true', help='say what they are')
  parser.add_argument('--write', action='store_true', help='store the results and write the table, and try nothing')
  arguments = parser.parse_args()
  mutants = [read_mutant(path) for path in sorted(MUTANTS.glob('*.patch'))]
  chosen = [one for one in mutants if not arguments.mutants or one.name in arguments.mutants
            or one.name.split('-')[0] in arguments.mutants]
  if not chosen:
    print('mutants: none is named so; --list shows them', file=sys.stderr)
    return 2
  if arguments.new:
    stored = stored_results()
    chosen = [one for one in chosen if why_not_found(one, stored)]
  if arguments.list:
    for one in chosen:
      print(f'{one.name} ({one.room}): {one.what}')
    return 0
  commit = last_commit()
  if arguments.write:
    return write(mutants, commit)
  results = kept_results(commit, mutants)
  new = [one for one in chosen if arguments.again or one.name not in results]
  if new:
    try_all(new, commit, results)
  left = sum(not results[one.name]['result'].startswith('found') for one in chosen)
  print(f'{len(chosen) - left} found, {left} not; {len(chosen) - len(new)} of them before')
  return 1 if left else 0


if __name__ == '__main__':
  sys.exit(main())
