#!/usr/bin/env python3
"""Runs random but legal MPI programs under Quadrille and looks for wrong bytes, crashes and hangs.

  fuzz.py --seconds 60                       all MPIs that are installed, new seeds
  fuzz.py --seconds 3600 --mpi mpich         one MPI for an hour
  fuzz.py --seeds 100-199 --mpi openmpi      these seeds
  fuzz.py --case '{"mpi": ...}'              one case again, as it was printed
  fuzz.py --kept                             the seeds that once found something
  fuzz.py --mistakes                         the program makes mistakes on purpose: are they found?

A seed says everything: ranks, settings, and what the program (tests/fuzz) does. What it finds is run again without
Quadrille, then cut down to few steps, and printed as a line for tests/fuzz/kept_seeds.txt.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import fuzz_settings
import fuzz_tables
import other_mpis

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / 'tests' / 'fuzz' / 'kept_seeds.txt'
ROOT_USER = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
             'OMPI_MCA_rmaps_base_oversubscribe': '1'}
NAMES = {'openmpi': 'openmpi', 'openmpi-5': 'openmpi', 'mpich': 'mpich', 'intel-mpi-2021': 'mpich'}
# A longer wait than any call takes on a busy machine.
PATIENCE_S = 60
RUN_LIMIT_S = 900


class Totals:
  def __init__(self):
    self.calls = collections.Counter()
    self.served = self.passed = self.explained_runs = self.runs = 0
    self.ways = collections.Counter()
    self.findings = []
    self.of_the_mpi = 0  # the same program fails without Quadrille at the same step

  def take(self, output):
    self.runs += 1
    for name, count in re.findall(r'^fuzz: calls (\S+) (\d+)', output, re.M):
      self.calls[name] += int(count)
    for served, passed in re.findall(r'summary: (\d+) calls served, (\d+) forwarded', output):
      self.explained_runs += 1
      self.served += int(served)
      self.passed += int(passed)
    for collective, way in re.findall(r'^quadrille: (\w+) on .* -> ([\w-]+)', output, re.M):
      self.ways[collective, 'passed' if way == 'mpi' else 'served'] += 1

  def text(self, name):
    lines = [f'{name}: {self.runs} seeds, {sum(self.calls.values())} calls of all ranks, {len(self.findings)} findings']
    if self.of_the_mpi:
      lines.append(f'  {self.of_the_mpi} more that the MPI has without Quadrille, too')
    for call in sorted(self.calls):
      lines.append(f'  {call:32} {self.calls[call]:>9}')
    if self.explained_runs:
      lines.append(f'  of {self.served + self.passed} calls that were counted in {self.explained_runs} runs with '
                   f'QUADRILLE_EXPLAIN {self.served} were served, {self.passed} forwarded to the MPI')
      kinds = sorted({kind for kind, _ in self.ways})
      lines.append('  kinds of calls that were explained, served and passed: '
                   + ', '.join(f'{k} {self.ways[k, "served"]} {self.ways[k, "passed"]}' for k in kinds))
      for kind in kinds:
        if self.ways[kind, 'served'] == 0:
          lines.append(f'  never served: {kind}')
    return '\n'.join(lines)


class Place:
  """Where the program and Quadrille are for one MPI."""

  def __init__(self, name, build):
    self.name = name
    self.build = build or ROOT / 'build' / NAMES[name]
    self.program = self.build / 'bin' / 'quadrille_fuzz'
    if self.program.exists():
      self.tool = self.build / other_mpis.cached(self.build, 'QUADRILLE_LIBRARY_BUILD') / 'bin' / 'quadrille'
    self.environment = {**ROOT_USER, **fuzz_settings.MPI_SETTINGS.get(name, {})}
    self.most_ranks = 9
    if name == NAMES[name]:
      self.launcher = other_mpis.own_launcher(self.build) if self.program.exists() else ''
      return
    mpi = next(m for m in other_mpis.other_mpis() if m.name == name)
    self.launcher = str(mpi.launcher)
    self.environment.update(mpi.environment())
    self.environment.pop('QUADRILLE_TEST_WEAK_MPI', None)

  def is_there(self):
    return self.program.exists() and pathlib.Path(self.launcher).exists()


def command_of(place, case, native, patience):
  skips = ','.join(sorted({**fuzz_settings.DEFECTS[place.name], **fuzz_settings.OWN_DEFECTS}))
  words = [place.launcher, '-n', str(case.ranks), str(place.program), '--seed', str(case.seed), *case.arguments,
           '--patience', str(patience), *(['--skip', skips] if skips else [])]
  return words if native else [str(place.tool), 'run', '--', *words]


def run_case(place, case, native=False, patience=PATIENCE_S, limit=RUN_LIMIT_S):
  """Returns an empty string and the output, or what went wrong and the output."""
  environment = {k: v for k, v in os.environ.items() if not k.startswith('QUADRILLE')}
  environment.update(place.environment)
  environment['XDG_CONFIG_HOME'] = '/nonexistent'
  if not native:
    environment.update(case.settings)
  with tempfile.TemporaryDirectory(prefix='fuzz-') as folder:
    if environment.get('QUADRILLE_TUNING', '').startswith(fuzz_settings.DRAWN_TABLE):
      environment['QUADRILLE_TUNING'] = write_table(place, environment['QUADRILLE_TUNING'], pathlib.Path(folder))
    return run_command(command_of(place, case, native, patience), environment, limit)


def write_table(place, setting, folder):
  seed = setting.removeprefix(fuzz_settings.DRAWN_TABLE)
  path = folder / 'table.json'
  path.write_text(fuzz_tables.draw_table(seed, fuzz_settings.algorithms(place.tool)))
  return str(path)


def run_command(words, environment, limit):
  process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
  try:
    output, _ = process.communicate(timeout=limit)
  except subprocess.TimeoutExpired:
    os.killpg(process.pid, 9)
    output, _ = process.communicate()
    return f'no end after {limit} s', output.decode(errors='replace')
  text = output.decode(errors='replace')
  if process.returncode == 0 and 'nothing found' in text:
    return '', text
  found = re.search(r'FINDING.*', text)
  return found.group(0) if found else f'exit status {process.returncode}', text


def with_arguments(case, *more):
  """The case with other steps."""
  words = list(case.arguments)
  for option in ('--only', '--steps'):
    if option in words:
      del words[words.index(option):words.index(option) + 2]
  return fuzz_settings.Case(case.mpi, case.seed, case.ranks, case.settings, [*more, *words])


def ranges(steps):
  """[1, 2, 3, 7] -> '1-3,7'"""
  parts = []
  for step in steps:
    if parts and parts[-1][1] == step - 1:
      parts[-1][1] = step
    else:
      parts.append([step, step])
  return ','.join(f'{a}-{b}' if a < b else str(a) for a, b in parts)


def reduce(place, case, output, until):
  """The fewest steps that still fail, within some time."""
  reached = steps_of(output)
  if not reached:
    return case
  last = max(reached)

  def fails(steps, times=2):
    smaller = with_arguments(case, '--only', ranges(steps))
    return any(time.monotonic() < until and run_case(place, smaller, patience=10, limit=120)[0] for _ in range(times))

  first, length = min(reached), 1
  while not fails(range(max(0, first + 1 - length), last + 1)):
    if length > first or time.monotonic() > until:
      return with_arguments(case, '--only', f'0-{last}')
    length *= 4
  steps = list(range(max(0, first + 1 - length), last + 1))
  piece = len(steps) // 2
  while piece > 0 and time.monotonic() < until:
    for start in range(0, len(steps), piece):
      fewer = steps[:start] + steps[start + piece:]
      if fewer and fails(fewer):
        steps = fewer
        break
    else:
      piece //= 2
  return with_arguments(case, '--only', ranges(steps))


def readable(output):
  """Addresses of stacks as functions."""
  lines = []
  for line in output.splitlines():
    frame = re.match(r'(/\S*|\S*/\S+)\((?:[^)]*)\+(0x[0-9a-f]+)\)\[', line)
    if frame and 'libquadrille' in frame.group(1) and '(+' in line:
      answer = subprocess.run(['addr2line', '-Cfpi', '-e', frame.group(1), frame.group(2)], capture_output=True,
                              text=True)
      line = '    ' + answer.stdout.strip().replace('\n', '\n      ')
    lines.append(line)
  return '\n'.join(lines)


def keep(place, case, wrong, output, native_wrong, folder):
  folder.mkdir(parents=True, exist_ok=True)
  path = folder / f'{place.name}-{case.seed}.txt'
  path.write_text(f'{wrong}\n\n{case.words()}\n\n{" ".join(command_of(place, case, False, PATIENCE_S))}\n\n'
                  f'without Quadrille: {native_wrong or "nothing found"}\n\n{readable(output)}\n')
  return path


def steps_of(output):
  """Where ranks were when something was found."""
  return {int(step) for step in re.findall(r'^fuzz: seed \d+ step (\d+) rank', output, re.M)}


def is_of_the_mpi(place, case, output):
  """Does the same program find the same without Quadrille? Twice, as an MPI may fail by chance."""
  for _ in range(2):
    wrong, native = run_case(place, case, native=True, patience=20)
    if wrong and steps_of(native) & steps_of(output):
      return wrong
  return ''


def look(place, case, totals, options):
  """Runs one case, and looks closer if something is wrong."""
  began = time.monotonic()
  wrong, output = run_case(place, case)
  totals.take(output)
  if not wrong:
    calls = re.search(r'(\d+) calls of all ranks', output)
    if options.verbose:
      print(f'ok  {place.name} {case.seed}: {case.ranks} ranks, {calls.group(1)} calls, '
            f'{time.monotonic() - began:.1f} s', flush=True)
    return
  print(f'FOUND  {place.name} seed {case.seed}, {case.ranks} ranks: {wrong[:600]}', flush=True)
  # The same steps alone: others, which Quadrille serves, may be too much for the MPI.
  steps = steps_of(output)
  same = with_arguments(case, '--only', ranges(sorted(steps))) if steps else case
  native_wrong, _ = run_case(place, same, native=True, patience=20)
  print(f'  without Quadrille: {native_wrong[:300] or "nothing found"}', flush=True)
  if whole_wrong := is_of_the_mpi(place, case, output):
    totals.of_the_mpi += 1
    path = keep(place, case, wrong, output, whole_wrong, options.folder)
    print(f'THE MPI HAS IT, TOO, in the whole run: {whole_wrong[:300]}\n  more: {path}', flush=True)
    return
  if options.again and not any(run_case(place, case)[0] for _ in range(options.again)):
    path = keep(place, case, wrong, output, native_wrong, options.folder)
    print(f'SEEN ONCE, and not again in {options.again} runs: it does not fail the test, but is not explained either\n'
          f"  again: scripts/fuzz.py --case '{case.words()}'\n  more: {path}", flush=True)
    return
  smallest = case if options.no_reduce else reduce(place, case, output, time.monotonic() + options.reduce_seconds)
  path = keep(place, smallest, wrong, output, native_wrong, options.folder)
  print(f"  again: scripts/fuzz.py --case '{smallest.words()}'\n  more: {path}", flush=True)
  totals.findings.append(smallest)


def kept_cases(names):
  lines = [line for line in KEPT.read_text().splitlines() if line and not line.startswith('#')]
  return [case for case in map(fuzz_settings.read_case, lines) if case.mpi in names]


def cases_of(place, options):
  by_collective = fuzz_settings.algorithms(place.tool)
  if options.seeds:
    first, _, last = options.seeds.partition('-')
    numbers = range(int(first), int(last or first) + 1)
  else:
    start = int(time.time()) % 1_000_000 * 100
    numbers = range(start, start + 10**9)
    print(f'{place.name}: seeds from {start} on', flush=True)
  for seed in numbers:
    most_ranks = min(place.most_ranks, options.most_ranks)
    yield fuzz_settings.draw_case(place.name, seed, by_collective, options.steps, most_ranks)


def fuzz(place, options, seconds):
  totals = Totals()
  until = time.monotonic() + seconds
  if options.kept or options.case:
    cases = [fuzz_settings.read_case(options.case)] if options.case else kept_cases([place.name])
  else:
    cases = cases_of(place, options)
  for case in cases:
    if options.seeds is None and not options.kept and not options.case and time.monotonic() > until:
      break
    look(place, case, totals, options)
    if len(totals.findings) >= options.most_findings:
      break
  print(totals.text(place.name), flush=True)
  return totals


def find_mistakes(place):
  all_found = True
  for mistake, words in {'receive': 'receive buffer', 'guard': 'receive buffer', 'gap': 'receive buffer',
                         'send': 'send buffer was changed', 'hang': 'stuck'}.items():
    case = fuzz_settings.Case(place.name, 1, 2, {'QUADRILLE_SETUP_AFTER': '0', 'QUADRILLE_TUNING': 'none'},
                              ['--steps', '200', '--bytes', '10000', '--served', '--mistake', mistake])
    wrong, _ = run_case(place, case, patience=2 if mistake == 'hang' else 5)
    all_found = all_found and words in wrong
    print(f'{"found" if words in wrong else "NOT FOUND"}: {mistake}: {wrong[:200]}', flush=True)
  return all_found


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--seconds', type=float, default=60, help='for all MPIs together')
  parser.add_argument('--seeds', help='these alone: N or N-M')
  parser.add_argument('--steps', type=int, default=400)
  parser.add_argument('--mpi', action='append', choices=sorted(NAMES))
  parser.add_argument('--abi', choices=['openmpi', 'mpich'], help='the MPIs of one build')
  parser.add_argument('--most-ranks', type=int, default=9)
  parser.add_argument('--most-findings', type=int, default=5)
  parser.add_argument('--case')
  parser.add_argument('--kept', action='store_true')
  parser.add_argument('--mistakes', action='store_true')
  parser.add_argument('--build', type=pathlib.Path, help='where the programs of the one --abi are')
  parser.add_argument('--again', type=int, default=0, metavar='N',
                      help='a finding counts if it comes again in one of N more runs (0: at once)')
  parser.add_argument('--no-reduce', action='store_true')
  parser.add_argument('--reduce-seconds', type=float, default=300)
  parser.add_argument('--folder', type=pathlib.Path, default=ROOT / 'build' / 'fuzz')
  parser.add_argument('--verbose', action='store_true')
  options = parser.parse_args()
  names = options.mpi or [name for name in NAMES if options.abi in (None, NAMES[name])]
  if options.case:
    names = [fuzz_settings.read_case(options.case).mpi]
  if options.build and not (options.abi or len(names) == 1):
    parser.error('--build wants --abi')
  places = [place for place in (Place(name, options.build) for name in names) if place.is_there()]
  if not places:
    print('fuzz: nothing is built, or no MPI is installed: make tests', file=sys.stderr)
    return 2
  if options.mistakes:
    return 0 if find_mistakes(places[0]) else 1
  totals = [fuzz(place, options, options.seconds / len(places)) for place in places]
  findings = sum(len(one.findings) for one in totals)
  print(f'{sum(one.runs for one in totals) - findings} passed, {findings} failed')
  return 1 if findings else 0


if __name__ == '__main__':
  sys.exit(main())
