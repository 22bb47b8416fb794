"""What the figures of whole programs share: how programs are started, rows of times, and what was measured where."""

import dataclasses
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Application:
  """One figure. Its data have `panels`, each with `x` (the name of a number of each row), `y`, and `rows` with `line` and `us`."""
  name: str
  title: str
  source: str
  lines: str      # what the page says of its lines
  measure: object  # (Options) -> (how, panels)
  claims: object   # (data) -> [(the paper's words, its number, ours or None, verdict)]
  alone: str = ''  # one process without the MPI: what it is


@dataclasses.dataclass
class Options:
  build: pathlib.Path
  counts: list  # of ranks
  runs: int
  say: object = print  # progress


def launch(build, ranks, words, settings=None, mpirun=None, bound=False, under=False):
  """What a program of `build` printed; with `bound`, each rank has a processor of its own, and `under` means under Quadrille."""
  environment = os.environ | {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                              'OMPI_MCA_rmaps_base_oversubscribe': '1'} | (settings or {})
  mpirun = mpirun or [shutil.which('mpirun.openmpi') or 'mpirun']
  if bound:
    mpirun = [*mpirun, '--bind-to', 'core']
  if under:
    mpirun = [f'{build}/bin/quadrille', 'run', '--', *mpirun]
  program = words[0] if '/' in words[0] else f'{build}/bin/{words[0]}'
  done = subprocess.run([*mpirun, '-n', str(ranks), program, *words[1:]], env=environment, check=False, capture_output=True, text=True)
  if done.returncode != 0:
    raise SystemExit(f'{" ".join(words)} on {ranks} ranks ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}')
  return done.stdout


def in_turns(lines, runs, run):
  """{line: what each of its runs gave}; the lines take turns, so that what slows the machine for a while meets all of them."""
  said = {line: [] for line in lines}
  for _ in range(runs):
    for line in lines:
      said[line].append(run(line))
  return said


def processors():
  return len(os.sched_getaffinity(0))


def spread(seconds):
  """Of several runs."""
  return {'us': statistics.median(seconds) * 1e6, 'least_us': min(seconds) * 1e6, 'most_us': max(seconds) * 1e6}


def times(panel, line):
  return {row[panel['x']]: row['us'] for row in panel['rows'] if row['line'] == line}


def totals(panel, line):
  return {row[panel['x']]: row['total_us'] for row in panel['rows'] if row['line'] == line}


def speedup(of, against):
  """By the geometric mean over what both have; None if that is nothing."""
  ratios = [against[x] / of[x] for x in of if x in against]
  return statistics.geometric_mean(ratios) if ratios else None


def cpu_name():
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    if line.startswith('model name'):
      return ' '.join(line.partition(':')[2].split())
  return platform.machine()


def facts(options):
  version = subprocess.run([shutil.which('mpirun.openmpi') or 'mpirun', '--version'], capture_output=True, text=True, check=True).stdout
  said = subprocess.run([f'{options.build}/bin/quadrille', '--version'], capture_output=True, text=True, check=True).stdout
  mpi = re.sub(r'^\S+ \(Open(RTE|PRRTE)\)', 'Open MPI', version.splitlines()[0])
  return {'ranks': max(options.counts), 'processors': processors(), 'cpu': cpu_name(), 'mpi': mpi,
          'quadrille': said.splitlines()[0], 'runs': options.runs}
