"""What is stored of one GPU (docs/results/gpu/h100-*.json), and how it is written: for gpu_report_page.py and gpu_numbers.py."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'docs' / 'results' / 'gpu'
sys.path.insert(0, str(ROOT / 'bench' / 'gpu'))
import verdicts  # noqa: E402  pylint: disable=wrong-import-position


def load(name):
  return json.loads((FOLDER / f'h100-{name}.json').read_text())


def size_text(size):
  for unit, name in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
    if size % unit == 0:
      return f'{size // unit} {name}'
  return f'{size} B'


def us_text(us):
  return f'{us:,.0f}' if us >= 99.95 else f'{us:.1f}'


def span(values):
  if not values:
    return '-'
  least, largest = us_text(min(values)), us_text(max(values))
  return least if len(values) == 1 else f'{least} to {largest}'


def steps_of(report, beginning):
  return [(name, report['steps'][name]) for name in report['steps'] if name.startswith(beginning)]


def times_of(report, name):
  """{algorithm: {bytes: row}}"""
  found = {}
  for row in verdicts.rows_of(report['steps'], name):
    found.setdefault(row['algorithm'], {})[row['bytes']] = row
  return found


def copies_of(data, ranks, block, name, runs):
  return [one[name] for run in data['runs'] if run['run'] in runs for one in run['copies']
          if one['ranks'] == ranks and one['block'] == block and name in one]


def shape_of(algorithm):
  """(bytes of a chunk, chunks under way)"""
  return tuple(int(value) for value in re.findall(r'=(\d+)', algorithm))


def chunks_of(run):
  """{(bytes of a block, shape): row} of a run of h100-chunks.json."""
  return {(row['bytes'], shape_of(row['algorithm'])): row for row in run['rows']}
