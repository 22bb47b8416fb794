#!/usr/bin/env python3
"""`quadrille report` shows the lines of programs in Fortran and Python, not the layer that all of their calls go through.

  report_lines.py --quadrille build/bin/quadrille --sources FILE... -- mpirun -n 2 ./program

Of each blocking all-to-all that the sources call there must be a call site for each line that does. With --no-lines the layer
itself, whose name this is the beginning of, must be the only one.
"""

import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
CALLS = {
    'fortran': re.compile(r'^\s*call\s+MPI_(Alltoall[vw]?|Allgatherv?)\s*\(', re.I),
    '.py': re.compile(r'^\s*\w+\.((?:Neighbor_)?(?:Alltoall[vw]?|Allgatherv?))\s*\(', re.I),
}


def lines_of(sources):
  """{collective: [the lines of a call, 'file:line'; compilers name the first of them or the last]}"""
  found = {}
  for source in sources:
    call = CALLS.get(source.suffix, CALLS['fortran'])
    lines = source.read_text(encoding='utf-8').splitlines()
    for number, line in enumerate(lines, 1):
      if said := call.match(line):
        last = next(n for n in range(number, len(lines) + 1) if not lines[n - 1].rstrip().endswith('&'))
        found.setdefault(said[1].lower(), []).append({f'{source.name}:{n}' for n in range(number, last + 1)})
  return found


def sites_of(data):
  found = {}
  for call in data['calls']:
    if call['form'] == 'blocking':
      where = call['where']
      found.setdefault(call['collective'], set()).add(pathlib.Path(where['line']).name or f'{where["symbol"]} in {where["object"]}')
  return found


def expect_layer(seen, layer):
  assert seen, 'nothing was recorded'
  for collective, sites in seen.items():
    assert all(site.partition(' in ')[2].startswith(layer) for site in sites), f'{collective}: shown {sites}'
  print(f'all of {layer}')


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--quadrille', required=True)
  parser.add_argument('--sources', type=pathlib.Path, nargs='+', required=True)
  parser.add_argument('--needs', type=pathlib.Path, nargs='*', default=[])
  parser.add_argument('--no-lines')
  parser.add_argument('command', nargs='+')
  arguments = parser.parse_args()
  is_script = all(source.suffix == '.py' for source in arguments.sources)
  if not is_script and (platform.machine() != 'x86_64' or shutil.which('addr2line') is None):
    print('skipped: lines are found on x86-64 alone, by addr2line')
    sys.exit(SKIPPED)
  for needed in arguments.needs:
    if not needed.exists():
      print(f'skipped: {needed} is not there (make setup installs it, if it can reach the Python package index)')
      sys.exit(SKIPPED)
  with tempfile.TemporaryDirectory() as folder:
    data = pathlib.Path(folder, 'data.json')
    subprocess.run([arguments.quadrille, 'report', '--no-replay', '--output', f'{folder}/page.html', '--data', str(data), '--',
                    *arguments.command], check=True, timeout=200)
    seen = sites_of(json.loads(data.read_text(encoding='utf-8')))
  if arguments.no_lines:
    expect_layer(seen, arguments.no_lines)
    return
  expected = lines_of(arguments.sources)
  assert expected, 'the sources call nothing'
  for collective, lines in expected.items():
    shown = seen.get(collective, set())
    assert len(shown) == len(lines) and all(len(call & shown) == 1 for call in lines), f'{collective}: called from {lines}, shown {shown}'
  print(f'{sum(map(len, expected.values()))} lines found')


if __name__ == '__main__':
  main()
