#!/usr/bin/env python3
"""Probes a machine with GPUs, and measures Quadrille and the MPI on it.

  gpu_report --probe              what the machine supports and what it refuses; less than 3 minutes
  gpu_report                      the same, then all measurements; an hour or more
  gpu_report --steps check,small  only the steps whose names begin with these words
  gpu_report --list               the names of the steps

Each step ends after --minutes at most. --out has the results after each step: report.json has all data, log.txt the output,
report.md the aims with verdicts. --resume skips finished steps, so that an interrupted run continues.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import probe
import steps as plan
import verdicts

HERE = pathlib.Path(__file__).resolve().parent


# The stored columns of a row, if they have a value; `served_by` if another algorithm served the call, and the bounds of a call in steps
# about them.
KEPT = ('bytes', 'algorithm', 'served_by', 'path', 'errors', 'mpi_us', 'quadrille_us', 'ratio', 'quadrille_p99_us', 'batches', 'ceiling_us',
        'ceiling_part', 'ceiling_by')


def short(value):
  return float(f'{value:.4g}') if isinstance(value, float) else value


def kept_row(row, bounded):
  kept = {key: short(row[key]) for key in KEPT if row.get(key) is not None and (bounded or not key.startswith('ceiling'))}
  if kept.get('served_by') == kept['algorithm']:
    del kept['served_by']
  if not kept['algorithm'].startswith('pipelined'):
    kept.pop('path', None)
  return kept


def kept_data(name, data):
  """The rows in the data of a step; figures have their own form."""
  if 'rows' not in data:
    return data
  rows, header = data['rows'], data['header']
  return {'header': {key: header[key] for key in ('mpi', 'cpu', 'date', 'device') if key in header},
          'memory': rows[0].get('memory', '') if rows else '', 'rows': [kept_row(row, name.startswith('staged-')) for row in rows]}


def text_of(found):
  """A step as text: its facts in a line, and a line for each row."""
  def line(value):
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))
  steps = []
  for name, step in found['steps'].items():
    rows = ',\n   '.join(line(row) for row in step.get('rows', []))
    facts = line({key: value for key, value in step.items() if key != 'rows'})
    steps.append(f'{line(name)}: {facts[:-1]},"rows": [\n   {rows}]}}' if rows else f'{line(name)}: {facts}')
  probe = ',\n  '.join(f'{line(name)}: {line(what)}' for name, what in found['probe'].items())
  return '{"probe": {\n  ' + probe + '},\n "steps": {\n  ' + ',\n  '.join(steps) + '}}\n'


class Report:
  """The results so far, on disk after each step."""

  def __init__(self, folder, resume):
    self.folder = folder
    folder.mkdir(parents=True, exist_ok=True)
    self.file = folder / 'report.json'
    old = json.loads(self.file.read_text()) if resume and self.file.exists() else {}
    self.found = {'probe': {}, 'steps': {}, **old}
    self.log = open(folder / 'log.txt', 'a' if resume else 'w', encoding='utf-8')  # pylint: disable=consider-using-with
    self.begin = time.monotonic()

  def say(self, text):
    print(text, flush=True)
    print(text, file=self.log, flush=True)

  def keep(self, part, name, what):
    self.found[part][name] = what
    with tempfile.NamedTemporaryFile('w', dir=self.folder, delete=False, encoding='utf-8') as file:
      file.write(text_of(self.found))
    os.chmod(file.name, 0o644)
    os.replace(file.name, self.file)
    (self.folder / 'report.md').write_text(verdicts.page(self.found), encoding='utf-8')


def signal_all(process, number):
  try:
    os.killpg(process.pid, number)
  except ProcessLookupError:
    pass


PATIENCE = ((signal.SIGTERM, 10), (signal.SIGKILL, 5))  # seconds for the launcher to end its ranks, then for the ranks


def end(process):
  """Ends a launcher with its ranks. Returns its output, if all holders of the pipe have ended."""
  for number, patience in PATIENCE:
    signal_all(process, number)
    try:
      return process.communicate(timeout=patience)[0]
    except subprocess.TimeoutExpired:
      pass
  process.stdout.close()  # a rank in another process group may hold the other end
  return ''


def run(command, settings, seconds):
  """(exit status, output, seconds). Processes that the command has started end with it."""
  begin = time.monotonic()
  with subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                        errors='replace', start_new_session=True) as process:
    try:
      text, _ = process.communicate(timeout=seconds)
      status = process.returncode
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as stopped:
      text, status = end(process), 124
      if isinstance(stopped, KeyboardInterrupt):
        raise
  return status, text, time.monotonic() - begin


def read_data(file):
  """The data that a step wrote; empty if the step died."""
  try:
    return json.loads(file.read_text())
  except json.JSONDecodeError:
    return {}


class Runner:
  def __init__(self, options, report):
    self.options, self.report = options, report

  def settings_of(self, step):
    settings = dict(step.settings)
    if step.against:
      way = verdicts.fastest_way(self.report.found['steps'], step.against, step.ranks)
      if way is not None:
        settings.update(plan.openmpi_way(step.against, way))
      elif verdicts.were_ways_tried(self.report.found['steps'], step.against, step.ranks):
        # No way supports device memory: the MPI's collectives get host memory; its messages may still support device memory.
        settings['QUADRILLE_MPI_DEVICE'] = 'messages'
    return settings

  def command_of(self, step, data):
    figure = '--figure' in step.bench
    words = step.bench + ([] if figure else ['--device', self.options.device])
    words += ['--results', data] if figure else ['--json', os.path.join(data, 'rows.json')]
    program = self.options.lab if figure else self.options.quadrille
    return [*shlex.split(self.options.mpirun), '-n', str(step.ranks), program, 'bench', *words]

  def run(self, step):
    settings = self.settings_of(step)
    with tempfile.TemporaryDirectory() as data:
      command = self.command_of(step, data)
      words = ' '.join([*(f'{k}={v}' for k, v in settings.items()), *command]).replace(data, 'DIR')
      self.report.say(f'\n==== {step.name}: {step.about}\n{words}')
      status, text, took = run(command, settings, self.options.minutes * 60)
      self.report.say(text.rstrip())
      found = {'command': words, 'status': status, 'seconds': round(took, 1), 'ranks': step.ranks}
      for file in pathlib.Path(data).glob('*.json'):
        found.update(kept_data(step.name, read_data(file)))
    if status != 0:
      said = [line for line in text.splitlines() if line.strip()]
      found['said'] = said[-8:]
      self.report.say(f'{step.name} ended with {status} after {took:.0f} s')
    self.report.keep('steps', step.name, found)
    return found


def is_hydra(mpirun):
  """Whether this is the launcher of MPICH or Intel MPI, which lack Open MPI's settings."""
  try:
    said = subprocess.run([mpirun, '--version'], capture_output=True, text=True, timeout=60, check=False).stdout
  except (OSError, subprocess.TimeoutExpired):
    return False
  return 'HYDRA' in said or 'Intel(R) MPI' in said


