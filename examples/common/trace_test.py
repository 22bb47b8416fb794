#!/usr/bin/env python3
"""The table of --trace agrees with the program's own output: the number of exchanges and of bytes, with any algorithm.

  trace_test.py RANKS COMMAND...    COMMAND runs the program on RANKS ranks; the test appends --algorithm and --trace
"""

import csv
import pathlib
import re
import subprocess
import sys
import tempfile


def run(ranks, command, algorithm, file):
  said = subprocess.run([*command, '--algorithm', algorithm, '--trace', str(file)], check=True, capture_output=True, text=True).stdout
  iterations = int(re.search(r'(\d+) iterations|iterations (\d+)', said)[0].replace('iterations', ''))
  moved = int(re.search(r'moved:? (\d+) B', said)[1])
  rows = list(csv.DictReader(file.open()))
  assert [int(row['iteration']) for row in rows] == list(range(1, iterations + 1)), (iterations, rows)
  total = sum(float(row['mean_block_bytes']) for row in rows) * ranks * ranks
  assert abs(total - moved) < 1e-6 * max(moved, 1), (total, moved)
  for row in rows:
    assert float(row['largest_block_bytes']) >= float(row['mean_block_bytes']), row
    assert float(row['counts_seconds']) > 0 and float(row['data_seconds']) > 0, row
  largest = re.search(r'max (\d+) B', said)
  if largest:
    assert max(int(row['largest_block_bytes']) for row in rows) == int(largest[1]), said
  return [(row['largest_block_bytes'], row['mean_block_bytes']) for row in rows]


def main():
  ranks, command = int(sys.argv[1]), sys.argv[2:]
  with tempfile.TemporaryDirectory() as folder:
    sizes = [run(ranks, command, algorithm, pathlib.Path(folder) / 'trace.csv') for algorithm in ('mpi', 'two-phase-bruck')]
    assert sizes[0] == sizes[1] and len(sizes[0]) > 1, sizes
    refused = subprocess.run([*command, '--trace', f'{folder}/no/such'], check=False, capture_output=True, text=True)
    assert refused.returncode != 0 and 'cannot write' in refused.stderr + refused.stdout, refused
  print('all as expected')


if __name__ == '__main__':
  main()
