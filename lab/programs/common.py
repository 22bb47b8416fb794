"""What the figures of whole programs share: how programs are started, rows of times, what was measured where, and verdicts."""

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
  """{which ranks: the processors that each may run on}; with `fits`, those that have a processor each are bound to it."""
  return {f'{ranks} ranks': processors_of(options.build, ranks, fits and ranks <= processors()) for ranks in options.counts}


@dataclasses.dataclass
class Application:
  """One figure. Its data have `panels`, each with `x` (the name of a number of each row), `y`, and `rows` with `line` and `us`."""
  name: str
  title: str
  source: str
  lines: str      # what the page says of its lines
  measure: object  # (Options) -> (how, panels)
  claims: object   # (data) -> [Claim]
  alone: str = ''  # one process without the MPI: what it is
  bindings: object = bindings  # (Options) -> {which ranks: their processors}
  table: object = None  # (panel) -> text, where it is not the usual one


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


def processors_of(build, ranks, bound, mpirun=None, settings=None):
  """'0-1' if each rank may run on both, '0, 1' if each has one of them. More ranks than there are processors are not bound, and
  launchers have hung when so many processes ended at once."""
  ranks = min(ranks, processors() + 1)
  said = launch(build, ranks, ['/bin/grep', 'Cpus_allowed_list', '/proc/self/status'], settings, mpirun, bound)
  return ', '.join(sorted({line.split()[-1] for line in said.splitlines() if line.startswith('Cpus_allowed_list')}))


# ---- Rows ----


def spread(seconds, of=''):
  """Of several runs; `of` is '' or 'total_', for the time of the whole program."""
  us = [round(one * 1e6, 3) for one in seconds]
  return {f'{of}us': statistics.median(us), f'{of}least_us': min(us), f'{of}most_us': max(us), f'{of}runs': us}


def time_text(row):
  """'9.37 (7.59..22.14)', or the time alone where the data have no spread."""
  text = f'{row["us"]:.2f}'
  return f'{text} ({row["least_us"]:.2f}..{row["most_us"]:.2f})' if 'least_us' in row else text


def number_of(here, digits=2):
  """'1.11 (1.05..1.20)': the median of the runs, their least and their most."""
  if not here:
    return '-'
  text = f'{statistics.median(here):.{digits}f}'
  return f'{text} ({min(here):.{digits}f}..{max(here):.{digits}f})' if len(here) > 1 else text


def times(panel, line):
  return {row[panel['x']]: row['us'] for row in panel['rows'] if row['line'] == line}


def runs_of(panel, line, of=''):
  """{x: the time of each run}; where the data have no runs, their median alone."""
  known = all(f'{of}runs' in row for row in panel['rows'])
  return {row[panel['x']]: row[f'{of}runs'] if known else [row[f'{of}us']] for row in panel['rows'] if row['line'] == line}


def lines_of(panel):
  return list(dict.fromkeys(row['line'] for row in panel['rows']))


def speedup(of, against):
  """By the geometric mean over what both have; None if that is nothing."""
  ratios = [against[x] / of[x] for x in of if x in against]
  return statistics.geometric_mean(ratios) if ratios else None


def of_run(runs, number):
  return {x: us[number] for x, us in runs.items()}


def speedups(panel, line, rival, of='', where=lambda x: True):
  """What a rival's time is over that of a line, in each run; [] if one of them is missing."""
  ours, theirs = ({x: us for x, us in runs_of(panel, one, of).items() if where(x)} for one in (line, rival))
  count = min((len(us) for us in [*ours.values(), *theirs.values()]), default=0)
  found = [speedup(of_run(ours, i), of_run(theirs, i)) for i in range(count)]
  return [] if None in found else found


# ---- Verdicts ----

UNTESTABLE = 'cannot be tested here'
NO_NUMBER = 'no number to compare with'
BEYOND = '(not in the paper) '
A_QUARTER = 1.25
# As in lab/figure/claims.cpp.
A_DIFFERENCE, JUST_ABOVE = 1.1, 1.01


