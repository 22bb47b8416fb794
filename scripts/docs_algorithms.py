#!/usr/bin/env python3
"""Writes docs/algorithms.md from the registry, as `quadrille list --json` prints it.

  docs_algorithms.py build/bin/quadrille docs/algorithms.md            write the page
  docs_algorithms.py --check build/bin/quadrille docs/algorithms.md    fail if the page is out of date
"""

import json
import re
import subprocess
import sys

import generated_page

SECTIONS = {
    'Messages among all ranks': ('schedule',),
    'Blocks padded to the largest': ('padded',),
    'Copies inside a node, and messages between nodes': ('inbox', 'exchange', 'node', 'leaders'),
    'Messages to named destinations': ('sparse',),
    'Neighbours': ('neighbors', 'node-neighbors', 'neighbor-copies'),
    'Memory of a GPU, and the MPI': ('device-pull', 'device-pipeline', 'copy-to-cpu', 'mpi'),
}
NEEDS = {
    'one_node': ('one node', 'all ranks on one node'),
    'contiguous': ('packs', 'works on contiguous data and packs other datatypes first, with `pack` only messages up to its value'),
    'derived_types': ('derived', "builds MPI's derived datatypes"),
    'load_store': ('load/store', "ranks of a node reach each other's buffers by load and store"),
    'isomorphic': ('grid', 'a Cartesian or isomorphic communicator, or a graph that is recognised as one'),
    'equal_sizes': ('sizes', 'all ranks know the sizes of all blocks'),
    'device_mpi': ('GPU-aware', 'the MPI accepts device memory'),
}
PAPERS = {
    'Fan et al., HPDC 2022': 'Bruck', 'Fan et al., HPDC 2025 (TuNA)': 'TuNA',
    'Fan, Domke, Ba and Kumar, HPDC 2025 (hierarchical TuNA)': 'TuNA', 'Namugwanya et al.': 'GPU',
    'Li, Zhang and Hoefler, Cache-oblivious MPI': 'CO', 'Li, Zhang and Hoefler': 'CO', 'Ramesh et al., HINT': 'HINT',
    'Träff et al., isomorphic collectives': 'ISO', 'Kinkead et al., SC Workshops 2025': 'Kinkead',
    'Thakur, Rabenseifner and Gropp, IJHPCA 2005': 'Thakur',
}
SHOWN = {
    'Bruck': 'Fan et al., HPDC 2022', 'TuNA': 'Fan, Domke, Ba and Kumar, HPDC 2025', 'GPU': 'Namugwanya et al.',
    'CO': 'Li, Zhang and Hoefler, cache-oblivious MPI', 'HINT': 'Ramesh et al.', 'ISO': 'Träff et al., isomorphic collectives',
    'Kinkead': 'Kinkead et al., SC Workshops 2025', 'Thakur': 'Thakur, Rabenseifner and Gropp, IJHPCA 2005',
}
HEAD = """# Algorithms

Force an algorithm, measure it, or print what its ranks send:

    QUADRILLE_ALGORITHM=alltoallv=two-phase-bruck:radix=8 quadrille run -- mpirun -n 64 ./app
    mpirun -n 8 quadrille bench alltoall --algorithms default,pairwise,zero-rotation-bruck:radix=4
    quadrille show --algorithms zero-rotation-bruck:radix=4 --ranks 8

`make docs` writes this page from the registry; `quadrille list` prints the algorithms of a build. The column *needs*:
"""


def table(rows):
  return '\n'.join('|' + '|'.join(str(cell).replace('|', r'\|') for cell in row) + '|' for row in rows)


def family(collectives):
  """alltoall, alltoallv, alltoallw -> alltoall(v, w)"""
  kinds = {}
  for name in collectives:
    kind = next((kind for kind in ('alltoall', 'allgather') if name.startswith(kind)), name)
    kinds.setdefault(kind, []).append(name[len(kind):])
  return ', '.join(f'{kind}({", ".join(filter(None, endings))})' if '' in endings and len(endings) > 1
                   else ', '.join(kind + ending for ending in endings) for kind, endings in kinds.items())


def short(collectives):
  """Those of neighbours without their prefix, which their section names; beside others as one word."""
  near = [name.removeprefix('neighbor_') for name in collectives if name.startswith('neighbor_')]
  others = [name for name in collectives if not name.startswith('neighbor_')]
  return family(others) + ', neighbours' * bool(near) if others else family(near)


