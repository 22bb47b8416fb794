#!/usr/bin/env python3
"""Writes the manual pages: section 1 from the help of each program and its settings, section 3 from quadrille.h.

    scripts/man_pages.py TOOL LAB FOLDER        # FOLDER/man1/quadrille-bench.1, ..., FOLDER/man3/Quadrille_Alltoall.3, ...
"""
import argparse
import dataclasses
import pathlib
import re

import cli_help
import docs_settings

ROOT = pathlib.Path(__file__).resolve().parent.parent


# ---- troff ----

def escape(text):
  text = text.replace('\\', '\\e').replace('-', '\\-').replace('~', '\\(ti').replace('^', '\\(ha')
  text = text.replace("'", '\\(aq').replace('`', '\\(ga').replace('ä', '\\[:a]')
  assert text.isascii(), text
  return '\\&' + text if text.startswith('.') else text


def header(name, section, version):
  return ['.\\" Generated; see scripts/man_pages.py.', f'.TH "{escape(name)}" {section} "" "Quadrille {version}" "Quadrille"']


def example_lines(lines):
  return ['.PP', '.nf', '.RS 4', *map(escape, lines), '.RE', '.fi']


def running_text(lines):
  """Paragraphs; lines that are indented keep their form."""
  out, in_list = [], False
  for line in lines:
    if line.startswith('  ') != in_list:
      out += ['.RE', '.fi', '.PP'] if in_list else ['.PP', '.nf', '.RS 2']
      in_list = not in_list
    out.append(escape(line[2:] if in_list else line.strip()) or '.PP')
  return out + (['.RE', '.fi'] if in_list else [])


# ---- Section 1 ----

def option_lines(options):
  out = []
  for option in options:
    names = ', '.join(f'\\fB{escape(name)}\\fR' for name in option.names)
    value = f' \\fI{escape(option.value)}\\fR' if option.value else ''
    out += ['.TP', names + value]
    first, rest = option.text[:1], option.text[1:]
    out += [escape(line) for line in first] or ['\\&']
    for line in rest:
      out += ['.br', escape(line)]
  return out


def usage_lines(usage):
  out = []
  for line in usage:
    out += ['.br', f'\\fB{escape(line)}\\fR']
  return out[1:]


def see_also(command):
  """[(page, section)] for 'quadrille', 'quadrille bench', 'quadrille-lab bench'."""
  program, _, subcommand = command.partition(' ')
  parent = [(program, 1)] if subcommand else []
  sibling = [('quadrille-lab', 1)] if command == 'quadrille' else [('quadrille', 1)] if program == 'quadrille-lab' else []
  return parent + sibling + [('quadrille', 3)]


def is_exit_status(paragraph):
  return paragraph[0].strip().startswith('The exit status')


def exit_status_lines(command):
  """What the help says of it, or the usual."""
  said = [line.strip() for paragraph in command.description if is_exit_status(paragraph) for line in paragraph]
  said = said or ['The exit status is 0 on success and 1 on failure.']
  return ['.SH EXIT STATUS', *map(escape, said), 'A wrong command line gives 2.']


def environment_lines(command, settings):
  """All settings on the page of a program; on that of a subcommand those that its help names."""
  words = ' '.join([*(line for paragraph in command.description for line in paragraph), *command.examples,
                    *(line for option in command.options for line in option.text)])
  named = [one for one in settings if command.subcommands or re.search(rf'{one["name"]}(?!\w)', words)]
  out = ['.SH ENVIRONMENT']
  for one in named:
    name, values, meaning, default = (escape(one[field]) for field in ('name', 'values', 'help', 'default'))
    out += ['.TP', f'\\fB{name}\\fR (\\fI{values}\\fR)', meaning + '.', '.br', f'Default: {default}.']
  return out + ([] if command.subcommands else ['.PP', '\\fBquadrille\\fR(1) lists all variables.'])


def command_page(command, settings, version):
  page = command.name.replace(' ', '-')
  out = header(page, 1, version)
  out += ['.SH NAME', f'{escape(page)} \\- {escape(command.line)}', '.SH SYNOPSIS', *usage_lines(command.usage)]
  description = [paragraph for paragraph in command.description if not is_exit_status(paragraph)]
  if description:
    out.append('.SH DESCRIPTION')
    for paragraph in description:
      out += ['.PP', *[escape(line.strip()) for line in paragraph]]
  if command.arguments:
    out += ['.SH ARGUMENTS', *option_lines(command.arguments)]
  out += ['.SH OPTIONS', *option_lines(command.options)]
  if command.subcommands:
    out.append('.SH COMMANDS')
    for sub, line in command.subcommands:
      out += ['.TP', f'\\fB{escape(page)}\\-{escape(sub)}\\fR(1)', escape(line)]
  out += exit_status_lines(command) + environment_lines(command, settings)
  if command.examples:
    out += ['.SH EXAMPLES', *example_lines(command.examples)]
  out += ['.SH SEE ALSO', ', '.join(f'\\fB{escape(other)}\\fR({section})' for other, section in see_also(command.name))]
  return page, '\n'.join(out) + '\n'


# ---- Section 3 ----

@dataclasses.dataclass
class Function:
  names: list
  declarations: list
  comment: list   # lines
  group: list     # of the comment before the group


def comment_lines(text):
  text = re.sub(r'`([^`]*)`', r'\1', text)
  lines = [re.sub(r'^\s*\*? ?', '', line) if i else line for i, line in enumerate(text.strip().split('\n'))]
  return [line.rstrip() for line in lines]