class Claim(typing.NamedTuple):
  text: str
  paper: str
  here: list  # a number for each run, or one of medians, or none
  verdict: str


def bounds_of(paper):
  """Between which numbers ours agrees; None if the paper has no number."""
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
  # No difference here is none of what the paper saw.
  if numbers[0] >= A_DIFFERENCE:
    return max(least, JUST_ABOVE), most
  return (least, min(most, 1 / JUST_ABOVE)) if 0 < numbers[0] <= 1 / A_DIFFERENCE else (least, most)


def word_of(bounds, here):
  inside = [bounds[0] <= one <= bounds[1] for one in here]
  if all(inside):
    return 'agrees'
  return 'the runs differ' if any(inside) else 'disagrees'


def judged(text, paper, here, ranks=None, about=None, reason=''):
  """A claim with its verdict: `about` is the paper's number of ranks, and a `reason` is why it cannot be tested here."""
  bounds = bounds_of(paper)
  if bounds is None:
    return Claim(text, paper, here, NO_NUMBER)
  if reason or not here:
    return Claim(text, paper, here, f'{UNTESTABLE}: {reason or "it was not measured"}')
  word = word_of(bounds, here)
  if about is not None and ranks != about:
    word += f' at this scale: about {about} ranks, there were {ranks}'
  return Claim(text, paper, here, word)


def beyond(text, here):
  """A row that the paper does not have."""
  return judged(BEYOND + text, '-', here)


def crowded(ranks, cores):
  """Why claims about caches and cores cannot be tested with more ranks than processors; '' otherwise."""
  return f'{ranks} ranks shared {cores} processors' if ranks > cores else ''


# ---- Where it was measured ----


def commit_of(build):
  """That of the sources of a build, with + behind it if they were changed; '' if it is not known."""
  header = pathlib.Path(build) / 'lab' / 'generated' / 'lab' / 'commit.hpp'
  found = re.search(r'"([0-9a-f]*\+?)"', header.read_text()) if header.is_file() else None
  return found[1] if found else ''


def first_line(path):
  file = pathlib.Path(path)
  return file.read_text().partition('\n')[0] if file.is_file() else ''


def caches():
  """['32K', '1024K', '32768K'], without those of instructions."""
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
          'clock': first_line('/sys/devices/system/clocksource/clocksource0/current_clocksource'),
          'binding': application.bindings(options)}


def binding_text(binding):
  """'2 ranks on processors 0, 1; 8 ranks, 16 ranks on processors 0-1'"""
  who = {}
  for ranks, where in binding.items():
    who.setdefault(where, []).append(ranks)
  return '; '.join(f'{", ".join(ranks)} on processors {where}' for where, ranks in who.items())


def facts_line(known):
  """What a page says of the circumstances."""
  commit = f'at {known["commit"]}' if known['commit'] else 'of unknown commit'
  parts = [f'Measured on {known["date"]} with Quadrille {commit}', known['kernel'], f'caches {" / ".join(known["caches"])}',
           f'clock {known["clock"]}']
  return ', '.join(parts) + (f'; {binding_text(known["binding"])}' if known['binding'] else '') + '.'


def facts(options, application):
  version = subprocess.run([shutil.which('mpirun.openmpi') or 'mpirun', '--version'], capture_output=True, text=True, check=True).stdout
  said = subprocess.run([f'{options.build}/bin/quadrille', '--version'], capture_output=True, text=True, check=True).stdout
  mpi = re.sub(r'^\S+ \(Open(RTE|PRRTE)\)', 'Open MPI', version.splitlines()[0])
  return {'ranks': max(options.counts), 'processors': processors(), 'cpu': cpu_name(), 'mpi': mpi,
          'quadrille': said.splitlines()[0], 'runs': options.runs, 'facts': circumstances(options, application)}