def source_of(entry):
  text = entry['source']
  for paper, tag in PAPERS.items():
    text = text.replace(paper, tag)
  return re.sub(r',? sections? ', ' §', text)


def twin_of(entry, names):
  """The algorithm that a padded one runs, if its name and its parameters say all of it."""
  inner = names.get(entry['name'].removeprefix('padded-')) if entry['engine'] == 'padded' else None
  same = inner and entry['line'].endswith(f'then {inner["name"]}') and inner['parameters'] == entry['parameters']
  return inner['name'] if same else None


def row(entry, collectives):
  needs = ', '.join(NEEDS.get(name, (name.replace('_', ' '),))[0] for name, on in entry['needs'].items() if on)
  parameters = ', '.join(f'`{p["name"]}`' for p in entry['parameters'])
  return [f'`{entry["name"]}`', short(collectives), entry['line'], needs, parameters, source_of(entry)]


def merged(entries):
  """[(entry, collectives)]: one for the entries that differ in their collectives alone."""
  found = {}
  for entry in entries:
    key = json.dumps([entry[name] for name in ('name', 'line', 'needs', 'source')] + [p['name'] for p in entry['parameters']])
    found.setdefault(key, (entry, []))[1].extend(entry['collectives'])
  return found.values()


def section(title, entries, names):
  twins = [twin for entry in entries if (twin := twin_of(entry, names))]
  rows = [['name', 'collectives', 'what it does', 'needs', 'parameters', 'source'], ['---'] * 6]
  rows += [row(*one) for one in merged(entry for entry in entries if not twin_of(entry, names))]
  text = f'## {title}\n\n{table(rows)}'
  if twins:
    listed = ', '.join(f'`{name}`' for name in twins)
    text += f'\n\n`padded-NAME` pads, then runs NAME with its parameters, for these names: {listed}.'
  return text


def default(parameter):
  names = parameter.get('names')
  return names[parameter['standard']] if names else parameter['standard']


def values(of):
  """What the parameter may be: [(collective, parameter)] -> 'a, b; alltoall: c'"""
  first = of[0][1]
  if first.get('names') is None:
    return f'{first["least"]} to {first["most"]}'
  common = [name for name in first['names'] if all(name in p['names'] for _, p in of)]
  own = [(collective, [name for name in p['names'] if name not in common]) for collective, p in of]
  return '; '.join([', '.join(common)] + [f'{collective}: {", ".join(names)}' for collective, names in own if names])


def parameters(algorithms, names):
  """A row for each name and meaning, whatever the algorithms are that have it."""
  found = {}
  for entry in algorithms:
    if not twin_of(entry, names):
      for p in entry['parameters']:
        found.setdefault((p['name'], default(p), p['meaning']), []).append((entry, p))
  meanings = [name for name, _, _ in found]
  users = [(name, entry['name']) for (name, _, _), of in found.items() for entry in {e['name']: e for e, _ in of}.values()]
  rows = [['parameter', 'default', 'values', 'meaning'], ['---'] * 4]
  for (name, standard, meaning), of in found.items():
    who = ', '.join(dict.fromkeys(f'`{entry["name"]}`' + (f' ({entry["collectives"][0]})' if users.count((name, entry['name'])) > 1
                                                          else '') for entry, _ in of))
    rows.append([f'`{name}` of {who}' if meanings.count(name) > 1 else f'`{name}`', standard,
                 values([(entry['collectives'][0], p) for entry, p in of]), meaning])
  return f'## Parameters\n\n{table(rows)}'


def page(tool):
  algorithms = json.loads(subprocess.run([tool, 'list', '--json'], check=True, capture_output=True, text=True).stdout)
  names = {entry['name']: entry for entry in reversed(algorithms)}
  left = {entry['engine'] for entry in algorithms} - {engine for engines in SECTIONS.values() for engine in engines}
  assert not left, f'give these engines a section: {left}'
  parts = [HEAD.rstrip(), '\n'.join(f'- *{word}*: {meaning}' for word, meaning in NEEDS.values())]
  for title, engines in SECTIONS.items():
    parts.append(section(title, [entry for entry in algorithms if entry['engine'] in engines], names))
  papers = 'Sources: ' + '; '.join(f'{tag}: {paper}' for tag, paper in SHOWN.items()) + '.'
  return '\n\n'.join([*parts, parameters(algorithms, names), papers]) + '\n'


if __name__ == '__main__':
  sys.exit(generated_page.main(__doc__.splitlines()[0], page, 'the registry'))
