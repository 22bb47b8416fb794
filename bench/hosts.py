#!/usr/bin/env python3
"""Measures over hosts that this machine plays (tests/cluster/hosts.py), into docs/results/between-nodes; lab/pages writes the page.

    bench/hosts.py measure chosen 3    # Quadrille's choice and the MPI's own: 3 runs of all layouts with each MPI
    bench/hosts.py measure tuna 3      # Bruck of any radix, and its hierarchical form
    bench/hosts.py measure tuna 3 2x8  # only layouts whose names contain 2x8

--stored FOLDER names another folder. A file has all runs of a layout. Existing runs of the same sources are skipped; the first run of
other sources replaces those in the file.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'lab'))
from programs.common import caches, commit_of  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import load, store  # noqa: E402  pylint: disable=wrong-import-position

STORED = ROOT / 'docs' / 'results' / 'between-nodes'
TOOL = ROOT / 'build' / 'bin' / 'quadrille'
MPIS = ('openmpi', 'mpich')

# ---- The layouts ----

CHOSEN = {'4x4': (4, 4), '2x8': (2, 8), '4x8': (4, 8), '16x1': (16, 1)}  # hosts, ranks on each
UNIFORM = ['--distribution', 'uniform']


def commands_of_chosen(name):
  """The arguments of `quadrille bench` for each collective. With one rank per host two algorithms are also forced."""
  if CHOSEN[name][1] == 1:
    what, collectives = (
      ['--sizes', '8,64,128,200,256,512,1K', '--algorithms', 'default,mn-co,spread-out'],
      ('alltoall', 'alltoallv'),
    )
  else:
    what, collectives = ['--sizes', '8,64,512,1K,8K,64K,256K'], ('alltoall', 'alltoallv', 'allgather', 'allgatherv')
  return [[one, *(UNIFORM if one.endswith('v') else []), *what] for one in collectives]


def tuna(*radices, staggered=()):
  return [*(f'tuna-hierarchical:radix={radix}' for radix in radices), *(f'tuna-hierarchical:radix={one}' for one in staggered)]


def two_phase(*radices):
  return [f'two-phase-bruck:radix={radix}' for radix in radices]


FOUR = [
  *tuna(2, 4, staggered=('4,exchange=staggered', '4,exchange=staggered,burst=4')),
  *two_phase(2, 4, 16),
  'leaders:leaders=1',
  'leaders:leaders=4',
  'mn-co',
]
FLAT = [*two_phase(2, 4, 16, 8), 'spread-out', 'mn-co']
TUNA = {'openmpi-4x4': (4, 4, FOUR), 'mpich-4x4': (4, 4, FOUR),
        'openmpi-2x8': (2, 8, [*tuna(2, 3, 8, staggered=('8,exchange=staggered',)), *two_phase(2, 4, 16), 'leaders:leaders=1',
                               'leaders:leaders=8']),
        'openmpi-16x1': (16, 1, FLAT), 'mpich-16x1': (16, 1, FLAT)}


def layouts(kind):
  """{name of the file: (MPI, hosts, ranks on each, [arguments of `quadrille bench`])}."""
  if kind == 'chosen':
    return {f'chosen-{mpi}-{name}': (mpi, *CHOSEN[name], commands_of_chosen(name)) for mpi in MPIS for name in CHOSEN}
  return {f'tuna-{name}': (name.split('-')[0], hosts, here,
                           [['alltoallv', *UNIFORM, '--sizes', '8,64,512,1K,8K,64K', '--algorithms', ','.join(algorithms)]])
          for name, (hosts, here, algorithms) in TUNA.items()}


# ---- Measuring ----


def is_built(mpi):
  return TOOL.exists() and (ROOT / 'build' / mpi / 'CMakeCache.txt').exists()


def options_of(mpi, hosts, here):
  return ['--hosts', str(hosts), '--ranks', str(hosts * here), *(['--blocked'] if here > 1 else []), '--mpi', mpi]


def shown(mpi, hosts, here, words):
  return f'tests/cluster/hosts.py {" ".join(options_of(mpi, hosts, here))} -- build/bin/quadrille bench {" ".join(words)}'


def results_of(mpi, hosts, here, words):
  """The benchmark's rows. No tuning table exists, but one could, so the first calls try candidates."""
  launcher = re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', (ROOT / 'build' / mpi / 'CMakeCache.txt').read_text(), re.M)[1]
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run(
      [
        sys.executable,
        ROOT / 'tests' / 'cluster' / 'hosts.py',
        *options_of(mpi, hosts, here),
        '--mpirun',
        launcher,
        '--',
        'env',
        f'QUADRILLE_TUNING={folder}/none.json',
        str(TOOL),
        'bench',
        *words,
        '--json',
        f'{folder}/rows.json',
      ],
      env=environment,
      check=True,
      timeout=900,
      stdout=subprocess.DEVNULL,
    )
    return json.loads(pathlib.Path(folder, 'rows.json').read_text())


