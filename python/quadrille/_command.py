"""The commands `quadrille` and `quadrille-lab`: each replaces itself by the program of this name in the package."""

import os
import signal
import sys

from quadrille import _places


def main():
  return become("quadrille")


def lab():
  return become("quadrille-lab")


def become(name):
  # Python ignores these signals, and a program inherits ignored signals across exec.
  for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
  program = _places.program(name)
  try:
    os.execv(program, [name, *sys.argv[1:]])
  except OSError as error:
    print(f"{name}: cannot start {program}: {error.strerror}", file=sys.stderr)
    return 127


if __name__ == "__main__":
  sys.exit(main())
