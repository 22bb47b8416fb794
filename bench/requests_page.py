#!/usr/bin/env python3
"""Measures nonblocking and persistent calls beside the MPI's own: those of the C API (bench/requests.cpp), and those under
MPI's own names (bench/taken.cpp). Writes the page of results.

    bench/requests_page.py measure        # 2, 4 and 8 ranks with each build that is there; into docs/results/requests
    bench/requests_page.py measure-names  # only those under MPI's own names
    bench/requests_page.py write          # docs/results/requests.md, from what is stored there
    bench/requests_page.py check          # is the page what is stored?
"""
import math
import os
import pathlib
import re
import subprocess
import sys

import stored_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / 'docs' / 'results' / 'requests'
PAGE = ROOT / 'docs' / 'results' / 'requests.md'
BATCHES = 21


def processor():
  found = re.search(r'model name\s*: (.*)', pathlib.Path('/proc/cpuinfo').read_text())
  return f'{found.group(1)}, {os.cpu_count()} processors' if found else f'{os.cpu_count()} processors'


def measure_with(mpi, program, stored, *before):
  """Runs a program of build/MPI/bin with 2, 4 and 8 ranks, behind the words `before`. Keeps what it prints."""
  build = ROOT / 'build' / mpi
  if not (build / 'bin' / program).exists():
    return
  launcher = re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', (build / 'CMakeCache.txt').read_text(), re.M).group(1)
  for ranks in (2, 4, 8):
    pinned = ['--bind-to', 'core'] if ranks <= os.cpu_count() else []
    batches = BATCHES if ranks == 2 else 7
    last = ['-n', str(ranks), *pinned, f'build/{mpi}/bin/{program}', str(batches)]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                       OMPI_MCA_rmaps_base_oversubscribe='1', QUADRILLE_TUNING='none')
    answer = subprocess.run([*before, launcher, *last], env=environment, cwd=ROOT, capture_output=True, text=True,
                            timeout=600, check=True)
    shown = ' '.join([*before, 'mpirun', *last])
    (STORED / f'{stored}{mpi}-{ranks}.txt').write_text(f'command: {shown}\nmachine: {processor()}\n{answer.stdout}')
    print(shown, flush=True)


def measure():
  STORED.mkdir(parents=True, exist_ok=True)
  for mpi in ('openmpi', 'mpich'):
    measure_with(mpi, 'quadrille_requests_bench', '')
  measure_names()


def measure_names():
  STORED.mkdir(parents=True, exist_ok=True)
  for mpi in ('openmpi', 'mpich'):
    measure_with(mpi, 'quadrille_taken_bench', 'names-', f'build/{mpi}/bin/quadrille', 'run', '--')


def read(path):
  """Command, machine, and for each block size the ratios: name -> (median, lower, upper quartile)."""
  lines = path.read_text().splitlines()
  rows = []
  for size, ratios in zip(lines[2::2], lines[3::2]):
    found = re.findall(r"(\S+/MPI's nonblocking|\S+/\S+) ([\d.]+) \(([\d.]+)\.\.([\d.]+)\)", ratios)
    rows.append((int(size.split()[0]), {name: tuple(map(float, numbers)) for name, *numbers in found},
                 dict(re.findall(r'  ([A-Za-z ]+) ([\d.]+)', size))))
  return lines[0].removeprefix('command: '), lines[1].removeprefix('machine: '), rows


def read_names(path):
  """Command, machine, nanoseconds more by completion function, and for each block size the medians of its times, ratios
  and differences, with the quartiles of the last two."""
  text = path.read_text()
  number = r'([\d.-]+)'
  triple = rf'{number} \({number}\.\.{number}\)'
  more = {name: tuple(map(float, numbers))
          for name, *numbers in re.findall(rf'nanoseconds more:  (\w+) {triple}', text)}
  rows = []
  for size, times, ratios, beside in re.findall(r'^(\d+) bytes:(.*)\n   ratios:(.*)\n   overlap:(.*)$', text, re.M):
    found = re.findall(rf"(\S+/MPI's|\S+-API's|hidden|hidden by the MPI) {triple}", ratios + beside)
    rows.append((int(size), dict(re.findall(r'  ([A-Za-z ]+) ([\d.]+)', times + beside)),
                 {name: tuple(map(float, numbers)) for name, *numbers in found}))
  command, machine = text.splitlines()[:2]
  return command.removeprefix('command: '), machine.removeprefix('machine: '), more, rows