# ---- A file: the runs of a layout ----


def runs_in(path, commit):
  """The number of runs of these sources in a file; runs of changed sources do not count."""
  if not commit or commit.endswith('+') or not path.is_file():
    return 0
  data = load(path)
  return len(data['rows'][0]['us']) if data.get('commit') == commit else 0


def with_run(rows, measured):
  """The rows of a file with one more run, `measured` by the benchmark. `by` has one name if all runs agree."""
  found = {
    (row['collective'], row['algorithm'], row['bytes']): {
      **row,
      'by': row['by'] if len(row['by']) > 1 else row['by'] * len(row['us']),
    }
    for row in rows
  }
  for one in measured:
    row = found.setdefault(
      (one['collective'], one['algorithm'], one['bytes']),
      {
        'collective': one['collective'],
        'algorithm': one['algorithm'],
        'bytes': one['bytes'],
        'mpi_us': [],
        'us': [],
        'ratio': [],
        'by': [],
        'batches': [],
        'errors': 0,
      },
    )
    for name, value in (
      ('mpi_us', one['mpi_us']),
      ('us', one['quadrille_us']),
      ('ratio', one['pair_ratio']),
      ('by', one['served_by']),
      ('batches', one['batches']),
    ):
      row[name].append(value)
    row['errors'] += one['errors']
  return [{**row, 'by': row['by'] if len(set(row['by'])) > 1 else row['by'][:1]} for row in found.values()]


class Layouts:
  """The files of a folder, and those that this program began."""

  def __init__(self, folder):
    self.folder, self.begun = pathlib.Path(folder), set()

  def add_run(self, name, head, measured):
    path = self.folder / f'{name}.json'
    known = runs_in(path, head['commit']) or name in self.begun
    store(path, head, with_run(load(path)['rows'] if known else [], measured))
    self.begun.add(name)


def lacking(kind, folder, runs, only=''):
  """(name, layout) of each missing run. Layouts alternate, so that a slow phase of the machine affects all of them."""
  wanted = {name: layout for name, layout in layouts(kind).items() if only in name and is_built(layout[0])}
  done = {
    name: runs_in(pathlib.Path(folder) / f'{name}.json', commit_of(ROOT / 'build' / layout[0]))
    for name, layout in wanted.items()
  }
  return [(name, layout) for run in range(int(runs)) for name, layout in wanted.items() if run >= done[name]]


def measure(kind, folder, runs='1', only=''):
  stored = Layouts(folder)
  for name, (mpi, hosts, here, commands) in lacking(kind, folder, runs, only):
    rows, header = [], {}
    for words in commands:
      print(f'{name}: {shown(mpi, hosts, here, words)}', flush=True)
      whole = results_of(mpi, hosts, here, words)
      rows, header = rows + whole['rows'], whole['header']
    stored.add_run(
      name,
      {
        'commands': [shown(mpi, hosts, here, words) for words in commands],
        'mpi': header['mpi'],
        'commit': commit_of(ROOT / 'build' / mpi),
        'processor': header['cpu'],
        'processors': os.cpu_count(),
        'caches': caches(),
        'date': header['date'],
      },
      rows,
    )


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['measure'])
  parser.add_argument('kind', choices=['chosen', 'tuna'])
  parser.add_argument('words', nargs='*', metavar='RUNS [LAYOUT]')
  parser.add_argument('--stored', type=pathlib.Path, default=STORED)
  options = parser.parse_args()
  measure(options.kind, options.stored, *options.words)


if __name__ == '__main__':
  main()
