#!/usr/bin/env python3
"""Writes the settings into docs/tuning.md, as `quadrille list --settings --json` prints them.

  docs_settings.py TOOL docs/tuning.md            write the table of the page
  docs_settings.py --check TOOL docs/tuning.md    fail if the table is out of date
"""

import json
import re
import subprocess
import sys

import generated_page

SECTIONS = {'QUADRILLE_ALGORITHM': 'forcing-an-algorithm', 'QUADRILLE_TUNING': 'the-table', 'QUADRILLE_TRIALS': 'trying',
            'QUADRILLE_NODES': 'node-maps'}  # of the page


def settings(tool):
  return json.loads(subprocess.run([tool, 'list', '--settings', '--json'], check=True, capture_output=True, text=True).stdout)


def with_code(text, values):
  """Marks 'quoted' words, names of MPI, and values in front of their meaning."""
  words = '|'.join(map(re.escape, [*values, '0']))
  return re.sub(rf"(?<!\w)'([^']+)'(?!\w)|\b(MPI_\w+)|(?<![\w-])({words})(?=:)",
                lambda found: f'`{found[1] or found[2] or found[3]}`', text)


def row(setting):
  name, values, default = f'`{setting["name"]}`', setting['values'].split(', '), setting['default']
  section = SECTIONS.get(setting['name'])
  name = f'[{name}](#{section})' if section else name
  default = f'`{default}`' if default in values or re.fullmatch(r'[~\d]\S*', default) else default
  return f'| {name}{"*" * setting["ranks_must_agree"]} | `{setting["values"]}` | {with_code(setting["help"], values)} | {default} |'


def table(rows):
  return '\n'.join(['| variable | values | meaning | default |', '|---|---|---|---|', *map(row, rows)])


if __name__ == '__main__':
  sys.exit(generated_page.main(__doc__.splitlines()[0], lambda tool: table(settings(tool)), 'the settings', is_part=True))