def read_header(path):
  """The comment at the head, and the functions, each group of declarations with the comment before it."""
  text = path.read_text()
  pieces = re.finditer(r'/\*(.*?)\*/|QUADRILLE_EXPORT\s+(\w[^;{]*?\b(Quadrille_\w+)\s*\([^;]*\));', text, re.S)
  head, functions, group, comment, fresh = None, [], [], [], False
  for piece in pieces:
    said, declaration, name = piece.groups()
    if said is not None:
      lines = comment_lines(said)
      if head is None:
        head = lines
      elif lines[0].startswith('----'):
        group = [lines[0].strip('- ')] + lines[1:]
      elif text[piece.end():].lstrip().startswith('QUADRILLE_EXPORT'):
        comment, fresh = lines, True
      continue
    declaration = re.sub(r'\s+', ' ', declaration) + ';'
    if fresh:
      functions.append(Function([name], [declaration], comment, group))
      fresh = False
    else:
      functions[-1].names.append(name)
      functions[-1].declarations.append(declaration)
  return head, functions


def split_comment(lines):
  """What it does, its arguments (name, lines), and its errors."""
  text, arguments, errors = [], [], []
  into = text
  for line in lines:
    argument = re.match(r'  (\S(?:[^ ]| (?! ))*)  +(\S.*)$', line)
    if line.startswith('Errors: ') or line == 'No errors.':
      into = errors
      errors.append(line.removeprefix('Errors: '))
    elif argument and into is not errors:
      arguments.append((argument.group(1), [argument.group(2)]))
      into = arguments
    elif into is arguments and line.startswith('   '):
      arguments[-1][1].append(line.strip())
    else:
      if into is arguments:
        into = text
      if re.match(r'Algorithms: ', line):
        text += ['', line]
        into = text
      else:
        into.append(line)
  return text, arguments, errors


def wrapped(declaration):
  """One argument a line, as it may be long."""
  before, _, rest = declaration.partition('(')
  arguments = rest[:-2].split(', ')
  if len(declaration) < 70:
    return [declaration]
  return [f'{before}('] + [f'    {one}{"," if i + 1 < len(arguments) else ");"}' for i, one in enumerate(arguments)]


def first_sentence(text):
  whole = ' '.join(line.strip() for line in text)
  ends = '[.]' if whole.startswith('As Quadrille_') else '[.;:]'
  found = re.match(r'(.*?[^ .]{2,})' + ends + r'(\s|$)', whole)
  return (found.group(1) if found else whole)[:100]


def function_page(function, version):
  text, arguments, errors = split_comment(function.comment)
  out = header(function.names[0], 3, version)
  out += ['.SH NAME', f'{escape(", ".join(function.names))} \\- {escape(first_sentence(text))}', '.SH SYNOPSIS', '.nf',
          '\\fB#include <quadrille.h>\\fR', '']
  for declaration in function.declarations:
    out += [escape(line) for line in wrapped(declaration)]
  out += ['.fi', '.SH DESCRIPTION', *running_text(text)]
  if arguments:
    out.append('.SH ARGUMENTS')
    for name, lines in arguments:
      out += ['.TP', f'\\fI{escape(name)}\\fR']
      for line in lines:
        out += ['.br', escape(line)] if line.startswith('"') else [escape(line)]
  out += ['.SH RETURN VALUE', 'MPI_SUCCESS or an MPI error code.' if 'Quadrille_Version' not in function.names else 'The version.']
  if errors:
    out += ['.SH ERRORS', *[escape(line) for line in errors if line.strip()]]
  if function.group:
    out += [f'.SH "{escape(function.group[0]).upper()}"', *running_text(function.group[1:])]
  return '\n'.join(out + ['.SH SEE ALSO', '\\fBquadrille\\fR(3), \\fBquadrille\\fR(1)']) + '\n'


def overview_page(head, functions, version):
  title, _, line = head[0].partition(':')
  out = header('quadrille', 3, version)
  out += ['.SH NAME', f'quadrille \\- {escape(line.strip())}', '.SH SYNOPSIS', '\\fB#include <quadrille.h>\\fR',
          '.SH DESCRIPTION', *running_text(head[1:]), '.SH FUNCTIONS']
  for function in functions:
    for name in function.names:
      out += ['.TP', f'\\fB{escape(name)}\\fR(3)', escape(first_sentence(split_comment(function.comment)[0]))]
  return '\n'.join(out + ['.SH SEE ALSO', '\\fBquadrille\\fR(1)']) + '\n'


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('tool')
  parser.add_argument('lab')
  parser.add_argument('folder', type=pathlib.Path)
  arguments = parser.parse_args()
  header_file = ROOT / 'include' / 'quadrille.h'
  numbers = re.findall(r'#define QUADRILLE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)', header_file.read_text())
  version = '.'.join(numbers)
  for section in ('man1', 'man3'):
    (arguments.folder / section).mkdir(parents=True, exist_ok=True)
  settings = docs_settings.settings(arguments.tool)
  for program in (arguments.tool, arguments.lab):
    for command in cli_help.read_all(program):
      page, text = command_page(command, settings, version)
      (arguments.folder / 'man1' / f'{page}.1').write_text(text)
  head, functions = read_header(header_file)
  (arguments.folder / 'man3' / 'quadrille.3').write_text(overview_page(head, functions, version))
  for function in functions:
    text = function_page(function, version)
    for i, name in enumerate(function.names):
      (arguments.folder / 'man3' / f'{name}.3').write_text(text if i == 0 else f'.so man3/{function.names[0]}.3\n')


if __name__ == '__main__':
  main()
