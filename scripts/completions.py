#!/usr/bin/env python3
"""Writes the completions of bash and zsh from the tool's own help.

    scripts/completions.py TOOL FOLDER    # FOLDER/bash-completion/completions/quadrille, FOLDER/zsh/site-functions/_quadrille
"""
import argparse
import json
import pathlib
import re
import subprocess

import cli_help

FILES = {'--json', '--csv', '--file', '--results', '--model', '--table', '--measured', '--map-json', '--svg', '--html', '--output', '--data'}
COLLECTIVES = {'--collective'}
STARTERS = ('run', 'doctor', 'report')  # another command stands behind them
ALGORITHMS = {'--algorithm', '--algorithms'}


def names_of_the_tool(tool):
  """The names of the algorithms and of the collectives."""
  listed = json.loads(subprocess.run([tool, 'list', '--json'], check=True, capture_output=True, text=True).stdout)
  rows = listed['algorithms'] if isinstance(listed, dict) else listed
  algorithms = sorted({row['name'] for row in rows})
  collectives = sorted({collective for row in rows for collective in row['collectives']})
  return algorithms, collectives


def words_in_text(option):
  """'byte, double or strided (...)'; 'an experiment: hint-6, hint-8'; lines that begin with 'uniform: ...'."""
  text = option.text[0] if option.text else ''
  found = re.match(r'([a-z-]+(?:, [a-z-]+)*) or ([a-z-]+)\b', text)
  if found:
    return [*found.group(1).split(', '), found.group(2)]
  found = re.search(r': ([a-z-]+[a-z0-9-]*(?:, [a-z][a-z0-9-]*)+)$', text)
  if found:
    return found.group(1).split(', ')
  return [re.match(r'([a-z][a-z-]*)', line).group(1) for line in option.text[1:] if re.match(r'[a-z][a-z-]*[:\[]', line)]


def words_of(option, algorithms, collectives):
  """What may follow an option; None: the name of a file, [] nothing that is known."""
  names = set(option.names)
  if option.values():
    return option.values()
  if names & ALGORITHMS:
    return algorithms
  if names & COLLECTIVES:
    return collectives
  if names & FILES:
    return None
  return words_in_text(option)


# ---- bash ----

def bash_options(command, algorithms, collectives):
  lines, free = [], []
  for option in command.options:
    if not option.takes_value():
      continue
    words = words_of(option, algorithms, collectives)
    if words == []:
      free += option.names
      continue
    reply = 'compgen -f -- "$word"' if words is None else f'compgen -W "{" ".join(words)}" -- "$word"'
    lines.append(f'        {"|".join(option.names)}) COMPREPLY=($({reply})); return ;;')
  return lines + ([f'        {"|".join(free)}) return ;;'] if free else [])


def bash(commands, algorithms, collectives):
  whole, subs = commands[0], commands[1:]
  out = ['# Completion of quadrille for bash; generated, see scripts/completions.py.',
         '_quadrille() {',
         '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" sub="${COMP_WORDS[1]}" i',
         '  COMPREPLY=()',
         '  if [ "$COMP_CWORD" -eq 1 ]; then',
         f'    COMPREPLY=($(compgen -W "{" ".join([name for name, _ in whole.subcommands] + long_names(whole))}" -- "$word"))',
         '    return',
         '  fi',
         '  # What is run completes as it does by itself.',
         '  for ((i = 2; i < COMP_CWORD; ++i)); do',
         f'    if [[ " {" ".join(STARTERS)} " = *" $sub "* ]] && [ "${{COMP_WORDS[i]}}" = -- ]; then',
         '      declare -F _command_offset >/dev/null && _command_offset $((i + 1))',
         '      return',
         '    fi',
         '  done',
         '  case "$sub" in']
  for command in subs:
    sub = command.name.split()[1]
    out += [f'    {sub})', '      case "$before" in', *bash_options(command, algorithms, collectives), '      esac']
    words = long_names(command) + (collectives if command.arguments else []) + (['--'] if sub in STARTERS else [])
    out += [f'      COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"))', '      ;;']
  return '\n'.join(out + ['  esac', '}', 'complete -F _quadrille quadrille']) + '\n'


def long_names(command):
  return [option.names[-1] for option in command.options]


# ---- zsh ----

def zsh_quoted(text):
  return text.replace("'", "'\\''").replace('[', '\\[').replace(']', '\\]').replace(':', '\\:')


def zsh_argument(option, algorithms, collectives):
  line = zsh_quoted(' '.join(option.text[:1]))
  action = ''
  if option.takes_value():
    words = words_of(option, algorithms, collectives)
    action = ':value:' + ('_files' if words is None else f'({" ".join(words)})' if words else ' ')
  name = option.names[-1]
  return f"        '{name}[{line}]{action}' \\"


def zsh(commands, algorithms, collectives):
  whole, subs = commands[0], commands[1:]
  out = ['#compdef quadrille', '# Generated; see scripts/completions.py.', '_quadrille() {', '  local -a commands', '  commands=(']
  out += [f"    '{name}:{zsh_quoted(line)}'" for name, line in whole.subcommands]
  out += ['  )', '  if (( CURRENT == 2 )); then', "    _describe 'command' commands", '    return', '  fi',
          '  local sub=$words[2]', '  shift words', '  (( CURRENT-- ))', '  case $sub in']
  for command in subs:
    sub = command.name.split()[1]
    out += [f'    {sub})', '      _arguments \\', *[zsh_argument(option, algorithms, collectives) for option in command.options]]
    if sub in STARTERS:
      out.append("        '*:::command:_normal'")
    elif command.arguments:
      out.append(f"        ':collective:({' '.join(collectives)})'")
    else:
      out[-1] = out[-1].removesuffix(' \\')
    out.append('      ;;')
  return '\n'.join(out + ['  esac', '}', '_quadrille "$@"']) + '\n'


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('tool')
  parser.add_argument('folder', type=pathlib.Path)
  arguments = parser.parse_args()
  commands = cli_help.read_all(arguments.tool)
  algorithms, collectives = names_of_the_tool(arguments.tool)
  for place, text in (('bash-completion/completions/quadrille', bash(commands, algorithms, collectives)),
                      ('zsh/site-functions/_quadrille', zsh(commands, algorithms, collectives))):
    path = arguments.folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == '__main__':
  main()
