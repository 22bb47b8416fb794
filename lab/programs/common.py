"""The common parts of the figures of whole programs: starting programs, rows of times, the machine, and verdicts."""

import dataclasses
import datetime
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def bindings(options, fits=True):
  """{ranks: the processors of each}; with `fits`, ranks that have a processor each are bound to it."""
  return {f'{ranks} ranks': processors_of(options.build, ranks, fits and ranks <= processors()) for ranks in options.counts}


@dataclasses.dataclass
class Application:
  """One figure. Its data have `panels`, each with `x` (a column), `y`, and `rows` with `line` and a `us` for each run."""
  name: str
  title: str
  measure: object  # (Options) -> (how, panels)
  claims: object   # (data) -> [Claim]
  alone: str = ''  # a description, if it is one process without the MPI
  bindings: object = bindings  # (Options) -> {ranks: their processors}


@dataclasses.dataclass
class Options:
  build: pathlib.Path  # of one MPI's programs
  counts: list  # numbers of ranks
  runs: int
  say: object = print  # progress


def product_of(build):
  """The build of the library, the tool and the laboratory: the folder above one MPI's programs, or, where older commits
  have it, that folder itself."""
  above = pathlib.Path(build).resolve().parent
  return above if (above / 'bin' / 'quadrille').exists() else pathlib.Path(build)


def launch(build, ranks, words, settings=None, mpirun=None, bound=False, under=False):
  """The output of a program of `build`. `bound`: each rank has its own processor. `under`: under Quadrille."""
  environment = os.environ | {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                              'OMPI_MCA_rmaps_base_oversubscribe': '1'} | (settings or {})
  mpirun = mpirun or [shutil.which('mpirun.openmpi') or 'mpirun']
  if bound:
    mpirun = [*mpirun, '--bind-to', 'core']
  if under:
    mpirun = [f'{product_of(build)}/bin/quadrille', 'run', '--', *mpirun]
  program = words[0] if '/' in words[0] else f'{build}/bin/{words[0]}'
  done = subprocess.run([*mpirun, '-n', str(ranks), program, *words[1:]], env=environment, check=False, capture_output=True, text=True)
  if done.returncode != 0:
    raise SystemExit(f'{" ".join(words)} on {ranks} ranks ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}')
  return done.stdout


def in_turns(lines, runs, run):
  """{line: the result of each run}. The lines alternate, so that a slow phase of the machine affects all of them."""
  said = {line: [] for line in lines}
  for _ in range(runs):
    for line in lines:
      said[line].append(run(line))
  return said


def processors():
  return len(os.sched_getaffinity(0))


def processors_of(build, ranks, bound, mpirun=None, settings=None):
  """'0-1' if each rank may run on both, '0, 1' if each has one of them. Oversubscribed ranks are not bound, because launchers
  have hung when many bound processes ended at once."""
  ranks = min(ranks, processors() + 1)
  said = launch(build, ranks, ['/bin/grep', 'Cpus_allowed_list', '/proc/self/status'], settings, mpirun, bound)
  return ', '.join(sorted({line.split()[-1] for line in said.splitlines() if line.startswith('Cpus_allowed_list')}))


# ---- Rows ----


def each_run(seconds, of=''):
  """The microseconds of each run. `of` is '', or 'total_' for the time of the whole program."""
  return {f'{of}us': [one * 1e6 for one in seconds]}


def number_of(here, digits=2):
  """'1.11 (1.05..1.20)': median, minimum and maximum of the runs."""
  if not here:
    return '-'
  text = f'{statistics.median(here):.{digits}f}'
  return f'{text} ({min(here):.{digits}f}..{max(here):.{digits}f})' if len(here) > 1 else text


def times(panel, line):
  return {x: statistics.median(us) for x, us in runs_of(panel, line).items()}


def runs_of(panel, line, of=''):
  """{x: the time of each run}"""
  return {row[panel['x']]: row[f'{of}us'] for row in panel['rows'] if row['line'] == line}


def lines_of(panel):
  return list(dict.fromkeys(row['line'] for row in panel['rows']))


def speedup(of, against):
  """The ratio, by the geometric mean over the common keys; None without a common key."""
  ratios = [against[x] / of[x] for x in of if x in against]
  return statistics.geometric_mean(ratios) if ratios else None


def of_run(runs, number):
  return {x: us[number] for x, us in runs.items()}


def speedups(panel, line, rival, of='', where=lambda x: True):
  """The rival's time over the line's time in each run; [] if one of them is missing."""
  ours, theirs = ({x: us for x, us in runs_of(panel, one, of).items() if where(x)} for one in (line, rival))
  count = min((len(us) for us in [*ours.values(), *theirs.values()]), default=0)
  found = [speedup(of_run(ours, i), of_run(theirs, i)) for i in range(count)]
  return [] if None in found else found


# ---- Verdicts ----

# As in lab/figure/verdict.hpp: 'cannot be told' has one of six reasons, and details may follow the reason.
UNTOLD = 'cannot be told'
RUNS_DIFFER, NETWORKS_DIFFER, NO_OTHER_WAY = 'the runs differ', 'the networks differ', 'could not have come out otherwise'
NO_MACHINE, NOT_MEASURED, NOT_BUILT = 'no machine', 'not measured', 'not built'
# The origin of a verdict: the paper's scale, another scale, or simulation.
MEASURED, AT_THIS_SCALE, SIMULATED = 'measured', 'at this scale', 'simulated'
REASONS = (RUNS_DIFFER, NETWORKS_DIFFER, NO_OTHER_WAY, NO_MACHINE, NOT_MEASURED, NOT_BUILT)
NO_NUMBER = 'no number to compare with'
BEYOND = '(not in the paper) '
A_QUARTER = 1.25
# As in lab/figure/claims.cpp.
A_DIFFERENCE, JUST_ABOVE = 1.1, 1.01


