#!/usr/bin/env python3
"""Writes docs/results/gpu.md from the data of `quadrille-lab bench --figure gpu-1` to `gpu-10`, and of one GPU (gpu_report_page.py).

  bench/gpu_page.py >docs/results/gpu.md
  bench/gpu_page.py check                   is the page what is stored, and does that agree with its words (gpu_numbers.py)?

A figure may have been measured several times, in several panels: docs/results/gpu/gpu-6*.json are all of figure 6.
"""

import contextlib
import io
import json
import pathlib
import statistics
import sys

import gpu_numbers
import gpu_report_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'docs' / 'results' / 'gpu'
UNTESTED = 'cannot be tested here'
ONE_GPU = 'there was one GPU, and they need several'
NOTES = """\
Figure 6 needs no GPU. Here all ranks share {figure_processors} processors, so the system's time slices are measured as well, and
an exchange whose ranks sleep or yield is favoured; the paper does not say how many cores its node has. What differs by a few
percent, or by less than the runs do, says nothing. With {figure_size} of a rank only {figure_ranks} ranks were measured, and not
{figure_missing}. The data do not say why; {figure_most} ranks send and receive {figure_memory} GiB. What the figures do on GPUs
was seen with [stand-ins of drivers](../testing.md#without-a-gpu) alone, whose times say nothing.
"""


def runs_of(number):
  """All data of a figure, as (name of the file, data)."""
  files = sorted(FOLDER.glob(f'gpu-{number}.json')) + sorted(FOLDER.glob(f'gpu-{number}-*.json'))
  return [(file.name, json.loads(file.read_text())) for file in files]


def spread(values):
  """The median, and in brackets the least and the largest."""
  text = f'{statistics.median(values):.3g}'
  return text if len(values) == 1 else f'{text} ({min(values):.3g} to {max(values):.3g})'


def rows_of(runs, plot):
  """{(ranks, size): {line: [microseconds of each run]}}"""
  points = {}
  for _, data in runs:
    mpi = {}  # in each row of a point it is the same
    for row in data['plots'][plot]['rows']:
      point = (row['ranks'], row['size'])
      points.setdefault(point, {}).setdefault(row['algorithm'], []).append(row['quadrille_us'])
      mpi[point] = row['mpi_us']
    for point, us in mpi.items():
      points[point].setdefault('mpi', []).append(us)
  return points


def plot_lines(runs, plot):
  first = runs[0][1]['plots'][plot]
  points = rows_of(runs, plot)
  if not points:
    return
  labels = [line['label'] for line in first['lines']]
  print(f'{first["title"]}, milliseconds a call (least to largest of the runs):\n')
  print('| ranks | block |' + ''.join(f' {label} |' for label in labels))
  print('|---|---|' + '---|' * len(labels))
  blocks = {(row['ranks'], row['size']): row['bytes'] for _, data in runs for row in data['plots'][plot]['rows']}
  for point, times in sorted(points.items()):
    cells = ''.join(f' {spread([us / 1000 for us in times[label]])} |' for label in labels)
    print(f'| {point[0]} | {blocks[point]} |{cells}')
  skipped = {(one['ranks'], one['size'], one['why'].split(';')[0]) for _, data in runs
             for one in data['plots'][plot].get('skipped', [])}
  for ranks, size, why in sorted(skipped):
    print(f'\nNot measured: {size} bytes of a rank with {ranks} ranks; {why}.')
  print()


def claim_lines(runs):
  print('| the paper says | paper | here, each run | verdict |\n|---|---|---|---|')
  for c, claim in enumerate(runs[0][1]['claims']):
    tested = [data['claims'][c] for _, data in runs if data['claims'][c]['verdict'] != UNTESTED]
    if tested:
      verdicts = sorted({one['verdict'] for one in tested})
      verdict = verdicts[0] if len(verdicts) == 1 else 'the runs differ'
      if claim['text'].startswith('(not in the paper)'):
        verdict = 'no number to compare with'
      here = ', '.join(f'{one["here"]:.2f}' for one in tested)
    else:
      # Of a run that measured the panel.
      reasons = [data['claims'][c]['reason'] for _, data in runs]
      reasons = [reason for reason in reasons if 'left out' not in reason] or reasons
      verdict, here = f'{UNTESTED}: {reasons[0]}', '-'
    print(f'| {claim["text"]} | {claim["paper"]} | {here} | {verdict} |')
  print()


def figure(number):
  runs = runs_of(number)
  data = runs[0][1]
  header = data['header']
  print(f'## Figure {number}\n')
  print(f'{header["cpu"]}, {data["processors"]} processors, {header["mpi"]}. Files: ' +
        ', '.join(f'[{name}](gpu/{name})' for name, _ in runs) + '.\n')
  for command in dict.fromkeys(data['command'] for _, data in runs):
    print(f'    {command}')
  print()
  for plot in range(len(data['plots'])):
    plot_lines(runs, plot)
  for name, _ in runs:
    picture = name.replace('.json', '.svg')
    if (ROOT / 'docs' / 'results' / 'gpu' / picture).exists():
      print(f'![{name}](gpu/{picture})')
  print()
  claim_lines(runs)


def check():
  said = gpu_numbers.said_of(runs_of(6))
  page, text = FOLDER.with_suffix('.md'), written(said)
  if page.read_text() != text:
    sys.exit(f'{page} is not what is stored in {FOLDER}; run bench/gpu_page.py >{page}')
  found = said.problems(text) + [f'nobody computes what is typed here: {typed}' for words in [NOTES, *gpu_report_page.WORDS]
                                 for typed in gpu_numbers.typed(words)]
  if found:
    sys.exit('\n'.join(found))


def written(said):
  page = io.StringIO()
  with contextlib.redirect_stdout(page):
    main(said)
  return page.getvalue()


def main(said):
  print('# GPUs\n')
  print('The figures of Namugwanya et al. ([benchmark.md](../benchmark.md#figures-on-gpus)). Written by `bench/gpu_page.py`.\n')
  print('On a machine with GPUs, with a rank for each of them:\n')
  print('    for n in 1 2 3 4 5 6 7 8 9 10; do mpirun -n 8 quadrille-lab bench --figure gpu-$n --results docs/results/gpu; done\n')
  print('| figure | here |\n|---|---|')
  for number in range(1, 11):
    here = f'[measured](#figure-{number})' if runs_of(number) else f'{UNTESTED}: {ONE_GPU}'
    print(f'| {number} | {here} |')
  print()
  print('What [one GPU that its ranks share](#one-gpu-shared-by-its-ranks) shows is measured apart from the figures.\n')
  print(said.fill(NOTES))
  print(gpu_report_page.text(said))
  for number in range(1, 11):
    if runs_of(number):
      figure(number)


if __name__ == '__main__':
  sys.exit(check() if sys.argv[1:] == ['check'] else main(gpu_numbers.said_of(runs_of(6))))
