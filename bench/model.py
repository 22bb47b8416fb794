#!/usr/bin/env python3
"""Stores in docs/results/between-nodes/model.json how well the cost model predicts calls to which it was not fitted. lab/pages
writes the page.

    quadrille tune --model ... --output table.json >fit.txt                      # over hosts: tests/cluster/hosts.py
    QUADRILLE_TUNING=table.json quadrille bench alltoall ... --json alltoall.json # other sizes, other algorithms
    bench/model.py TOOL table.json fit.txt alltoall.json alltoallv.json ...

TOOL is `quadrille`: `TOOL explain` predicts each measured row.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'lab'))
from programs.stored import load, store  # noqa: E402  pylint: disable=wrong-import-position

STORED = ROOT / 'docs' / 'results' / 'between-nodes' / 'model.json'
FITTED = re.compile(r'^\s+(\w+)\s+(\d+)\s+(\S+)\s+([\d.]+)\s+([\d.]+)$')


def predicted(tool, table, row, algorithm):
  """The predicted microseconds; None if the model has no prediction for this algorithm."""
  words = [
    tool,
    'explain',
    row['collective'],
    '--nodes',
    str(row['nodes']),
    '--per-node',
    str(row['ranks'] // row['nodes']),
    '--sizes',
    str(row['bytes']),
    '--model',
    table,
    '--json',
    '--algorithms',
    algorithm,
  ]
  ranking = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)['ranking']
  return ranking[0]['us'] if ranking else None


def row_of(tool, table, row):
  kept = {
    'collective': row['collective'],
    'bytes': row['bytes'],
    'algorithm': row['algorithm'],
    'by': row['served_by'],
    'mpi_us': row['mpi_us'],
    'us': row['quadrille_us'],
    'batches': row['batches'],
    'errors': row['errors'],
  }
  is_chosen = row['algorithm'] == 'default'
  us = predicted(tool, table, row, 'mpi' if is_chosen else row['algorithm'])
  return kept if us is None else {**kept, 'predicted_mpi_us' if is_chosen else 'predicted_us': us}


def fit_of(text):
  """The rows in the output of `quadrille tune --model`, and its other lines."""
  rows, said = [], []
  for line in text.splitlines():
    found = FITTED.match(line)
    if found:
      rows.append({'collective': found[1], 'bytes': int(found[2]), 'algorithm': found[3], 'measured_us': float(found[4]),
                   'model_us': float(found[5])})
    elif line.strip():
      said.append(line.strip())
  return rows, said


def main(tool, table, fit, *measured):
  files = [load(file) for file in measured]
  rows = [row for file in files for row in file['rows']]
  fitted, said = fit_of(pathlib.Path(fit).read_text(encoding='utf-8'))
  header = files[0]['header']
  store(
    STORED,
    {
      'mpi': header['mpi'],
      'cpu': header['cpu'],
      'date': header['date'],
      'ranks': rows[0]['ranks'],
      'nodes': rows[0]['nodes'],
      'said': said,
      'table': load(table),
    },
    {'rows': [row_of(tool, table, row) for row in rows], 'fit': fitted},
  )


if __name__ == '__main__':
  if len(sys.argv) < 5:
    sys.exit(__doc__)
  main(*sys.argv[1:])
