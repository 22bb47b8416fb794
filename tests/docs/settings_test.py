"""docs/tuning.md has the settings as the table in src/team/config.cpp has them, and the programs read no other variables."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'scripts'))
import docs_settings  # noqa: E402
import generated_page  # noqa: E402

TABLE = ROOT / 'src' / 'team' / 'config.cpp'
LITERAL = re.compile(r'"(QUADRILLE(?:_[A-Z_]+)?)"')


def settings_in(source):
  """As `quadrille list --settings --json` prints them."""
  rows = [dict(re.findall(r'\.(\w+) =\s*((?:"[^"]*"\s*)+|\w+)', row)) for row in re.split(r'\{(?=\.name = )', source)[1:]]
  text = [{name: ''.join(re.findall('"([^"]*)"', value)) for name, value in row.items()} for row in rows]
  return [{'name': said['name'], 'values': said['values'], 'default': said['unset'], 'help': said['help'],
           'ranks_must_agree': row.get('agreed') != 'may_differ'} for row, said in zip(rows, text)]


class Settings(unittest.TestCase):
  def setUp(self):
    self.settings = settings_in(TABLE.read_text())
    self.assertGreater(len(self.settings), 20)

  def test_the_page_has_the_table(self):
    page = (ROOT / 'docs' / 'tuning.md').read_text()
    self.assertEqual(page, generated_page.with_part(page, docs_settings.table(self.settings)), 'run make docs')

  def test_nothing_else_is_read(self):
    names = {setting['name'] for setting in self.settings}
    for path in (path for room in ('src', 'tool', 'report') for path in (ROOT / room).rglob('*.[ch]pp')):
      self.assertLessEqual(set(LITERAL.findall(path.read_text())), names, path)

  def test_the_table_is_read(self):
    source = 'T t[] = {{.name = "QUADRILLE_A",\n .values = "on, off", .unset = "on", .help =\n "off: one"\n " line", .read = read_a,\n' \
             ' .agreed = may_differ},\n {.name = "QUADRILLE_B", .values = "N", .unset = "1", .help = "b", .agreed = [](auto& c) {}}'
    self.assertEqual(settings_in(source), [
        {'name': 'QUADRILLE_A', 'values': 'on, off', 'default': 'on', 'help': 'off: one line', 'ranks_must_agree': False},
        {'name': 'QUADRILLE_B', 'values': 'N', 'default': '1', 'help': 'b', 'ranks_must_agree': True}])
    self.assertEqual(LITERAL.findall('get("QUADRILLE_A"); x = "QUADRILLE_B is"; get("QUADRILLE")'), ['QUADRILLE_A', 'QUADRILLE'])

  def test_a_row_of_the_page(self):
    setting = {'name': 'QUADRILLE_TRIALS', 'values': 'on, N', 'default': 'on', 'help': "in 'quadrille run' on: MPI_Init; N: x", 'ranks_must_agree': True}
    self.assertEqual(docs_settings.row(setting),
                     '| [`QUADRILLE_TRIALS`](#trying)* | `on, N` | in `quadrille run` `on`: `MPI_Init`; `N`: x | `on` |')


if __name__ == '__main__':
  unittest.main()