def wanted(step, options):
  return not options.steps or any(step.name.startswith(name) for name in options.steps.split(','))


def arguments():
  parser = argparse.ArgumentParser(prog='gpu_report', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--probe', action='store_true', help='only probe the machine')
  parser.add_argument('--list', action='store_true', help='print the names of the steps')
  parser.add_argument('--steps', default='', help='only the steps whose names begin with these words, with commas')
  parser.add_argument('--ranks', default='2,4,8', help='numbers of ranks (2,4,8)')
  parser.add_argument('--out', default='gpu_report.out', help='folder of the results (gpu_report.out)')
  parser.add_argument('--resume', action='store_true', help='skip finished steps')
  parser.add_argument('--minutes', type=float, default=8.5, help='limit of a step (8.5)')
  parser.add_argument('--budget', type=float, default=0, help='minutes after which no step begins; 0: no limit')
  parser.add_argument('--device', default='cuda', choices=['cuda', 'hip'])
  parser.add_argument('--quick', action='store_true', help='few and small sizes, for a trial run')
  parser.add_argument('--mpirun', default=os.environ.get('GPU_REPORT_MPIRUN', 'mpirun'), help='the launcher, with its options')
  parser.add_argument('--quadrille', default=os.environ.get('GPU_REPORT_QUADRILLE', 'quadrille'))
  parser.add_argument('--lab', default=os.environ.get('GPU_REPORT_LAB', 'quadrille-lab'))
  parser.add_argument('--check', help=argparse.SUPPRESS)
  parser.add_argument('--bytes', type=int, default=0, help=argparse.SUPPRESS)
  options = parser.parse_args()
  try:
    options.counts = [int(n) for n in options.ranks.split(',')]
    if min(options.counts) < 1:
      raise ValueError
  except ValueError:
    parser.error(f'--ranks {options.ranks}: numbers of ranks with commas are wanted, as 2,4,8')
  return parser, options


def measure(options, report):
  runner = Runner(options, report)
  steps = [step for step in plan.steps(options.quick, options.counts) if wanted(step, options)]
  if is_hydra(shlex.split(options.mpirun)[0]):
    steps = [step for step in steps if not step.name.startswith('way-')]
  bad = 0
  for number, step in enumerate(steps, 1):
    if options.resume and report.found['steps'].get(step.name, {}).get('status') == 0:
      continue
    minutes = (time.monotonic() - report.begin) / 60
    if options.budget and minutes >= options.budget:
      report.say(f'\n{len(steps) - number + 1} steps are left for --resume: {options.budget:g} minutes are over')
      break
    print(f'[{number}/{len(steps)}, {minutes:.0f} min]', file=sys.stderr, flush=True)
    found = runner.run(step)
    # An MPI that crashes with device memory is a result about the MPI.
    bad += found['status'] != 0 and not step.name.startswith('way-')
  return bad


def main():
  parser, options = arguments()
  if options.check:
    return probe.run_one(options.check, options.bytes)
  if options.list:
    for step in plan.steps(options.quick, options.counts):
      print(f'{step.name:24} {step.about}')
    return 0
  chosen = [step for step in plan.steps(options.quick, options.counts) if wanted(step, options)]
  if options.steps and not chosen:
    parser.error(f'--steps {options.steps}: there is no such step; see --list')
  programs = [] if options.probe else [shlex.split(options.mpirun)[0], options.quadrille]
  if programs and any('--figure' in step.bench for step in chosen):
    programs.append(options.lab)
  for program in programs:
    if shutil.which(program) is None:
      parser.error(f'{program} is not there; see --mpirun, --quadrille and --lab')
  report = Report(pathlib.Path(options.out), options.resume)
  if not options.steps and not (options.resume and report.found['probe']):
    probe.probe(options.quick, report.say, lambda name, what: report.keep('probe', name, what))
  bad = 0 if options.probe else measure(options, report)
  report.say(f'\n{report.folder}/report.json, report.md and log.txt' + (f'; {bad} steps failed' if bad else ''))
  return 1 if bad else 0


if __name__ == '__main__':
  sys.exit(main())
