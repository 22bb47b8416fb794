"""Reads what a program prints about itself (`quadrille --help`, `quadrille bench --help`, `quadrille-lab --help`): the one source of
manual pages and completions."""
import dataclasses
import re
import subprocess

TEXT_COLUMN = 34  # where the descriptions of options begin; a longer option has it on the next line


@dataclasses.dataclass
class Option:
  names: list  # as they are written: ['-h', '--help'], or of an argument ['collective']
  value: str   # 'TEXT=8:64K', 'INT:INT in [1 - 1000]=15', or nothing
  text: list   # lines

  def values(self):
    """The words that may be given, where the help names them: {auto,openmpi,mpich}."""
    found = re.search(r'\{([^}]*)\}', self.value)
    return found.group(1).split(',') if found else []

  def takes_value(self):
    return bool(re.match(r'(TEXT|INT|UINT|FLOAT|NUMBER)', self.value))


@dataclasses.dataclass
class Command:
  name: str             # 'quadrille', 'quadrille bench'
  line: str             # what it does, in one line
  usage: list           # a line for each way to write it
  options: list
  arguments: list
  subcommands: list     # (name, line)
  description: list     # paragraphs, each a list of lines
  examples: list        # lines


def parse_entry(line):
  """'--name VALUE' of a line of options, and the description if it is on this line."""
  left, right = line[:TEXT_COLUMN].rstrip(), line[TEXT_COLUMN:]
  # Too long for its column: the description is on the next line. A blank there may be one inside the value.
  if line[TEXT_COLUMN - 1:TEXT_COLUMN] != ' ' or re.match(r'\[|Needs: |Excludes: |- ', right):
    left, right = line.rstrip(), ''
  names, _, value = left.strip().partition(' ')
  return Option(names.split(','), value.strip(), [right] if right else [])


def parse_block(lines):
  options = []
  for line in lines:
    if line.startswith(' ' * TEXT_COLUMN):
      options[-1].text.append(line[TEXT_COLUMN:])
    elif line.strip():
      options.append(parse_entry(line))
  return options


def paragraphs(lines):
  found = [[]]
  for line in lines:
    if line.strip():
      found[-1].append(line)
    elif found[-1]:
      found.append([])
  return [one for one in found if one]


def split_usage(lines):
  """The last usage that is given, whose further lines stand below its first, and the rest."""
  usage, rest, at_usage = [], [], False
  for line in lines:
    if line.startswith('Usage: '):
      usage, at_usage = [line[len('Usage: '):]], True
    elif at_usage and line.startswith(' ' * len('Usage: ')):
      usage.append(line.strip())
    else:
      rest.append(line)
      at_usage = False
  return usage, rest


def parse(name, text):
  lines = text.rstrip('\n').split('\n')
  titles = {'Options:', 'Positionals:', 'Subcommands:', 'Examples:'}
  blocks, title = {'': []}, ''
  for line in lines[1:]:
    if line in titles:
      title = line
      blocks[title] = []
    elif title and title != 'Examples:' and line and not line.startswith(' '):
      title = ''  # what follows the options
      blocks[title].append('')
      blocks[title].append(line)
    else:
      blocks[title].append(line)
  usage, rest = split_usage(blocks[''])
  subcommands = [(one.names[0], ' '.join(one.text)) for one in parse_block(blocks.get('Subcommands:', []))]
  for i, (sub, _) in enumerate(subcommands):
    assert re.fullmatch(r'[a-z-]+', sub), f'{name}: no subcommand: {sub} ({i})'
  return Command(name, lines[0], usage or [name], parse_block(blocks.get('Options:', [])),
                 parse_block(blocks.get('Positionals:', [])), subcommands, paragraphs(rest),
                 [line.strip() for line in blocks.get('Examples:', []) if line.strip()])


def help_of(tool, *words):
  """All options: of `--help-all` where there is one."""
  def said(flag):
    return subprocess.run([tool, *words, flag], check=True, capture_output=True, text=True).stdout

  text = said('--help')
  return said('--help-all') if '  --help-all' in text else text


def read_all(tool):
  """The help of the program first, then that of each subcommand."""
  text = help_of(tool)
  whole = parse(re.search(r'^Usage: (\S+)', text, re.M)[1], text)
  assert whole.subcommands, 'the help names no subcommands'
  return [whole] + [parse(f'{whole.name} {sub}', help_of(tool, sub)) for sub, _ in whole.subcommands]
