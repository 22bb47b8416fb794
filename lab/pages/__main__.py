"""Writes the pages of results that repeat no figure of a paper, from the data in docs/results.

lab/pages write [PAGE...]    writes docs/results/PAGE.md from the template lab/pages/PAGE.md.in
lab/pages check [PAGE...]    fails unless the pages match the data and each number in their text has data
lab/pages claims             prints the claims of the papers on these pages: page, source, claim, paper, here, verdict, origin
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import as_programs_call  # noqa: E402
import between_nodes  # noqa: E402
import gpu  # noqa: E402
import inside_a_node  # noqa: E402
from page import RESULTS  # noqa: E402

PAGES = {
  'as-programs-call': as_programs_call.page,
  'between-nodes': between_nodes.page,
  'inside-a-node': inside_a_node.page,
  'gpu': gpu.page,
}


def problems_of(name):
  page, stored = PAGES[name](), RESULTS / f'{name}.md'
  found = page.problems()
  if not stored.is_file() or stored.read_text(encoding='utf-8') != page.text():
    found.append(f'{stored} is not what is stored; run python3 lab/pages write {name}')
  for file, svg in page.pictures.items():
    if not (RESULTS / file).is_file() or (RESULTS / file).read_text(encoding='utf-8') != svg:
      found.append(f'{RESULTS / file} is not of what is stored; run python3 lab/pages write {name}')
    if f']({file})' not in page.text():
      found.append(f'{name}: the page does not show {file}')
  return found


def main(words):
  if not words or words[0] not in ('write', 'check', 'claims') or set(words[1:]) - set(PAGES):
    sys.exit(__doc__)
  names = words[1:] or list(PAGES)
  if words[0] == 'write':
    for name in names:
      page = PAGES[name]()
      for file, text in {f'{name}.md': page.text(), **page.pictures}.items():
        (RESULTS / file).write_text(text, encoding='utf-8')
  elif words[0] == 'claims':
    for name in names:
      for claim in PAGES[name]().claims:
        print('\t'.join((name, *claim)))
  else:
    found = [problem for name in names for problem in problems_of(name)]
    if found:
      sys.exit('\n'.join(found))


if __name__ == '__main__':
  main(sys.argv[1:])
