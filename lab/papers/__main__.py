"""The papers' figures: the verdict on each claim by the stored data, a page for each paper, and an index.

  lab/papers write --lab LAB           writes docs/results/{hint,isomorphic,bruck,cache-oblivious,README}.md from the data
  lab/papers check --lab LAB           fails unless the pages match the data and each number in their text has data
  lab/papers judge --lab LAB [--results FOLDER]   prints each claim with its verdict, by the data below FOLDER (docs/results)

LAB is quadrille-lab.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import fields  # noqa: E402  pylint: disable=wrong-import-position
import index  # noqa: E402  pylint: disable=wrong-import-position
import pages  # noqa: E402  pylint: disable=wrong-import-position
import stored  # noqa: E402  pylint: disable=wrong-import-position


def pages_of(found, lab):
  here, played = ({one.name: one for one in found.values() if one.is_played == wanted} for wanted in (False, True))
  words = fields.fields_of(here, lambda name: pages.map_text(lab, name)[1])
  said = fields.sayings(here, played)
  return [pages.Page(name, found, lab, words[name], [saying for page, *saying in said if page == name]) for name in pages.PAGES]


def write(found, lab):
  for page in pages_of(found, lab):
    page.path().write_text(page.text(), encoding='utf-8')
  (stored.RESULTS / 'README.md').write_text(index.text(found), encoding='utf-8')


def problems(found, lab):
  all_pages = pages_of(found, lab)
  wrong = [problem for page in all_pages for problem in page.problems()]
  shown = [one.path for page in all_pages for one in page.used]
  wrong += [f'{path} is on {"several pages" if path in shown else "no page"}' for path in found if shown.count(path) != 1]
  wrong += [f'{stored.RESULTS / "bruck" / name}.json is not the map of today' for name in pages.MAPS
            if (stored.RESULTS / 'bruck' / f'{name}.json').read_text(encoding='utf-8') != pages.map_text(lab, name)[1]]
  return wrong + index.problems(found) + index.without_row(stored.known_figures(lab))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('what', choices=['write', 'check', 'judge'])
  parser.add_argument('--lab', required=True)
  parser.add_argument('--results', type=pathlib.Path, default=stored.RESULTS)
  options = parser.parse_args()
  found = stored.read_all(options.lab, stored.files_of(options.results))
  if options.what == 'write':
    write(found, options.lab)
  elif options.what == 'judge':
    for one in found.values():
      for row in one.rows:
        print('\t'.join((str(one.path), row.text, row.compared, row.paper, row.here, row.words())))
  else:
    wrong = problems(found, options.lab)
    print(*wrong, f'{len(found)} files, {len(wrong)} wrong', sep='\n')
    return 1 if wrong else 0
  return 0


if __name__ == '__main__':
  sys.exit(main())
