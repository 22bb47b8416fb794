#!/usr/bin/env python3
"""Runs clang-tidy, with the checks of .clang-tidy, on the library, the tool and the report.

  tidy.py                       all units of build
  tidy.py --build build/asan    of another build that is configured
  tidy.py --only quadrille_api  the units whose object file matches a regular expression

A unit is one compiler run: mostly several sources that the build compiles together. Each warning is printed once. The
last line is 'N passed, N failed', of the units. The exit status is 1 after a warning, and 2 if nothing can be checked.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = 'clang-tidy-14'
FOLDERS = '(src|tool|report)/'
WARNING = re.compile(r'^(/[^:]+):(\d+):\d+: (?:warning|error): .*\[([^\]]+)\]$')


def sources_of(build):
  """The root of the sources of a configured build."""
  for line in (build / 'CMakeCache.txt').read_text().splitlines():
    if line.startswith('CMAKE_HOME_DIRECTORY:'):
      return line.split('=', 1)[1]
  return ''


def units(build):
  """[(object file, source, options of the compiler)] of our folders."""
  found = []
  for entry in json.loads((build / 'compile_commands.json').read_text()):
    words = shlex.split(entry['command'])
    at = words.index('-o')
    output = words[at + 1]
    if re.match(FOLDERS, output) and re.search(r'\.(cpp|cxx)$', entry['file']):
      options = words[1:at] + [word for word in words[at + 2:] if word not in ('-c', entry['file'])]
      found.append((output, entry['file'], options))
  return found


def check(build, ours, unit):
  """[(place and check, text)] of a unit; the text has the lines that clang-tidy prints for this warning."""
  _, source, options = unit
  answer = subprocess.run([PROGRAM, '--quiet', f'--config-file={ROOT}/.clang-tidy', f'--header-filter={ours}', source,
                           '--', *options], cwd=build, capture_output=True, text=True, check=False)
  found, shown = [], False
  for line in answer.stdout.splitlines():
    match = WARNING.match(line)
    if match:
      shown = bool(re.match(ours, match[1])) or match[3] == 'clang-diagnostic-error'
      if shown:
        found.append((match.groups(), line))
    elif shown:
      found[-1] = (found[-1][0], found[-1][1] + '\n' + line)
  if answer.returncode != 0 and not found:
    found.append(((source, '', ''), f'{source}: {PROGRAM} failed\n{answer.stderr.strip()}'))
  return found


def check_all(build, chosen):
  """Prints each warning once. Returns the number of units with warnings."""
  ours = f'^{re.escape(sources_of(build))}/{FOLDERS}'
  known, failed = set(), 0
  with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    runs = {pool.submit(check, build, ours, unit): unit for unit in chosen}
    for number, run in enumerate(concurrent.futures.as_completed(runs), 1):
      found = run.result()
      failed += bool(found)
      print(f'{number} of {len(chosen)}: {runs[run][0]}', flush=True)
      for place, text in found:
        if place not in known:
          known.add(place)
          print(text, flush=True)
  return failed


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
  parser.add_argument('--only', default='', metavar='EXPRESSION')
  arguments = parser.parse_args()
  build = arguments.build.resolve()
  if not (build / 'compile_commands.json').exists():
    print(f'tidy: {arguments.build} is not configured; run make build', file=sys.stderr)
    return 2
  try:
    subprocess.run([PROGRAM, '--version'], stdout=subprocess.DEVNULL, check=True)
  except OSError:
    print(f'tidy: {PROGRAM} is not installed; scripts/setup.sh tidy installs it', file=sys.stderr)
    return 2
  chosen = [unit for unit in units(build) if re.search(arguments.only, unit[0])]
  if not chosen:
    print(f"tidy: no unit of {arguments.build} matches '{arguments.only}'", file=sys.stderr)
    return 2
  failed = check_all(build, chosen)
  print(f'{len(chosen) - failed} passed, {failed} failed')
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
