"""The command line of a script that writes a page of docs/ from the output of the tool."""

import argparse
import pathlib
import sys


def main(description, page, source):
  """Writes page(TOOL), or compares it with the stored page (--check)."""
  parser = argparse.ArgumentParser(description=description)
  parser.add_argument('--check', action='store_true', help='fail if the stored page is out of date; change nothing')
  parser.add_argument('tool', metavar='TOOL')
  parser.add_argument('stored', metavar='PAGE', type=pathlib.Path)
  arguments = parser.parse_args()
  new = page(arguments.tool)
  if not arguments.check:
    arguments.stored.write_text(new)
    return 0
  if arguments.stored.exists() and arguments.stored.read_text() == new:
    return 0
  print(f'{arguments.stored} differs from {source}; run make docs', file=sys.stderr)
  return 1
