#!/usr/bin/env python3
"""Writes docs/cli.md from the output of --help, below a head that is written here.

  docs_cli.py TOOL docs/cli.md            write the page
  docs_cli.py --check TOOL docs/cli.md    fail if the page is out of date
"""

import re
import sys

import cli_help
import generated_page

HEAD = """# The command line

    quadrille run -- mpirun -n 4 ./app          # run a program with Quadrille
    quadrille doctor -- mpirun -n 4 ./app       # check a job, with fixes
    quadrille report -- mpirun -n 8 ./app       # a page about the calls of one run
    mpirun -n 2 quadrille bench alltoall        # time the MPI's collective and Quadrille's

`quadrille-lab --help` has the laboratory's options. Older option names (`--size`, `--algorithm`, `--map`) are still read.

## Exit status

- all: 2 for a wrong option; one line on stderr suggests the nearest one
- `run`: that of the launched command; 2: no MPI program, two MPIs mixed, no preload library; 127: launcher not found
- `doctor`: 1 if a line says `BAD`
- `report`: that of the program. If that is 0, then 1: no call to report, or a file could not be written. 2 or 127: nothing was started
- `bench`: 1 if a byte was wrong; 2 for an option without effect, or a missing GPU driver
- `verify`: 1 if a proof failed

## How run finds the MPI

`run` finds the program behind the launcher's options, wrappers (`taskset`, `numactl`, `env`, `time`) and `:`. It reads the
libraries that the program needs: `libmpi.so.40` is Open MPI's, `libmpi.so.12` and `libmpich.so.12` those of MPICH's ABI,
`libmpi_abi.so.1` that of the MPI standard's.

Scripts, interpreters, and programs that call `dlopen` or start others do not reveal their MPI. The launcher then decides, by its
name or `mpirun --version`. `--mpi` overrides this. Without a launcher, or if only other hosts have the program, it is needed.

- **Environment.** `run` puts Quadrille's library first in `LD_PRELOAD` and keeps the rest, also in `-x LD_PRELOAD=...` and
  `-genv LD_PRELOAD ...`. For Open MPI's launchers it adds `-x` for `LD_PRELOAD` and each `QUADRILLE` variable. Then it becomes the
  launcher.
- **Place.** The library is searched in `QUADRILLE_LIB_DIR`, then in `../lib/quadrille` and `../lib` beside the tool.
- **Functions of MPI 4** (large counts, persistent requests) are in extra libraries, preloaded only if the program's MPI has them. If a
  program loads its MPI late, as Python does, all MPIs that it could load must have them: `MPI4PY_LIBMPI`, `lib` beside launcher and
  program, and where the loader searches.

## How doctor measures

Your launcher starts the tool in place of the program. Each rank loads the MPI library that the program would load there. doctor
waits at most two minutes, and sees other hosts only by this trial.
"""
NOT_LISTED = {'-h', '--version'}


def text_of(option):
  return '; '.join(line.strip() for line in option.text).replace(':; ', ': ').rstrip('.').replace('|', r'\|')


def condition(value):
  """'TEXT=8:64K Needs: --figure' -> '8:64K', 'needs --figure'"""
  needs = re.search(r'Needs: (.*?)( Excludes:|$)', value)
  plain = re.sub(r' ?(Needs|Excludes): .*', '', value)
  range_of = re.search(r'in \[(\S+) - (\S+)\]', plain)
  choice = re.search(r'\{([^}]*)\}', plain)
  parts = [choice.group(1).replace(',', ', ')] if choice else []
  if range_of and float(range_of.group(2)) < 1e6:
    parts.append(f'{range_of.group(1)} to {range_of.group(2)}')
  default = plain.partition('=')[2]
  parts += [f'default {default}' if ' ' in default else f'default `{default}`'] if default else []
  parts += [f'needs {needs.group(1)}'] if needs else []
  return f' ({"; ".join(parts)})' if parts else ''


def options_of(command, seen):
  """A line each; those that stand with an earlier subcommand are named together."""
  lines, known = [], {}
  for option in command.arguments + command.options:
    if NOT_LISTED & set(option.names):
      continue
    name, text = option.names[-1], text_of(option)
    if (name, text) in seen:
      known.setdefault(seen[name, text], []).append(f'`{name}`')
    else:
      seen[name, text] = command.name
      lines.append(f'- `{name}`{condition(option.value)}: {text}')
  return lines + [f'- {", ".join(names)}: as of `{other}`' for other, names in known.items()]


def section(command, seen):
  text = [f'## {command.name}', '', f'{command.line}.', '']
  text += [f'    {line}' for line in command.examples[:1]]
  return '\n'.join([*text, '', *options_of(command, seen)]).rstrip()


def page(tool):
  seen = {}
  commands = [command for command in cli_help.read_all(tool) if not command.subcommands]
  return '\n\n'.join([HEAD.rstrip(), *(section(command, seen) for command in commands)]) + '\n'


if __name__ == '__main__':
  sys.exit(generated_page.main(__doc__.splitlines()[0], page, 'the output of --help'))
