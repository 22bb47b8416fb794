#!/usr/bin/env python3
"""Formats all C and C++ sources as .clang-format says, by the version of clang-format that packages.txt names.

  format.py            format them
  format.py --check    change nothing: name the files that are not so (exit status 1)

Without that clang-format the exit status is 77; if CI is set, it is 1.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM, SKIPPED = 'clang-format-14', 77


def sources():
  answer = subprocess.run(['git', '-C', str(ROOT), 'ls-files', '-co', '--exclude-standard', '*.c', '*.h', '*.cpp', '*.hpp'],
                          capture_output=True, text=True, check=True)
  return [name for name in answer.stdout.split() if (ROOT / name).exists()]


def main(words):
  if words not in ([], ['--check']):
    print(__doc__)
    return 2
  if shutil.which(PROGRAM) is None:
    print(f'format: {PROGRAM} is not installed; make setup installs it')
    return 1 if os.environ.get('CI') else SKIPPED
  answer = subprocess.run([PROGRAM, *(['--dry-run', '-Werror'] if words else ['-i']), *sources()], cwd=ROOT,
                          capture_output=True, text=True, check=False)
  wrong = sorted({line.split(':')[0] for line in answer.stderr.splitlines() if '-Wclang-format-violations' in line})
  for name in wrong:
    print(f'{name}: not formatted; make format does it')
  if answer.returncode != 0 and not wrong:
    print(answer.stderr, end='')
  return 1 if wrong or answer.returncode != 0 else 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