NAMES_TEXT = """The same calls as a program makes them that knows nothing of Quadrille: `MPI_Ialltoall` and `MPI_Wait`;
`MPI_Start` and `MPI_Wait` of what `MPI_Alltoall_init` made (Open MPI 4.1: `MPIX_Alltoall_init`). Beside them, in one run
and by turns, the MPI's own functions, which are called past Quadrille, and the C API's. *More* is what a call takes longer
than by the C API: what the MPI's request costs."""
OVERLAP_TEXT = """Nonblocking calls beside a computation between start and wait that takes as long as the MPI's own call and
calls no MPI: what both take together, and how much of the call is hidden, in percent of what it takes alone. Where ranks
share processors a rank that computes keeps another from its part, so nothing can be hidden there, and less than nothing is
where the computation costs the others a turn: so with 2 ranks alone."""


def lines_of_names():
  text = ['## Under MPI\'s own names', '', NAMES_TEXT.replace('\n', ' '), '']
  verdicts, costs, overlaps = [], [], []
  for path in sorted(STORED.glob('names-*.txt')):
    command, machine, more, rows = read_names(path)
    name = path.stem.removeprefix('names-')
    text += [f'### {name}, MPI\'s names', '', f'    {command}', '', f'{machine}.', '',
             '| block | nonblocking | of the MPI\'s | more | persistent | of the MPI\'s | more |', '|---|---|---|---|---|---|---|']
    for size, times, values in rows:
      show = lambda key: '{:.2f} ({:.2f}..{:.2f})'.format(*values[key])  # noqa: E731
      took = lambda key: '{:.0f} ns'.format(1000 * values[key][0])  # noqa: E731
      text.append(f'| {size} | {times["nonblocking"]} us | {show("nonblocking/MPI" + chr(39) + "s")} '
                  f'| {took("nonblocking-API" + chr(39) + "s")} | {times["persistent"]} us '
                  f'| {show("persistent/MPI" + chr(39) + "s")} | {took("persistent-API" + chr(39) + "s")} |')
    text.append('')
    means = [mean([values[f"{form}/MPI's"][0] for _, _, values in rows]) for form in ('nonblocking', 'persistent')]
    # Of the smallest blocks, where the rest varies least.
    handle = [1000 * rows[0][2][f"{form}-API's"][0] for form in ('nonblocking', 'persistent')]
    verdicts.append((name, *means, *handle))
    costs.append((name, more))
    if name.endswith('-2'):
      overlaps.append((name, rows))
  said = lambda value, most, digits: f'{value:.{digits}f}: {"reached" if value <= most else "not reached"}'  # noqa: E731
  text += ['### Against what we set out for, MPI\'s names', '',
           '| run | nonblocking at most 0.6 of the MPI\'s, geometric mean | persistent at most 0.5 | the request costs at most '
           '150 ns, smallest blocks: nonblocking | persistent |', '|---|---|---|---|---|']
  for name, nonblocking, persistent, one, other in verdicts:
    # With more ranks than processors the difference is what the others take meanwhile.
    handle = f'{said(one, 150, 0)} | {said(other, 150, 0)}' if name.endswith('-2') else f'{one:.0f} | {other:.0f}'
    text.append(f'| {name} | {said(nonblocking, 0.6, 2)} | {said(persistent, 0.5, 2)} | {handle} |')
  for mpi in sorted({verdict[0].rsplit('-', 1)[0] for verdict in verdicts}):
    of_mpi = [verdict for verdict in verdicts if verdict[0].startswith(mpi)]
    text.append(f'| {mpi}, all of these | {said(mean([v[1] for v in of_mpi]), 0.6, 2)} | '
                f'{said(mean([v[2] for v in of_mpi]), 0.5, 2)} | | |')
  text += ['', 'What a program pays that makes none of these calls, in each function that completes its own requests (here '
           'persistent ones that are not active): at most 2 ns.', '', '| run | MPI_Wait | MPI_Test | MPI_Waitall of four |',
           '|---|---|---|---|']
  for name, more in costs:
    text.append(f'| {name} | ' + ' | '.join(said(more[key][0], 2, 1) for key in ('Wait', 'Test', 'Waitall')) + ' |')
  text += ['', '### Overlap, MPI\'s names', '', OVERLAP_TEXT.replace('\n', ' '), '',
           '| run | block | both | of the MPI\'s | hidden | hidden by the MPI | at least as much |', '|---|---|---|---|---|---|---|']
  for name, rows in overlaps:
    for size, times, values in rows:
      ours, theirs = values['hidden'], values['hidden by the MPI']
      percent = lambda of: '{:.0f}% ({:.0f}..{:.0f})'.format(*of)  # noqa: E731
      # Told apart only if the quartiles are.
      verdict = 'yes' if ours[0] >= theirs[0] else 'no' if ours[2] < theirs[1] else 'cannot be told'
      text.append(f'| {name} | {size} | {times["both"]} us | {float(times["both"]) / float(times["MPI both"]):.2f} '
                  f'| {percent(ours)} | {percent(theirs)} | {verdict} |')
  text.append('')
  return text


