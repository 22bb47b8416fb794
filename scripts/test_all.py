#!/usr/bin/env python3
"""Runs every test of every matrix, in parts of at most 90 minutes, and writes down what each part gave.

  test_all.py                 the parts that have not passed at this commit
  test_all.py mpich-mpi asan  these parts, whether they have passed or not
  test_all.py --list          the parts, and what is known of each

build/test-all.json has of each part the commit, the date, how long it took, and how many tests passed and failed. A run
that was stopped resumes with the first part that has not passed. The last line is 'N passed, N failed', of the parts that ran.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / 'build' / 'test-all.json'
PART_TIMEOUT_S = 90 * 60
SUMMARY = re.compile(r'^(\d+) passed, (\d+) failed$', re.MULTILINE)
UNITS = '^(plan|run|device|heap|simulate)$'
TOOLS = '^(tools|docs|package|wheel)$'
USERS = '^(tools|heap|clients|package|fuzz)$'  # with ranks
ALL_OF_TOOLS = ['env', 'QUADRILLE_TEST_ALL=1']


def tests_of(build, labels, *more):
  return [sys.executable, 'scripts/run_tests.py', '--all', '--builds', build, '--labels', labels, *more]


def parts():
  """{name: command}, in the order in which they run."""
  found = {'units': tests_of('build', UNITS), 'tools': [*ALL_OF_TOOLS, *tests_of('build', TOOLS)]}
  for mpi in ('openmpi', 'mpich', 'standard'):
    build = f'build/{mpi}'
    found |= {f'{mpi}-mpi': tests_of(build, '^mpi$', '--without', '^(mpi-device|fuzz)$'),
              f'{mpi}-device': tests_of(build, '^(mpi-device|device)$', '--without', '^clients$'),
              f'{mpi}-examples': tests_of(build, '^examples$')}
    if mpi != 'standard':
      found |= {f'{mpi}-users': [*ALL_OF_TOOLS, *tests_of(build, USERS)],
                f'{mpi}-cluster': tests_of(build, '^cluster$')}
  return found | {'tidy': [sys.executable, 'scripts/tidy.py'],
                  'other-mpis': [sys.executable, 'scripts/other_mpis.py'],
                  'kept': [sys.executable, 'scripts/fuzz.py', '--kept'],  # on all MPIs
                  'soak': [sys.executable, 'scripts/fuzz.py', '--seconds', '3600'],
                  'asan': ['make', '--no-print-directory', 'test-sanitize', 'ALL=1'],
                  'tsan': ['make', '--no-print-directory', 'test-tsan', 'ALL=1']}


def commit():
  """The commit that is checked out; with a star if files differ from it."""
  name = subprocess.run(['git', '-C', str(ROOT), 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True, check=True)
  changed = subprocess.run(['git', '-C', str(ROOT), 'status', '--porcelain'], capture_output=True, text=True, check=True)
  return name.stdout.strip() + ('*' if changed.stdout.strip() else '')


def read_record():
  return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def run_part(name, command):
  """Runs a part, shows what it prints, and keeps it in build/test-all-NAME.log. Returns what the record has of it."""
  here, log = commit(), ROOT / 'build' / f'test-all-{name}.log'
  start = time.monotonic()
  with log.open('w') as out:
    process = subprocess.Popen(['timeout', str(PART_TIMEOUT_S), *command], cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    for line in process.stdout:
      out.write(line)
      sys.stdout.write(line)
    status = process.wait()
  summaries = SUMMARY.findall(log.read_text())
  passed, failed = map(int, summaries[-1]) if summaries else (0, 1)
  return {'commit': here, 'date': datetime.date.today().isoformat(), 'minutes': round((time.monotonic() - start) / 60, 1),
          'passed': passed, 'failed': failed if failed or status == 0 else 1}


def says(record):
  if not record:
    return 'never run'
  return f'{record["passed"]} passed, {record["failed"]} failed in {record["minutes"]} min at {record["commit"]}, {record["date"]}'


def prepare():
  for what in ('', 'browser', 'deb', 'tidy'):
    if subprocess.call(['scripts/setup.sh', *filter(None, [what])], cwd=ROOT) != 0 and not what:
      return False
  return subprocess.call(['make', '--no-print-directory', 'tests', 'ALL=1'], cwd=ROOT) == 0


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('parts', nargs='*')
  parser.add_argument('--list', action='store_true')
  arguments = parser.parse_args()
  known, record, here = parts(), read_record(), commit()
  unknown = [name for name in arguments.parts if name not in known]
  if unknown:
    print(f"test_all: unknown part '{unknown[0]}'; known: {', '.join(known)}", file=sys.stderr)
    return 2
  if arguments.list:
    for name in known:
      print(f'{name}: {says(record.get(name))}')
    return 0
  # What was run on changed files says nothing of the commit.
  wanted = arguments.parts or [name for name in known if here.endswith('*') or record.get(name, {}).get('commit') != here
                               or record[name]['failed']]
  os.environ['CI'] = 'true'  # an MPI that is missing is a failure
  if not prepare():
    return 1
  passed = failed = 0
  for number, name in enumerate(wanted, 1):
    print(f'== part {number} of {len(wanted)}: {name}', flush=True)
    record[name] = run_part(name, known[name])
    RECORD.write_text(json.dumps(record, indent=1) + '\n')
    passed, failed = passed + record[name]['passed'], failed + record[name]['failed']
  for name in known:
    print(f'{name}: {says(record.get(name))}')
  print(f'{passed} passed, {failed} failed')
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
