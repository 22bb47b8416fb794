#!/usr/bin/env python3
"""Runs an MPI program natively and under Quadrille, and compares.

  run_client.py --quadrille build/bin/quadrille --served alltoall,allgather -- mpirun -n 3 ./program

Both runs must succeed and print the same to standard output. Of the run under Quadrille, the report
of QUADRILLE_EXPLAIN must say that calls were served, and that each of the collectives in --served
was given to something other than the MPI.

  --form WORD       the calls to look for are "nonblocking" or "persistent" ones; may be repeated, and each collective must
                    have been served in each form. Where the MPI makes no progress on them while the program waits
                    in it, as its launcher tells, all must have been given to the MPI instead, for that reason
  --tool ORDER=FILE a library that is preloaded too: "behind" Quadrille, or "before" it
  --forwarded       calls are forwarded to the MPI, and none need be served
  --run OPTION      an option for `quadrille run`; may be repeated
  --direct          start the program itself, not `quadrille run`: for programs that call Quadrille by
                    name; there is no native run then
  --warning TEXT    standard error must hold exactly one line with TEXT
  --differs         the two runs may print different things (times)
  --only REGEX      only lines of the output that match are compared; each run must have some
  --expect TEXT     standard output of both runs must hold TEXT; may be repeated
  --own-defect WHY  the MPI itself gets these calls wrong, so there is no native run: --expect says what is right
  --file FROM=TO    copy a file into the folder in which the command runs, under the name TO
  (A program that prints a line with "skipped:" first, natively, is skipped with that exit status as well.)
  --needs FILE      skip the test, with exit status 77, if this file is not there; may be repeated
  --report NAME     what the command writes to file NAME counts as its output
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(command, environment, arguments):
  """Runs the command in an empty folder. Returns the status, standard output and standard error."""
  with tempfile.TemporaryDirectory(prefix='client-') as folder:
    for pair in arguments.file:
      source, name = pair.split('=')
      shutil.copy(source, pathlib.Path(folder) / name)
    answer = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, cwd=folder,
                            capture_output=True, text=True, errors='replace', timeout=120)
    output = answer.stdout
    if arguments.report:
      report = pathlib.Path(folder) / arguments.report
      output += report.read_text() if report.exists() else ''
  return answer.returncode, output, answer.stderr


def run_by_mpi_alone(command, environment, arguments):
  """The same, once more if it hangs: MPICH 4.0 has done so once, which says nothing of Quadrille."""
  try:
    return run(command, environment, arguments)
  except subprocess.TimeoutExpired as hung:
    print(f'without Quadrille the program hung for {hung.timeout} s; it is run once more')
    return run(command, environment, arguments)


def compared(output, arguments):
  """The part of a run's output in which the runs must agree."""
  if arguments.only is None:
    return output
  return '\n'.join(line for line in output.splitlines() if re.search(arguments.only, line))


def goes_on(launcher):
  """Does the launcher's MPI go on with Quadrille's requests while the program waits in it? (docs/requests.md)"""
  said = subprocess.run([launcher, '--version'], capture_output=True, text=True, check=True).stdout
  if 'Open MPI' in said or 'OpenRTE' in said or 'prterun' in said:
    return True
  hydra = re.search(r'HYDRA build details:\s+Version:\s+(\d+)', said)
  return bool(hydra) and int(hydra.group(1)) >= 5


def problems_of_forms(text, arguments):
  """What is wrong with the report on nonblocking and persistent calls."""
  problems = []
  served = goes_on(arguments.command[0])
  for form in arguments.form:
    for collective in arguments.served.split(','):
      lines = re.findall(rf'quadrille: {collective} on .* -> ([^:\s]+): (?:{form}; )?(.*)', text)
      if served and not any(by != 'mpi' for by, _ in lines):
        problems.append(f'{form} {collective} was never served: {lines}')
      by_the_mpi = all(by == 'mpi' for by, _ in lines) and any('(code=lacks-progress)' in why for _, why in lines)
      if not served and not by_the_mpi:
        problems.append(f'{form} {collective} was not given to the MPI for the reason that it has no progress: {lines}')
  return problems


