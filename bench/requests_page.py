#!/usr/bin/env python3
"""Measures nonblocking and persistent calls beside the MPI's own (bench/requests.cpp), and writes the page of results.

    bench/requests_page.py measure        # 2, 4 and 8 ranks with each build that is there; into docs/results/requests
    bench/requests_page.py write          # docs/results/requests.md, from what is stored there
"""
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / 'docs' / 'results' / 'requests'
PAGE = ROOT / 'docs' / 'results' / 'requests.md'
BATCHES = 21


def processor():
  found = re.search(r'model name\s*: (.*)', pathlib.Path('/proc/cpuinfo').read_text())
  return f'{found.group(1)}, {os.cpu_count()} processors' if found else f'{os.cpu_count()} processors'


def measure():
  STORED.mkdir(parents=True, exist_ok=True)
  for mpi in ('openmpi', 'mpich'):
    build = ROOT / 'build' / mpi
    program = build / 'bin' / 'quadrille_requests_bench'
    if not program.exists():
      continue
    launcher = re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', (build / 'CMakeCache.txt').read_text(), re.M).group(1)
    for ranks in (2, 4, 8):
      pinned = ['--bind-to', 'core'] if ranks <= os.cpu_count() else []
      batches = BATCHES if ranks == 2 else 7
      shown = f'mpirun -n {ranks} {" ".join(pinned)} build/{mpi}/bin/quadrille_requests_bench {batches}'.replace('  ', ' ')
      environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                         OMPI_MCA_rmaps_base_oversubscribe='1', QUADRILLE_TUNING='none')
      answer = subprocess.run([launcher, '-n', str(ranks), *pinned, str(program), str(batches)], env=environment,
                              capture_output=True, text=True, timeout=600, check=True)
      (STORED / f'{mpi}-{ranks}.txt').write_text(f'command: {shown}\nmachine: {processor()}\n{answer.stdout}')
      print(shown, flush=True)


def read(path):
  """Command, machine, and for each block size the ratios: name -> (median, lower, upper quartile)."""
  lines = path.read_text().splitlines()
  rows = []
  for size, ratios in zip(lines[2::2], lines[3::2]):
    found = re.findall(r"(\S+/MPI's nonblocking|\S+/\S+) ([\d.]+) \(([\d.]+)\.\.([\d.]+)\)", ratios)
    rows.append((int(size.split()[0]), {name: tuple(map(float, numbers)) for name, *numbers in found},
                 dict(re.findall(r'  ([A-Za-z ]+) ([\d.]+)', size))))
  return lines[0].removeprefix('command: '), lines[1].removeprefix('machine: '), rows


def mean(values):
  return math.exp(sum(math.log(v) for v in values) / len(values))


def write():
  text = ['# Nonblocking and persistent calls', '',
          'All-to-alls, started and completed at once, in one run with the MPI\'s own by turns, in an order that is drawn '
          'anew for each batch. Each number is the median over the batches, of the slowest rank; in brackets the quartiles '
          'of the ratios, taken batch by batch. Buffers lie in the shared heap. Written by `bench/requests_page.py` from '
          'the files in [requests](requests).', '']
  verdicts = []
  for path in sorted(STORED.glob('*.txt')):
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
           '| run | nonblocking at most 0.6 of the MPI\'s, geometric mean | persistent, 64 bytes: at most 0.5 of the MPI\'s '
           '| and at most the blocking call\'s time |', '|---|---|---|---|']
  said = lambda value, most: f'{value:.2f}: {"reached" if value <= most else "not reached"}'  # noqa: E731
  for stem, nonblocking, persistent, blocking in verdicts:
    text.append(f'| {stem} | {said(nonblocking, 0.6)} | {said(persistent, 0.5)} | {said(blocking, 1.0)} |')
  text.append('')
  PAGE.write_text('\n'.join(text))


if __name__ == '__main__':
  {'measure': measure, 'write': write}[sys.argv[1] if len(sys.argv) > 1 else 'write']()