def mean(values):
  return math.exp(sum(math.log(v) for v in values) / len(values))


def page():
  text = ['# Nonblocking and persistent calls', '',
          'All-to-alls, started and completed at once, in one run with the MPI\'s own by turns, in an order that is drawn '
          'anew for each batch. Each number is the median over the batches, of the slowest rank; in brackets the quartiles '
          'of the ratios, taken batch by batch. Buffers lie in the shared heap. Written by `bench/requests_page.py` from '
          'the files in [requests](requests).', '']
  verdicts = []
  for path in sorted(STORED.glob('[mo]*.txt')):
    command, machine, rows = read(path)
    theirs = next(name for name in rows[0][1] if name.startswith('persistent/MPI'))
    text += [f'## {path.stem}', '', f'    {command}', '', f'{machine}.', '',
             '| block | blocking | persistent | of blocking | '
             + ('of the MPI\'s persistent' if theirs == "persistent/MPI's" else 'of the MPI\'s nonblocking')
             + ' | nonblocking | of the MPI\'s |', '|---|---|---|---|---|---|---|']
    for size, ratios, times in rows:
      show = lambda name: '{:.2f} ({:.2f}..{:.2f})'.format(*ratios[name])  # noqa: E731
      text.append(f'| {size} | {times["blocking"]} us | {times["persistent"]} us | {show("persistent/blocking")} | '
                  f'{show(theirs)} | {times["nonblocking"]} us | {show("nonblocking/MPI" + chr(39) + "s")} |')
    nonblocking = mean([ratios["nonblocking/MPI's"][0] for _, ratios, _ in rows])
    persistent = mean([ratios[theirs][0] for _, ratios, _ in rows])
    text += ['', f'Geometric means over the block sizes: nonblocking {nonblocking:.2f} of the MPI\'s own, persistent '
             f'{persistent:.2f} of the MPI\'s {"persistent" if theirs.endswith(chr(39) + "s") else "nonblocking"} call.', '']
    small = {size: ratios for size, ratios, _ in rows}
    verdicts.append((path.stem, nonblocking, small[64][theirs][0], small[64]['persistent/blocking'][0]))
  text += ['## Against what we set out for', '',
           '| run | nonblocking at most 0.6 of the MPI\'s, geometric mean | persistent, 64 bytes, 2 ranks: at most 0.5 of the '
           'MPI\'s | and at most the blocking call\'s time |', '|---|---|---|---|']
  said = lambda value, most: f'{value:.2f}: {"reached" if value <= most else "not reached"}'  # noqa: E731
  for stem, nonblocking, persistent, blocking in verdicts:
    small = f'{said(persistent, 0.5)} | {said(blocking, 1.0)}' if stem.endswith('-2') else f'{persistent:.2f} | {blocking:.2f}'
    text.append(f'| {stem} | {said(nonblocking, 0.6)} | {small} |')
  text.append('')
  if any(STORED.glob('names-*.txt')):
    text += lines_of_names()
  return '\n'.join(text)


def write():
  PAGE.write_text(page())


def check():
  stored_page.check(PAGE, page(), STORED, 'bench/requests_page.py write')


if __name__ == '__main__':
  {'measure': measure, 'measure-names': measure_names, 'write': write, 'check': check}[sys.argv[1] if len(sys.argv) > 1 else 'write']()
