"""The commands `quadrille` and `quadrille-lab`: each replaces itself by the program for the ABI of the MPI."""

import os
import signal
import sys

from quadrille import _places

# These subcommands need no MPI, or find the program's MPI by themselves: the program of either ABI works.
ANY = ("run", "list", "verify", "show", "simulate", "pages", "--help", "-h", "--version")


def main():
  return become("quadrille")


def lab():
  return become("quadrille-lab")


def become(name):
  words = sys.argv[1:]
  abi = "openmpi" if not words or words[0] in ANY else _places.abi_here()
  # Python ignores these signals, and a program inherits ignored signals across exec.
  for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
  program = _places.program(name, abi)
  try:
    os.execv(program, [name, *words])
  except OSError as error:
    print(f"{name}: cannot start {program}: {error.strerror}", file=sys.stderr)
    return 127


if __name__ == "__main__":
  sys.exit(main())
