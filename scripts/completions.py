#!/usr/bin/env python3
"""Writes the completions of bash and zsh for both programs from their help.

    scripts/completions.py TOOL LAB FOLDER    # FOLDER/bash-completion/completions/quadrille, FOLDER/zsh/site-functions/_quadrille
"""
import argparse
import json
import pathlib
import re
import subprocess

import cli_help

FILES = {'--json', '--csv', '--file', '--results', '--model', '--table', '--measured', '--map-json', '--svg', '--html', '--output', '--data',
         '--network'}
COLLECTIVES = {'--collective'}
STARTERS = ('run', 'doctor', 'report')  # another command stands behind them
ALGORITHMS = {'--algorithms'}
# Words that stand inside a sentence of an option's help: those that its help has are offered. One that ends with ':' goes on.
WORDS = {
  '--device': ('cuda', 'hip'),
  '--model': ('aries', 'aries-nodes', 'paper'),
  '--neighborhood': ('moore:', 'positive-moore:', 'shales:', 'von-neumann:', 'offsets:', 'file:'),
  '--node-map': ('blocked', 'round-robin', 'blocked:', 'roundrobin:', 'ragged:', 'even:', 'permuted:'),
  '--orders': ('row', 'column', 'morton', 'hilbert', 'row-numa', 'morton-numa', 'square-row', 'square-column', 'square-morton'),
}


def stands_in(word, text):
  return re.search(rf'(?<![\w-]){re.escape(word)}' + ('' if word.endswith(':') else r'(?![\w:-])'), text)


def words_in_sentence(option):
  text = ' '.join(option.text)
  return [word for word in WORDS.get(option.names[-1], ()) if stands_in(word, text)]


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


class Offers:
  """What may follow an option: words, and whether the name of a file."""

  def __init__(self, tool, lab, commands):
    listed = json.loads(self.said(tool, 'list', '--json'))
    rows = listed['algorithms'] if isinstance(listed, dict) else listed
    self.algorithms = sorted({row['name'] for row in rows})
    self.collectives = sorted({collective for row in rows for collective in row['collectives']})
    self.networks = re.findall(r'^([a-z][\w-]*): ', self.said(lab, 'simulate', '--list-networks'), re.M)
    self.bench, = (command for command in commands if command.name == 'quadrille bench')

  @staticmethod
  def said(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout

  def of_bench(self, name):
    option, = (option for option in self.bench.options if name in option.names)
    return self.words(option)

  def words(self, option):
    names, text = set(option.names), ' '.join(option.text)
    if option.values():
      return option.values()
    if names & ALGORITHMS:
      return self.algorithms
    if names & COLLECTIVES:
      return self.collectives
    if '--network' in names:
      return self.networks
    words = words_in_sentence(option)
    if '--neighborhood' in names and 'as in bench' in text:
      words = words + self.of_bench('--neighborhood')
    return words or ([] if names & FILES else words_in_text(option))

  def files(self, option):
    return bool(set(option.names) & FILES)


def function_of(whole):
  return '_' + whole.name.replace('-', '_')


# ---- bash ----

def bash_options(command, offers):
  lines, free = [], []
  for option in command.options:
    if not option.takes_value():
      continue
    words = offers.words(option)
    replies = [f'compgen -W "{" ".join(words)}" -- "$word"'] * bool(words) + ['compgen -f -- "$word"'] * offers.files(option)
    if not replies:
      free += option.names
      continue
    # What goes on has no blank behind it.
    goes_on = ' compopt -o nospace 2>/dev/null;' if any(word.endswith(':') for word in words) else ''
    lines.append(f'        {"|".join(option.names)}){goes_on} COMPREPLY=($({"; ".join(replies)})); return ;;')
  return lines + ([f'        {"|".join(free)}) return ;;'] if free else [])


def bash(commands, offers):
  whole, subs = commands[0], commands[1:]
  out = [f'# Completion of {whole.name} for bash; generated, see scripts/completions.py.',
         f'{function_of(whole)}() {{',
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
    out += [f'    {sub})', '      case "$before" in', *bash_options(command, offers), '      esac']
    words = long_names(command) + (offers.collectives if command.arguments else []) + (['--'] if sub in STARTERS else [])
    out += [f'      COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"))', '      ;;']
  return '\n'.join(out + ['  esac', '}', f'complete -F {function_of(whole)} {whole.name}']) + '\n'


def long_names(command):
  return [option.names[-1] for option in command.options]


# ---- zsh ----

def zsh_quoted(text):
  return text.replace("'", "'\\''").replace('[', '\\[').replace(']', '\\]').replace(':', '\\:')


def zsh_argument(option, offers):
  line = zsh_quoted(' '.join(option.text[:1]))
  action = ''
  if option.takes_value():
    words = ' '.join(offers.words(option)).replace(':', '\\:')
    if offers.files(option):
      action = f':value: _quadrille_word_or_file {words}' if words else ':value:_files'
    else:
      action = f':value:({words})' if words else ':value: '
  name = option.names[-1]
  return f"        '{name}[{line}]{action}' \\"


def zsh(commands, offers):
  whole, subs = commands[0], commands[1:]
  out = [f'#compdef {whole.name}', '# Generated; see scripts/completions.py.',
         '_quadrille_word_or_file() { compadd -- "$@"; _files }', f'{function_of(whole)}() {{', '  local -a commands', '  commands=(']
  out += [f"    '{name}:{zsh_quoted(line)}'" for name, line in whole.subcommands]
  out += ['  )', '  if (( CURRENT == 2 )); then', "    _describe 'command' commands", '    return', '  fi',
          '  local sub=$words[2]', '  shift words', '  (( CURRENT-- ))', '  case $sub in']
  for command in subs:
    sub = command.name.split()[1]
    out += [f'    {sub})', '      _arguments \\', *[zsh_argument(option, offers) for option in command.options]]
    if sub in STARTERS:
      out.append("        '*:::command:_normal'")
    elif command.arguments:
      out.append(f"        ':collective:({' '.join(offers.collectives)})'")
    else:
      out[-1] = out[-1].removesuffix(' \\')
    out.append('      ;;')
  return '\n'.join(out + ['  esac', '}', f'{function_of(whole)} "$@"']) + '\n'


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('tool')
  parser.add_argument('lab')
  parser.add_argument('folder', type=pathlib.Path)
  arguments = parser.parse_args()
  programs = [cli_help.read_all(program) for program in (arguments.tool, arguments.lab)]
  offers = Offers(arguments.tool, arguments.lab, programs[0])
  bash_folder, zsh_folder = arguments.folder / 'bash-completion' / 'completions', arguments.folder / 'zsh' / 'site-functions'
  for folder in (bash_folder, zsh_folder):
    folder.mkdir(parents=True, exist_ok=True)
  for commands in programs:
    name = commands[0].name
    (bash_folder / name).write_text(bash(commands, offers))
    (zsh_folder / f'_{name}').write_text(zsh(commands, offers))


if __name__ == '__main__':
  main()
