"""What the scripts share that measure on hosts which this machine plays (tests/cluster/hosts.py)."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lab'))
from programs.common import commit_of  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parent.parent
MPIS = {'openmpi': 'Open MPI', 'mpich': 'MPICH'}


def shown(before, mpi, words):
  """The command line, as a page has it."""
  return f'tests/cluster/hosts.py {" ".join(before)} -- build/{mpi}/bin/quadrille {" ".join(words)}'


def results_of(mpi, before, words):
  """What the tool of that build says with the options `before` for hosts.py; without a table, but as if there might be one: so
  the first calls try."""
  build = ROOT / 'build' / mpi
  launcher = re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', (build / 'CMakeCache.txt').read_text(), re.M).group(1)
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, ROOT / 'tests' / 'cluster' / 'hosts.py', *before, '--mpirun', launcher, '--', 'env',
                    f'QUADRILLE_TUNING={folder}/none.json', str(build / 'bin' / 'quadrille'), *words, '--json', f'{folder}/rows.json'],
                   env=environment, check=True, timeout=900, stdout=subprocess.DEVNULL)
    return json.loads(pathlib.Path(folder, 'rows.json').read_text())


def circumstances(mpi, header):
  return {'mpi': header['mpi'], 'commit': commit_of(ROOT / 'build' / mpi), 'processor': header['cpu'],
          'processors': os.cpu_count(), 'date': header['date']}


def store(path, known, rows, kept):
  """Of each row what is in `kept`, a row a line."""
  path.parent.mkdir(parents=True, exist_ok=True)
  lines = ',\n  '.join(json.dumps({key: round(row[key], 3) if isinstance(row[key], float) else row[key] for key in kept if key in row})
                       for row in rows)
  text = json.dumps({**known, 'rows': []}, indent=1)
  path.write_text(text.replace('"rows": []', f'"rows": [\n  {lines}\n ]') + '\n')


class Runs:
  """Runs of layouts in a folder. Those of the same sources are not measured again; all others of a layout go when its first new one
  is there, so that a page has no runs of two programs."""

  def __init__(self, folder):
    self.folder, self.begun = pathlib.Path(folder), set()

  def path(self, name, run):
    return self.folder / f'{name}-{run}.json'

  def is_done(self, name, run, commit):
    path = self.path(name, run)
    return bool(commit) and not commit.endswith('+') and path.is_file() and json.loads(path.read_text()).get('commit') == commit

  def store(self, name, run, known, rows, kept):
    if name not in self.begun:
      self.begun.add(name)
      for path in self.folder.glob(f'{name}-*.json'):
        number = path.stem.removeprefix(f'{name}-')
        if number.isdigit() and not self.is_done(name, number, known.get('commit', '')):
          path.unlink()
    store(self.path(name, run), known, rows, kept)


def is_built(mpi):
  return (ROOT / 'build' / mpi / 'bin' / 'quadrille').exists()


def main(description, stored, measure, write, check):
  """The command line of a script: `measure` gets its words and the folder."""
  parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['measure', 'write', 'check'])
  parser.add_argument('words', nargs='*')
  parser.add_argument('--stored', type=pathlib.Path, default=stored, help='where `measure` writes')
  options = parser.parse_args()
  if options.what == 'measure':
    measure(options.stored, *options.words)
  else:
    {'write': write, 'check': check}[options.what]()


def when(files):
  """'Measured on 2026-11-25 with Quadrille at 0123456789ab'; of several, all that they say."""
  dates = sorted({one['date'][:10] for one in files})
  commits = list(dict.fromkeys(one.get('commit') or 'a commit that was not written down' for one in files))
  return f'Measured on {" and ".join(dates)} with Quadrille at {" and ".join(commits)}'


def size_text(size):
  return f'{size // 1024} KiB' if size >= 1024 else str(size)
