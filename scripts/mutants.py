#!/usr/bin/env python3
"""Puts mistakes into the library, one at a time, and says which test finds each.

  mutants.py                    all of tests/mutants
  mutants.py 01 14              these
  mutants.py --list             what they are

A mutant is a patch with a head: the room that it is in, what is wrong then, the tests that should find it, and what to
build for them. The work is done on a copy of the last commit, in build/mutants. There all named tests must pass
without a mutant first. A mutant that no test finds, or that does not compile, makes the exit status 1.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTANTS = ROOT / 'tests' / 'mutants'
FOLDER = ROOT / 'build' / 'mutants'
SOURCE, BUILD = FOLDER / 'source', FOLDER / 'openmpi'
RESULTS = FOLDER / 'results.json'
TEST_TIMEOUT_S = 60  # what hangs is found, too


@dataclasses.dataclass
class Mutant:
  name: str
  patch: pathlib.Path
  room: str
  what: str
  tests: str
  targets: list


def read_mutant(path):
  head = dict(re.findall(r'^# (\w+): (.*)$', path.read_text(), re.MULTILINE))
  lacking = [word for word in ('room', 'what', 'tests', 'targets') if not head.get(word)]
  if lacking:
    raise SystemExit(f'mutants: {path.name} has no line "# {lacking[0]}: ..."')
  return Mutant(path.stem, path, head['room'], head['what'], head['tests'], head['targets'].split())


def run(command, **more):
  return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)


def checked(command):
  answer = run(command)
  if answer.returncode != 0:
    raise SystemExit(f'mutants: {" ".join(map(str, command))}\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}')


def prepare():
  """A copy of the last commit, and a configured build of it."""
  FOLDER.mkdir(parents=True, exist_ok=True)
  if not SOURCE.exists():
    checked(['git', '-C', ROOT, 'worktree', 'add', '--detach', SOURCE, 'HEAD'])
  checked(['git', '-C', SOURCE, 'checkout', '-q', '--force', '--detach',
           run(['git', '-C', ROOT, 'rev-parse', 'HEAD']).stdout.strip()])
  checked(['cmake', '-S', SOURCE, '-B', BUILD, '-G', 'Ninja', '-DQUADRILLE_MPI=openmpi'])


def build(targets):
  return run(['cmake', '--build', BUILD, '--target', *targets])


def failing(tests):
  """The first test that fails of those whose names match, or None; and how many ran."""
  report = FOLDER / 'report.xml'
  report.unlink(missing_ok=True)
  run(['ctest', '--test-dir', BUILD, '-R', tests, '--timeout', TEST_TIMEOUT_S, '--stop-on-failure', '--output-junit', report])
  cases = list(xml.etree.ElementTree.parse(report).iter('testcase')) if report.exists() else []
  failed = next((case.get('name') for case in cases if case.get('status') == 'fail'), None)
  return failed, sum(case.get('status') in ('run', 'fail') for case in cases)


def try_mutant(mutant):
  """A row of the table: (result, seconds)."""
  start = time.monotonic()
  checked(['git', '-C', SOURCE, 'apply', mutant.patch])
  try:
    if build(mutant.targets).returncode != 0:
      return 'does not compile', time.monotonic() - start
    test, ran = failing(mutant.tests)
    result = f'found by {test}' if test else 'no such tests' if not ran else 'survives'
    return result, time.monotonic() - start
  finally:
    checked(['git', '-C', SOURCE, 'apply', '-R', mutant.patch])


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('mutants', nargs='*', help='numbers or names; all if none is given')
  parser.add_argument('--list', action='store_true')
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
  prepare()
  print(f'{len(chosen)} mutants; first all without any', flush=True)
  checked(['cmake', '--build', BUILD, '--target', *sorted({target for one in chosen for target in one.targets})])
  for tests in sorted({one.tests for one in chosen}):
    test, _ = failing(tests)
    if test:
      print(f'mutants: {test} fails without a mutant', file=sys.stderr)
      return 1
  results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
  left = 0
  for one in chosen:
    result, seconds = try_mutant(one)
    left += not result.startswith('found')
    results[one.name] = {'room': one.room, 'what': one.what, 'result': result, 'seconds': round(seconds)}
    RESULTS.write_text(json.dumps(results, indent=1) + '\n')
    print(f'{one.name} ({one.room}): {result}, {seconds:.0f} s', flush=True)
  print(f'{len(chosen) - left} found, {left} not')
  return 1 if left else 0


if __name__ == '__main__':
  sys.exit(main())
