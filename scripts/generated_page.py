"""The command line of a script that writes a page of docs/, or a part of a page, from the output of the tool."""

import argparse
import pathlib
import re
import sys

PART = re.compile(r'(?<=<!--make docs-->\n\n).*?(?=\n\n<!--end-->)', re.S)


def with_part(text, part):
  new, count = PART.subn(lambda _: part, text)
  assert count == 1, 'the page has no part to write'
  return new


def main(description, page, source, is_part=False):
  """Writes page(TOOL), or compares it with the stored page (--check). A part stands between the comments of PART."""
  parser = argparse.ArgumentParser(description=description)
  parser.add_argument('--check', action='store_true', help='fail if the stored page is out of date; change nothing')
  parser.add_argument('tool', metavar='TOOL')
  parser.add_argument('stored', metavar='PAGE', type=pathlib.Path)
  arguments = parser.parse_args()
  new = page(arguments.tool)
  if is_part:
    new = with_part(arguments.stored.read_text(), new)
  if not arguments.check:
    arguments.stored.write_text(new)
    return 0
  if arguments.stored.exists() and arguments.stored.read_text() == new:
    return 0
  print(f'{arguments.stored} differs from {source}; run make docs', file=sys.stderr)
  return 1
