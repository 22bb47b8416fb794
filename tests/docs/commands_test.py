"""The programs read the command lines of stored results, documents, examples and help; `quadrille` names the laboratory for its
options.

    commands_test.py TOOL LAB
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / 'scripts'))
import cli_help  # noqa: E402
RESULTS = ROOT / 'docs' / 'results'
PROGRAMS = {}
# A program of ours and its subcommand, wherever a launcher puts them. What follows `run` and its like is
# another program's.
OURS = re.compile(r'(?:^|[\s/])(quadrille(?:-lab)?) (?!run\b|report\b|doctor\b)([a-z]+\b[^;|`#\\]*)')
SPAN = re.compile(r'`([^`\n]+)`')


def strings_of(data, key=''):
  """What a file of JSON has as commands, and in words between ` `."""
  if isinstance(data, dict):
    return [text for name, value in data.items() for text in strings_of(value, name)]
  if isinstance(data, list):
    return [text for value in data for text in strings_of(value, key)]
  if not isinstance(data, str):
    return []
  return [data] if key in ('command', 'commands') else SPAN.findall(data)


def lines_of_code(text):
  """The lines of a page that are indented or between ```."""
  inside, found = False, []
  for line in text.splitlines():
    if line.startswith('```'):
      inside = not inside
    elif inside or line.startswith('    '):
      found.append(line.strip())
  return found


def commands_in(texts):
  """[(program, words)]; a subcommand alone is a name and no command line."""
  found = []
  for text in texts:
    for program, words in OURS.findall(text):
      words = shlex.split(re.split(r'  | \.\.\.', words)[0])  # behind two blanks stands what it is for
      if len(words) > 1:
        found.append((program, tuple(words)))
  return found


def stored_commands():
  found = set()
  for path in RESULTS.rglob('*.json'):
    found.update(commands_in(strings_of(json.loads(path.read_text()))))
  for path in RESULTS.rglob('*.md'):
    found.update(commands_in(lines_of_code(path.read_text()) + SPAN.findall(path.read_text())))
  return found


def pages():
  """The documents, as texts."""
  paths = [ROOT / 'README.md', ROOT / 'CHANGELOG.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md')),
           *sorted((ROOT / 'examples').rglob('*.md'))]
  return [path.read_text() for path in paths]


def documented_commands():
  scripts = [line for path in (ROOT / 'examples').rglob('*.sh') for line in path.read_text().splitlines()
             if not line.startswith('#')]
  return set(commands_in([line for page in pages() for line in lines_of_code(page)] + scripts))


def commands_in_running_text():
  return set(commands_in([span for page in pages() for span in SPAN.findall(page)]))


def help_of(program, *words):
  return cli_help.help_of(PROGRAMS[program], *words)


def subcommands(program):
  return re.findall(r'^  ([a-z]+) {5,}', help_of(program).split('\nSubcommands:')[1], re.M)


def commands_in_help():
  texts = [help_of(program, *words) for program in PROGRAMS for words in [[], *([name] for name in subcommands(program))]]
  return set(commands_in([line for text in texts for line in text.partition('\nExamples:')[2].splitlines()]))


def options_of(program, subcommand):
  return set(re.findall(r'^  (?:-\w,)?(--[a-z][a-z-]*)', help_of(program, subcommand), re.M))


def why_not_read(command):
  program, words = command
  done = subprocess.run([PROGRAMS[program], '--parse-only', *words], capture_output=True, text=True, check=False)
  return '' if done.returncode == 0 else f'{program} {shlex.join(words)}: {done.stderr.strip()}'


def why_not_named(command):
  """In running text the value of the last option may be left out: `quadrille bench --json`."""
  program, words = command
  if words[-1].startswith('--') and not why_not_read((program, (*words, '1'))):
    return ''
  return why_not_read(command)


class Commands(unittest.TestCase):
  def all_are_read(self, commands, at_least, why=why_not_read):
    self.assertGreater(len(commands), at_least)
    self.assertEqual([problem for problem in map(why, sorted(commands)) if problem], [])

  def test_those_of_results(self):
    self.all_are_read(stored_commands(), 80)

  def test_those_of_the_documents(self):
    self.all_are_read(documented_commands(), 30)

  def test_those_in_running_text(self):
    self.all_are_read(commands_in_running_text(), 10, why_not_named)

  def test_those_of_the_help(self):
    self.all_are_read(commands_in_help(), 20)

  def test_options_of_the_laboratory_have_a_hint(self):
    # --ranks has none: users of `quadrille bench --ranks` need `mpirun -n`.
    for name in set(subcommands('quadrille')) & set(subcommands('quadrille-lab')):
      for option in sorted(options_of('quadrille-lab', name) - options_of('quadrille', name) - {'--ranks'}):
        self.assertIn('available in quadrille-lab', why_not_read(('quadrille', (name, option))))
    for name in set(subcommands('quadrille-lab')) - set(subcommands('quadrille')):
      self.assertIn('available in quadrille-lab', why_not_read(('quadrille', (name,))))
    self.assertNotIn('quadrille-lab', why_not_read(('quadrille', ('tune', '--results', 'x'))))

  def test_what_is_not_read_is_seen(self):
    for line in ('quadrille bench --figure hint-6', 'quadrille show --map', 'quadrille simulate alltoall --ranks 4',
                 'quadrille-lab bench alltoall --sizes 8', 'quadrille bench alltoall --sizes'):
      command, = commands_in([f'mpirun -n 2 {line}'])
      self.assertNotEqual(why_not_read(command), '', line)
    self.assertEqual(commands_in(['quadrille run -- ./app', 'the command quadrille', 'build/bin/quadrille list --json  # all']),
                     [('quadrille', ('list', '--json'))])
    self.assertEqual(why_not_named(('quadrille', ('bench', '--json'))), '')
    self.assertNotEqual(why_not_named(('quadrille', ('bench', '--jsn'))), '')


if __name__ == '__main__':
  PROGRAMS.update(zip(('quadrille', 'quadrille-lab'), sys.argv[1:3], strict=True))
  unittest.main(argv=sys.argv[:1])
