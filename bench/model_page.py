#!/usr/bin/env python3
"""Writes docs/results/model.md: how well the cost model predicts calls that it was not fitted to.

  model_page.py predict TOOL    asks `TOOL explain` about every measured row, and stores the answers
  model_page.py write           writes the page from what is stored in docs/results/model
  model_page.py check           is the page what is stored?

Stored are table.json (the fitted model), fit.txt (what `quadrille tune --model` printed), a file of `quadrille bench
--json` for each collective, and predicted.json.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys

import stored_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / 'docs/results/model'
PAGE = DATA.parent / 'model.md'
COLLECTIVES = ('alltoall', 'alltoallv', 'allgather')
MPI = 'mpi'


def measured():
  """{(collective, bytes): {algorithm: microseconds}}, the MPI's own among them, and the rows of what was chosen."""
  times, chosen = {}, []
  for collective in COLLECTIVES:
    file = DATA / f'{collective}.json'
    if not file.exists():
      continue
    for row in json.loads(file.read_text())['rows']:
      case = times.setdefault((collective, row['bytes']), {})
      case.setdefault(MPI, []).append(row['mpi_us'])
      if row['algorithm'] == 'default':
        chosen.append(row)
      elif row['served_by'].split(':')[0] == row['algorithm'].split(':')[0]:
        case[row['algorithm']] = row['quadrille_us']
  for case in times.values():
    case[MPI] = statistics.median(case[MPI])
  return times, chosen


def shape():
  row = json.loads(next(DATA.glob('all*.json')).read_text())['rows'][0]
  return row['nodes'], row['ranks'] // row['nodes']


def predict(tool):
  times, _ = measured()
  nodes, per_node = shape()
  answers = []
  for (collective, size), case in times.items():
    words = [tool, 'explain', collective, '--nodes', str(nodes), '--per-node', str(per_node), '--sizes', str(size),
             '--model', str(DATA / 'table.json'), '--json', '--algorithms']
    for name in case:
      answer = json.loads(subprocess.run(words + [name], check=True, capture_output=True, text=True).stdout)
      if answer['ranking']:
        answers.append({'collective': collective, 'bytes': size, 'algorithm': name, 'us': answer['ranking'][0]['us']})
  (DATA / 'predicted.json').write_text(json.dumps(answers, indent=1) + '\n')


def ranks_of(values):
  order = sorted(range(len(values)), key=lambda i: values[i])
  ranks = [0.0] * len(values)
  for place, i in enumerate(order):
    ranks[i] = place
  return ranks


def correlation(a, b):
  """Spearman's."""
  x, y = ranks_of(a), ranks_of(b)
  mean = (len(x) - 1) / 2
  spread = sum((v - mean) ** 2 for v in x)
  return sum((p - mean) * (q - mean) for p, q in zip(x, y)) / spread if spread else 1.0


def in_words(value):
  return f'{value:.0f}' if value >= 100 else f'{value:.1f}'


MARGIN = 1.1  # the model takes another than the MPI's own only if it expects so much


def verdict(error, correlation_of_all, chosen):
  slow = [f'{row["collective"]} of {row["bytes"]} bytes ({row["ratio"]:.2f})' for row in chosen if row['ratio'] > MARGIN]
  lines = ['Good enough to name a short list, not to replace trials. Half of the times that the fit had not seen are within '
           f'{error * 100:.0f}%, and the rank correlation of algorithms is {correlation_of_all:.2f} in the median. But where several are '
           'close together, the first of the model may not be the fastest.']
  if slow:
    lines.append(f'Its choice took more than {100 * MARGIN - 100:.0f}% longer than the MPI\'s own, in spite of a margin of as much, for '
                 f'{", ".join(slow)}.')
  return lines + ['So where calls can be tried, they are. With one machine that plays all hosts the constants of a message and of the '
                  'adapter are hardly told apart, so nothing here says how well the model does on other numbers of nodes, or on a fast '
                  'network.']