class Claim(typing.NamedTuple):
  text: str
  paper: str
  here: list  # a number for each run, or empty
  verdict: str
  reason: str = ''  # the reason of 'cannot be told'; begins with one of REASONS
  note: str = ''    # further grounds of the verdict
  scale: str = ''   # if the paper had other numbers of ranks


def bounds_of(paper):
  """The range in which our number agrees; None if the paper has no number."""
  numbers = [float(number) for number in re.findall(r'[0-9]+(?:[.][0-9]+)?', paper)]
  if not numbers:
    return None
  if paper.startswith('above'):
    return numbers[0], float('inf')
  if paper.startswith('below'):
    return float('-inf'), numbers[0]
  if len(numbers) > 1:
    return numbers[0], numbers[1]
  least, most = numbers[0] / A_QUARTER, numbers[0] * A_QUARTER
  # No difference here disagrees with a difference in the paper.
  if numbers[0] >= A_DIFFERENCE:
    return max(least, JUST_ABOVE), most
  return (least, min(most, 1 / JUST_ABOVE)) if 0 < numbers[0] <= 1 / A_DIFFERENCE else (least, most)


def word_of(bounds, here):
  inside = [bounds[0] <= one <= bounds[1] for one in here]
  if all(inside):
    return 'agrees'
  return 'the runs differ' if any(inside) else 'disagrees'


def judged(text, paper, here, ranks=None, about=None, reason=''):
  """A claim with its verdict. `about` is the paper's number of ranks, `reason` the reason of 'cannot be told'."""
  bounds = bounds_of(paper)
  if bounds is None:
    return Claim(text, paper, here, NO_NUMBER)
  scale = f'the paper has {about} ranks, the run {ranks}' if about is not None and ranks != about else ''
  word = UNTOLD if reason or not here else word_of(bounds, here)
  if word in (UNTOLD, RUNS_DIFFER):
    return Claim(text, paper, here, UNTOLD, reason or (NOT_MEASURED if word == UNTOLD else word), '', scale)
  return Claim(text, paper, here, word, '', '', scale)


def with_near_side(claim, near, where):
  """A line that becomes slower has a crossover only if the same line is faster on the near side in each run."""
  if claim.verdict != 'agrees' or not near or min(near) > 1:
    return claim
  note = f'no crossover: {number_of(near)} {where}'
  return claim._replace(verdict='disagrees', note=note) if max(near) <= 1 else claim._replace(verdict=UNTOLD, reason=RUNS_DIFFER, note=note)


def beyond(text, here):
  """A row without a claim of the paper."""
  return judged(BEYOND + text, '-', here)


def crowded(ranks, cores):
  """The reason why oversubscribed runs cannot decide claims about caches and cores; '' otherwise."""
  return f'{NO_MACHINE}: {ranks} ranks shared {cores} processors' if ranks > cores else ''


# ---- Machine and sources ----


def commit_of(build):
  """The commit of the sources of a build's library, with a + if they were changed; '' if unknown."""
  header = product_of(build) / 'lab' / 'generated' / 'lab' / 'commit.hpp'
  found = re.search(r'"([0-9a-f]*\+?)"', header.read_text()) if header.is_file() else None
  return found[1] if found else ''


def first_line(path):
  file = pathlib.Path(path)
  return file.read_text().partition('\n')[0] if file.is_file() else ''


def caches():
  """['32K', '1024K', '32768K'], without instruction caches."""
  found = sorted(pathlib.Path('/sys/devices/system/cpu/cpu0/cache').glob('index*'))
  return [first_line(one / 'size') for one in found if first_line(one / 'type') != 'Instruction']


def cpu_name():
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    if line.startswith('model name'):
      return ' '.join(line.partition(':')[2].split())
  return platform.machine()


def circumstances(options, application):
  return {'date': datetime.date.today().isoformat(), 'commit': commit_of(options.build),
          'kernel': f'{platform.system()} {platform.release().partition("-")[0]}', 'caches': caches(),
          'numa_nodes': len(list(pathlib.Path('/sys/devices/system/node').glob('node[0-9]*'))),
          'clock': first_line('/sys/devices/system/clocksource/clocksource0/current_clocksource'),
          'binding': application.bindings(options)}


def facts(options, application):
  version = subprocess.run([shutil.which('mpirun.openmpi') or 'mpirun', '--version'], capture_output=True, text=True, check=True).stdout
  said = subprocess.run([f'{product_of(options.build)}/bin/quadrille', '--version'], capture_output=True, text=True, check=True).stdout
  mpi = re.sub(r'^\S+ \(Open(RTE|PRRTE)\)', 'Open MPI', version.splitlines()[0])
  return {'ranks': max(options.counts), 'processors': processors(), 'cpu': cpu_name(), 'mpi': mpi,
          'quadrille': said.splitlines()[0], 'runs': options.runs, 'facts': circumstances(options, application)}
