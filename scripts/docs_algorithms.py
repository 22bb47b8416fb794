#!/usr/bin/env python3
"""Writes docs/algorithms.md from the registry, as `quadrille list --json` prints it.

  docs_algorithms.py build/openmpi/bin/quadrille docs/algorithms.md            write the page
  docs_algorithms.py --check build/openmpi/bin/quadrille docs/algorithms.md    is it up to date?
"""

import argparse
import json
import pathlib
import subprocess
import sys

ENGINES = {
    'schedule': 'a schedule, run by messages',
    'node': 'copies between the ranks of a node',
    'inbox': 'shared memory inside a node',
    'exchange': 'the best way that each pair of ranks has',
    'padded': 'an exchange of blocks of one size',
    'leaders': 'shared memory inside each node, and messages between leaders',
    'sparse': 'messages to the named destinations',
    'neighbors': 'messages between neighbours',
    'node-neighbors': 'shared memory inside a node',
    'neighbor-copies': 'copies between the ranks of a node',
    'copy-to-cpu': 'its inner algorithm',
    'device-pipeline': 'copies through host memory, in chunks, from and to device memory',
    'device-pull': 'copies between the ranks of a node, in the memory of devices',
    'mpi': "the MPI's own collective",
}
NEEDS = {
    'one_node': 'all ranks on one node',
    'contiguous': 'contiguous data; other datatypes are packed first',
    'derived_types': "MPI's derived datatypes",
    'load_store': 'all buffers of a node within reach of load and store',
    'isomorphic': 'a Cartesian or isomorphic communicator',
    'equal_sizes': 'sizes of blocks that all ranks know',
    'device_mpi': 'an MPI that supports device memory (gpu.md)',
}
HEAD = """# Algorithms

Which algorithm serves a call is [chosen for you](tuning.md); `quadrille run --explain` says which, and why. To choose one yourself,
name it with its parameters, as `collective=name:parameter=value`:

    QUADRILLE_ALGORITHM=alltoallv=two-phase-bruck:radix=8 quadrille run -- mpirun -n 64 ./app
    mpirun -n 8 quadrille bench alltoall --algorithms default,pairwise,zero-rotation-bruck:radix=4
    quadrille show --algorithms zero-rotation-bruck:radix=4 --ranks 8

The first forces it, as `Quadrille_Set_algorithm` does in a program; the second measures it beside the MPI's own; the third prints
what its ranks send. `quadrille list` prints the algorithms of the build at hand.
"""
FOOT = 'This page is written by `make docs` from the registry, which is what to change.'


def table(rows):
  return '\n'.join('| ' + ' | '.join(str(cell).replace('|', r'\|') for cell in row) + ' |'
                   for row in rows)


def titles(algorithms):
  """A name may stand for one algorithm of each family; then the title says which family."""
  names = [entry['name'] for entry in algorithms]
  return [f'{entry["name"]} {entry["collectives"][0]}' if names.count(entry['name']) > 1
          else entry['name'] for entry in algorithms]


def overview(algorithms):
  rows = [['algorithm', 'collectives', 'carried out by'], ['---'] * 3]
  for entry, title in zip(algorithms, titles(algorithms)):
    rows.append([f'[{entry["name"]}](#{title.replace(" ", "-")})', ', '.join(entry['collectives']),
                 ENGINES.get(entry['engine'], entry['engine'])])
  return table(rows)


def need(entry, name):
  if name == 'contiguous' and any(p['name'] == 'pack' for p in entry['parameters']):
    return 'contiguous data; other datatypes are packed first, except with `pack=0`'
  return NEEDS.get(name, name.replace('_', ' '))


def bounds(parameter):
  """Least, most and standard value; of one whose values have names, the names."""
  names = parameter.get('names')
  if names is None:
    return parameter['least'], parameter['most'], parameter['standard']
  return 'one of', ', '.join(names), names[parameter['standard']]


def section(entry, title):
  needs = [need(entry, name) for name, on in entry['needs'].items() if on]
  text = [f'## {title}', '', entry['line'][:1].upper() + entry['line'][1:] + '.', '',
          f'- Collectives: {", ".join(entry["collectives"])}']
  if needs:
    text.append(f'- Needs: {"; ".join(needs)}')
  if entry['source']:
    text.append(f'- Source: {entry["source"]}')
  if entry['parameters']:
    rows = [['parameter', 'least', 'most', 'standard', 'meaning'], ['---'] * 5]
    rows += [[f'`{p["name"]}`', *bounds(p), p['meaning']] for p in entry['parameters']]
    text += ['', table(rows)]
  return '\n'.join(text)


def page(algorithms):
  parts = [HEAD.rstrip(), overview(algorithms), *map(section, algorithms, titles(algorithms)), '---', FOOT]
  return '\n\n'.join(parts) + '\n'


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--check', action='store_true')
  parser.add_argument('tool')
  parser.add_argument('page', type=pathlib.Path)
  arguments = parser.parse_args()
  answer = subprocess.run([arguments.tool, 'list', '--json'], check=True, capture_output=True,
                          text=True)
  new = page(json.loads(answer.stdout))
  if not arguments.check:
    arguments.page.write_text(new)
    return 0
  if arguments.page.exists() and arguments.page.read_text() == new:
    return 0
  print(f'{arguments.page} does not show what the registry holds; run make docs', file=sys.stderr)
  return 1


if __name__ == '__main__':
  sys.exit(main())