def page():
  times, chosen = measured()
  predicted = {(one['collective'], one['bytes'], one['algorithm']): one['us']
               for one in json.loads((DATA / 'predicted.json').read_text())}
  nodes, per_node = shape()
  fit = (DATA / 'fit.txt').read_text()
  fit_errors = [int(n) for n in re.findall(r'median error (\d+)%', fit)]
  notes = [line.strip() for line in fit.splitlines() if 'not told apart' in line or 'not measured' in line or 'hardly told' in line]
  fitted = sorted({m.group(1) for m in re.finditer(r'^\s+\w+\s+\d+\s+(\S+)\s+[\d.]+\s+[\d.]+$', fit, re.M)})
  lines = [
      '# How well the cost model predicts', '',
      '<!-- Written by bench/model_page.py from docs/results/model. -->', '',
      f'The [cost model](../tuning.md#the-cost-model) was fitted by `quadrille tune --model` on {nodes} hosts of {per_node} ranks, '
      'which',
      'one machine of two cores played (Open MPI 4.1, TCP; [how](hosts.md)). Then other sizes, and other algorithms or parameters,',
      'were measured in runs of their own, and compared with what `quadrille explain` predicts.', '',
      f'Fitted were 8 to 16384 bytes of: {", ".join(f"`{name}`" for name in fitted)}.', '',
      f'In the fit the median error is {fit_errors[0]}% for our algorithms and {fit_errors[1]}% for the MPI\'s own.' if len(fit_errors) > 1 else '',
  ]
  if notes:
    lines += ['', 'What the measurement did not tell:', ''] + [f'- {note}' for note in notes]
  lines += ['', '## Calls that were not in the fit', '']
  errors, correlations, regrets, good = [], [], [], 0
  tables = []
  for (collective, size), case in times.items():
    names = [name for name in case if (collective, size, name) in predicted]
    actual = [case[name] for name in names]
    model = [predicted[collective, size, name] for name in names]
    rank = correlation(actual, model)
    best = min(actual)
    pick = names[model.index(min(model))]
    regret = case[pick] / best
    correlations.append(rank), regrets.append(regret)
    errors += [abs(m / a - 1) for m, a, name in zip(model, actual, names) if name != MPI]
    good += regret <= 1.25
    tables += ['', f'### {collective}, {size} bytes', '',
               f'Rank correlation {rank:.2f}. The model\'s first, `{pick}`, took {regret:.2f} times the time of the fastest.', '',
               '| algorithm | measured us | predicted us | predicted / measured |', '|---|---|---|---|']
    tables += [f'| `{n}` | {in_words(a)} | {in_words(m)} | {m / a:.2f} |'
               for a, m, n in sorted(zip(actual, model, names))]
  lines += [
      f'{len(errors)} times of ours over {len(times)} cases (a collective and a size):', '',
      '| | |', '|---|---|',
      f'| median relative error | {statistics.median(errors) * 100:.0f}% |',
      f'| rank correlation of algorithms, median and worst of the cases | {statistics.median(correlations):.2f}, {min(correlations):.2f} |',
      f'| time of the model\'s first over that of the fastest, median and worst | {statistics.median(regrets):.2f}, {max(regrets):.2f} |',
      f'| cases in which the model\'s first is within 25% of the fastest | {good} of {len(times)} |',
  ]
  if chosen:
    lines += ['', '## What programs get', '',
              'With this table and `QUADRILLE_TRIALS=off` the model alone chooses, among all that can serve:', '',
              '| collective | bytes | chosen | its time over the MPI\'s own |', '|---|---|---|---|']
    lines += [f'| {row["collective"]} | {row["bytes"]} | `{row["served_by"]}` | {row["ratio"]:.2f} |' for row in chosen]
  pictures = sorted(path.stem for path in DATA.glob('*.svg'))
  if pictures:
    lines += ['', '## Ours over the MPI\'s, as measured', ''] + [f'![{name}](model/{name}.svg)' for name in pictures]
  lines += ['', '## All cases'] + tables
  at = lines.index('## Calls that were not in the fit')
  lines[at:at] = ['## Verdict', '', *verdict(statistics.median(errors), statistics.median(correlations), chosen), '']
  return '\n'.join(lines) + '\n'


def write():
  PAGE.write_text(page())


def check():
  stored_page.check(PAGE, page(), DATA, 'bench/model_page.py write')


if __name__ == '__main__':
  if sys.argv[1:2] == ['predict'] and len(sys.argv) == 3:
    predict(sys.argv[2])
  elif sys.argv[1:] in (['write'], ['check']):
    {'write': write, 'check': check}[sys.argv[1]]()
  else:
    sys.exit(__doc__)
