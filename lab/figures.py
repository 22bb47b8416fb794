#!/usr/bin/env python3
"""The stored results of `quadrille bench --figure`: their pages, and the index of what is reproduced of the papers.

  lab/figures.py pages --lab LAB   writes the page of each stored figure anew, with `LAB pages`
  lab/figures.py check --lab LAB   are all pages, marks and claims those of today's figures? do their tables have no other
                                   numbers than the data? does the index (docs/results/README.md) have all figures?
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'docs' / 'results'


def files_of_figures(results=RESULTS):
  """Those of figures on the host; figures on GPUs have a page of their own (bench/gpu_page.py)."""
  found = []
  for path in sorted(results.rglob('*.json')):
    data = json.loads(path.read_text())
    if isinstance(data, dict) and 'figure' in data and not data['figure'].startswith('gpu-'):
      found.append(path)
  return found


def pages(lab, files, *options):
  return subprocess.run([lab, 'pages', *options, *map(str, files)], check=False).returncode


# ---- Every number of a table is one of the data ----

def numbers_in(json_value):
  """All numbers below a value of JSON."""
  if isinstance(json_value, bool) or json_value is None:
    return
  if isinstance(json_value, (int, float)):
    yield float(json_value)
  elif isinstance(json_value, (list, dict)):
    for one in json_value.values() if isinstance(json_value, dict) else json_value:
      yield from numbers_in(one)


def rounded(data):
  """The numbers of the data as a page may write them."""
  return {form.format(number) for number in set(numbers_in(data)) for form in ('{:.2f}', '{:.0f}', '{:.3f}')}


def table_lines(text):
  """The lines of tables of times: those between ``` that begin with a number."""
  inside = False
  for line in text.splitlines():
    if line.startswith('```'):
      inside = not inside
    elif inside and re.match(r' *\d', line):
      yield line


def foreign_numbers(text, data):
  """Numbers of the tables of a page that are none of its data."""
  known = rounded(data)
  return [number for line in table_lines(text) for number in re.findall(r'(?<!\w)(?<!\d\.)\d+(?:\.\d+)?(?!\w)', line)
          if number not in known]


def check_numbers(path):
  text = path.with_suffix('.md').read_text()
  data = json.loads(path.read_text())
  # A table of set-ups has the paper's milliseconds as microseconds beside ours.
  found = foreign_numbers(text, data)
  if not list(table_lines(text)):
    return [f'{path.with_suffix(".md")}: there is no table']
  return [f'{path.with_suffix(".md")}: {number} is no number of {path.name}' for number in found[:5]]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['pages', 'check'])
  parser.add_argument('--lab', required=True)
  options = parser.parse_args()
  files = files_of_figures()
  if options.what == 'pages':
    return pages(options.lab, files)
  wrong = [problem for path in files for problem in check_numbers(path)]
  for problem in wrong:
    print(problem, file=sys.stderr)
  status = pages(options.lab, files, '--check')
  print(f'{len(files)} figures, {len(wrong)} wrong numbers')
  return 1 if wrong or status or not files else 0


if __name__ == '__main__':
  sys.exit(main())
