"""docs/tuning.md has the settings of src/team/settings.cpp, in its order, and the programs read no other variables."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LITERAL = re.compile(r'"(QUADRILLE(?:_[A-Z_]+)?)"')


def read_in(sources):
  return {name for text in sources for name in LITERAL.findall(text)}


def settings_in(source):
  return re.findall(r'\.name = "(QUADRILLE[A-Z_]*)"', source)


def rows_in(page):
  """As scripts/man_pages.py finds them."""
  return re.findall(r'^\| `(QUADRILLE[A-Z_]*)` \| .+ \| .+ \|$', page, re.M)


class Settings(unittest.TestCase):
  def setUp(self):
    self.rows = rows_in((ROOT / 'docs' / 'tuning.md').read_text())
    self.assertGreater(len(self.rows), 20)

  def test_the_page_has_the_settings(self):
    self.assertEqual(self.rows, settings_in((ROOT / 'src' / 'team' / 'settings.cpp').read_text()))

  def test_nothing_else_is_read(self):
    sources = [path.read_text() for room in ('src', 'tool', 'report') for path in (ROOT / room).rglob('*.[ch]pp')]
    self.assertEqual(read_in(sources), set(self.rows))

  def test_names_are_seen(self):
    self.assertEqual(read_in(['get("QUADRILLE_A"); x = "QUADRILLE_B is"', 'get("QUADRILLE")']), {'QUADRILLE_A', 'QUADRILLE'})
    self.assertEqual(settings_in('{.name = "QUADRILLE_A",\n .help = "QUADRILLE_B"}, {.name = "QUADRILLE",'), ['QUADRILLE_A', 'QUADRILLE'])
    self.assertEqual(rows_in('| `QUADRILLE_A` | x | `on` |\n| `QUADRILLE_B` | x |'), ['QUADRILLE_A'])


if __name__ == '__main__':
  unittest.main()
