#!/usr/bin/env python3
"""Puts mistakes into the library, one at a time, and says which test finds each.

  mutants.py                    all of tests/mutants
  mutants.py 01 14              these
  mutants.py --again            also those with a result for this commit
  mutants.py --list             what they are
  mutants.py --write            how many were found into docs/testing.md; all mutants need a result for this commit

A mutant is a patch with a head: the room that it is in, what is wrong then, the tests that should find it (a regular
expression for CTest), which of their cases (a filter for GoogleTest, unless all), and what to build for them. The work
is done on a copy of the last commit, in build/mutants; there all named tests must pass first. A mutant that no test
finds, or that does not compile, makes the exit status 1. Results are kept: a stopped run continues.
"""

import argparse
import dataclasses
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
PAGE, MARKS = ROOT / 'docs' / 'testing.md', ('<!-- mutants -->\n', '<!-- end of mutants -->\n')
TEST_TIMEOUT_S = 60  # a hang counts as found


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
  lacking = [word for word in ('room', 'what', 'tests', 'targets') if not head.get(word)]
  if lacking:
    raise SystemExit(f'mutants: {path.name} has no line "# {lacking[0]}: ..."')
  return Mutant(path.stem, path, head['room'], head['what'], head['tests'], head.get('cases', '*'),
                head['targets'].split())


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
  commands = [['cmake', '--build', BUILD, '--target', *sorted(set(targets) & known | set(LIBRARY if with_ranks else []))]]
  return commands + ([['cmake', '--build', RANKS, '--target', *with_ranks]] if with_ranks else [])


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


def failing(mutant):
  """The first test that fails of those that should find it, or None; and how many tests or cases ran."""
  report, tests = FOLDER / 'report.xml', []
  for folder in (BUILD, RANKS):
    report.unlink(missing_ok=True)
    run(['ctest', '--test-dir', folder, '-R', mutant.tests, '--timeout', TEST_TIMEOUT_S, '--stop-on-failure', '--no-tests=ignore',
         '--output-junit', report, '--test-output-size-passed', '1000000'], env={**os.environ, 'GTEST_FILTER': mutant.cases})
    tests += xml.etree.ElementTree.parse(report).iter('testcase') if report.exists() else []
  failed = next((test.get('name') for test in tests if test.get('status') == 'fail'), None)
  return failed, count_run(mutant, tests)


def try_mutant(mutant):
  """What became of it."""
  checked(['git', '-C', SOURCE, 'apply', mutant.patch])
  try:
    if not build(mutant.targets):
      return 'does not compile'
    test, ran = failing(mutant)
    cases = '' if mutant.cases == '*' else f' {mutant.cases}'
    return f'found by {test}{cases}' if test else 'survives' if ran else 'no such tests'
  finally:
    checked(['git', '-C', SOURCE, 'apply', '-R', mutant.patch])


def kept_results(commit):
  kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
  return kept['results'] if kept.get('commit') == commit else {}


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
    results[one.name] = {'result': try_mutant(one), 'seconds': round(time.monotonic() - start, 1)}
    RESULTS.write_text(json.dumps({'commit': commit, 'results': results}, indent=1) + '\n')
    print(f'{one.name} ({one.room}): {results[one.name]["result"]}, {results[one.name]["seconds"]} s', flush=True)


def write_count(mutants, results):
  found = sum(results[one.name]['result'].startswith('found') for one in mutants)
  before, rest = PAGE.read_text().split(MARKS[0])
  PAGE.write_text(f'{before}{MARKS[0]}At the last run {found} of {len(mutants)} were found.\n{MARKS[1]}{rest.split(MARKS[1])[1]}')


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('mutants', nargs='*', help='numbers or names; all if none is given')
  parser.add_argument('--again', action='store_true', help='also those with a result for this commit')
  parser.add_argument('--list', action='store_true', help='say what they are')
  parser.add_argument('--write', action='store_true', help='write how many were found into docs/testing.md, and try nothing')
  arguments = parser.parse_args()
  mutants = [read_mutant(path) for path in sorted(MUTANTS.glob('*.patch'))]
  chosen = [one for one in mutants if not arguments.mutants or one.name in arguments.mutants
            or one.name.split('-')[0] in arguments.mutants]
  if not chosen:
    print('mutants: none is named so; --list shows them', file=sys.stderr)
    return 2
  if arguments.list:
    for one in chosen:
      print(f'{one.name} ({one.room}): {one.what}')
    return 0
  commit = last_commit()
  results = kept_results(commit)
  if arguments.write:
    lacking = [one.name for one in mutants if one.name not in results]
    if lacking:
      print(f'mutants: no result for commit {commit[:12]}: {", ".join(lacking)}; run scripts/mutants.py first',
            file=sys.stderr)
      return 1
    write_count(mutants, results)
    return 0
  new = [one for one in chosen if arguments.again or one.name not in results]
  if new:
    try_all(new, commit, results)
  left = sum(not results[one.name]['result'].startswith('found') for one in chosen)
  print(f'{len(chosen) - left} found, {left} not; {len(chosen) - len(new)} of them before')
  return 1 if left else 0


if __name__ == '__main__':
  sys.exit(main())
