"""The folders of Quadrille."""

import os


def prefix():
  """The folder with bin, lib, include and share: QUADRILLE_PREFIX, or this package's folder."""
  return os.environ.get("QUADRILLE_PREFIX") or os.path.dirname(os.path.abspath(__file__))


def program(name):
  return os.path.join(prefix(), "bin", name)


def library(name):
  return os.path.join(prefix(), "lib", "quadrille", name)
