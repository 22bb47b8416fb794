#!/usr/bin/env python3
"""Measures the papers' figures of whole programs and of several MPIs. lab/papers judges the papers' claims by the data and writes the
pages.

  lab/applications.py run --build build/openmpi --out FOLDER [--only NAME] [--runs 3]   writes FOLDER/NAME.json, one row per line
  lab/applications.py list                                                              lists names and titles
"""

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from programs import bruck, cache_oblivious, hint  # noqa: E402  pylint: disable=wrong-import-position
from programs.common import Options, facts  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import nested_text  # noqa: E402  pylint: disable=wrong-import-position

APPLICATIONS = {one.name: one for room in (bruck, cache_oblivious, hint) for one in room.APPLICATIONS}
# Numbers of ranks of each figure.
RANKS = {'bruck-11': '4,8,16', 'bruck-12': '16', 'co-copies': '60,64,72', 'co-14': '2,8,60,72', 'co-15': '2,8,60,72',
         'hint-3': '1,2', 'hint-12': '2,8,16,32', 'hint-15': '2,8,16,32', 'hint-18': '2,8,16,32'}


def progress(name, begin):
  def say(text):
    print(f'[{time.monotonic() - begin:4.0f} s] {name}: {text}', file=sys.stderr, flush=True)
  return say


def run(options):
  begin = time.monotonic()
  for name, one in APPLICATIONS.items():
    if options.only and name != options.only:
      continue
    ranks = options.ranks or RANKS[name]
    wanted = Options(pathlib.Path(options.build).resolve(), [int(count) for count in ranks.split(',')], options.runs, progress(name, begin))
    known = facts(wanted, one)
    how, panels = one.measure(wanted)
    head = {'application': name, 'command': f'lab/applications.py run --only {name} --ranks {ranks} --runs {options.runs}', **known, 'how': how}
    path = options.out / f'{name}.json'
    path.write_text(nested_text(head, 'panels', panels), encoding='utf-8')
    print(f'{path} is written', flush=True)
  return 0


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['run', 'list'])
  parser.add_argument('--build', default='build/openmpi')
  parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('build/results'))
  parser.add_argument('--ranks', help='numbers of ranks, with commas; default: those of each figure')
  parser.add_argument('--runs', type=int, default=3)
  parser.add_argument('--only', choices=list(APPLICATIONS))
  options = parser.parse_args()
  if options.what == 'list':
    for one in APPLICATIONS.values():
      print(f'{one.name:14} {one.title}')
    return 0
  options.out.mkdir(parents=True, exist_ok=True)
  return run(options)


if __name__ == '__main__':
  sys.exit(main())
