#!/usr/bin/env python3
"""Checks that every link between the project's documents, and every document named in a comment of the code, exists.

  docs_links.py [FOLDER]     FOLDER: the root of the project (default: this one)
"""

import pathlib
import re
import sys

LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
FENCE = re.compile(r'^```.*?^```', re.MULTILINE | re.DOTALL)
CODE = {'.cpp', '.hpp', '.c', '.h', '.py', '.sh', '.cmake', '.txt', '.f90', '.html', '.js'}
# docs/tuning.md#trying behind the start of a comment.
NAMED = re.compile(r'(?:(?<!:)//|#\s|^[ \t]*\*)[^\n]*?(?<![\w/.-])(docs/[\w/-]+\.md)(?:#([\w-]*\w))?', re.M)
LEFT_OUT = {'build', '.git', '.venv', 'node_modules'}


def documents(root):
  return [path for path in sorted(root.rglob('*.md'))
          if not LEFT_OUT & set(path.relative_to(root).parts)]


def anchors(path):
  """The names that a page's headings get on the usual hosts."""
  text = FENCE.sub('', path.read_text())
  names = set()
  for heading in re.findall(r'^#+\s+(.*)$', text, re.MULTILINE):
    plain = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).lower()
    names.add(re.sub(r'[^\w\- ]', '', plain).strip().replace(' ', '-'))
  return names


def broken_links(path, root):
  text = FENCE.sub('', path.read_text())
  for target in LINK.findall(text):
    if re.match(r'[a-z]+:', target):
      continue  # another site: not ours to check, and there may be no network
    name, _, anchor = target.partition('#')
    file = (path.parent / name).resolve() if name else path
    where = path.relative_to(root)
    if not file.exists():
      yield f'{where}: {target}: no such file'
    elif anchor and file.suffix == '.md' and anchor not in anchors(file):
      yield f'{where}: {target}: no such heading'


def sources(root):
  return [path for path in sorted(root.rglob('*')) if path.suffix in CODE and path.is_file()
          and not LEFT_OUT & set(path.relative_to(root).parts)]


def broken_names(path, root):
  for name, anchor in ((one[1], one[2]) for one in NAMED.finditer(path.read_text(errors='replace'))):
    file = root / name
    if not file.exists():
      yield f'{path.relative_to(root)}: {name}: no such file'
    elif anchor and anchor not in anchors(file):
      yield f'{path.relative_to(root)}: {name}#{anchor}: no such heading'


def main():
  root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                      pathlib.Path(__file__).parent.parent).resolve()
  found = documents(root)
  code = sources(root)
  broken = [line for path in found for line in broken_links(path, root)] + [line for path in code for line in broken_names(path, root)]
  for line in broken:
    print(line, file=sys.stderr)
  print(f'{len(found)} documents, {len(code)} sources, {len(broken)} broken links')
  return 1 if broken or not found else 0


if __name__ == '__main__':
  sys.exit(main())