def problems_of_report(text, arguments):
  """What is wrong with the report of QUADRILLE_EXPLAIN."""
  if arguments.form:
    return problems_of_forms(text, arguments)
  problems = []
  summary = re.search(r'quadrille: summary: (\d+) calls served, (\d+) forwarded', text)
  if not summary:
    problems.append('there is no summary: was the program under Quadrille at all?')
  elif arguments.forwarded:
    if int(summary.group(2)) == 0:
      problems.append('no call was forwarded')
  elif int(summary.group(1)) == 0:
    problems.append('no call was served')
  for collective in filter(None, arguments.served.split(',')):
    chosen = re.findall(rf'quadrille: {collective} on .* -> ([^:\s]+)', text)
    if not any(name != 'mpi' for name in chosen):
      problems.append(f'{collective} was never served: chosen were {chosen}')
  if arguments.warning:
    lines = [line for line in text.splitlines() if arguments.warning in line]
    if len(lines) != 1:
      problems.append(f'{len(lines)} lines with "{arguments.warning}", not 1')
  return problems


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--quadrille', required=True)
  parser.add_argument('--served', default='')
  parser.add_argument('--form', action='append', default=[])
  parser.add_argument('--tool')
  parser.add_argument('--run', action='append', default=[])
  parser.add_argument('--direct', action='store_true')
  parser.add_argument('--forwarded', action='store_true')
  parser.add_argument('--warning')
  parser.add_argument('--differs', action='store_true')
  parser.add_argument('--only')
  parser.add_argument('--expect', action='append', default=[])
  parser.add_argument('--own-defect')
  parser.add_argument('--file', action='append', default=[])
  parser.add_argument('--needs', action='append', default=[])
  parser.add_argument('--report')
  parser.add_argument('command', nargs='+')
  arguments = parser.parse_args()
  for needed in arguments.needs:
    if not os.path.exists(needed):
      print(f'skipped: {needed} is not there (make setup installs it, if it can reach the Python package index)')
      return SKIPPED

  explained = dict(os.environ, QUADRILLE_EXPLAIN='1')
  served_command = arguments.command
  natively = {k: v for k, v in os.environ.items() if not k.startswith('QUADRILLE')}
  if arguments.tool:
    order, tool = arguments.tool.split('=')
    natively['LD_PRELOAD'] = tool
    if order == 'behind':
      explained['LD_PRELOAD'] = tool
    else:
      script = f'LD_PRELOAD={tool}:$LD_PRELOAD; exec "$0" "$@"'
      served_command = [*served_command[:3], 'sh', '-c', script, *served_command[3:]]
  runs = []
  if arguments.own_defect and not arguments.expect:
    parser.error('--own-defect needs --expect')
  if not arguments.direct:
    if not arguments.own_defect:
      runs.append(('native', run_by_mpi_alone(arguments.command, natively, arguments)))
    served_command = [arguments.quadrille, 'run', *arguments.run, '--', *served_command]
  runs.append(('under Quadrille', run(served_command, explained, arguments)))

  if runs[0][1][1].startswith('skipped:'):
    print(runs[0][1][1])
    return SKIPPED

  problems = []
  for name, (status, output, errors) in runs:
    if status != 0:
      problems.append(f'{name}: exit status {status}')
    problems += [f'{name}: no "{text}" in the output' for text in arguments.expect if text not in output]
    if arguments.only is not None and not compared(output, arguments):
      problems.append(f'{name}: no line of the output matches "{arguments.only}"')
  problems += problems_of_report(runs[-1][1][2], arguments)
  outputs = [compared(output, arguments).splitlines() for _, (_, output, _) in runs]
  if not arguments.differs and outputs[0] != outputs[-1]:
    problems.append('the two runs print different things:')
    problems += difflib.unified_diff(outputs[0], outputs[-1], 'native', 'under Quadrille', '', '',
                                     0, '')
  if problems:
    for name, (_, output, errors) in runs:
      print(f'--- {name}, standard output\n{output}--- {name}, standard error\n{errors}')
  for problem in problems:
    print(f'failed: {problem}')
  return 1 if problems else 0


if __name__ == '__main__':
  sys.exit(main())
