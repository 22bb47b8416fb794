"""The C API through ctypes, with mpi4py's handles."""

import ctypes

from quadrille import _enable, _places
from quadrille._errors import Error

NAME = "libquadrille.so.0"
_loaded = None


def mpi():
  """mpi4py's module MPI; an Error unless MPI is initialised and not finalised."""
  try:
    from mpi4py import MPI  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise Error(f"quadrille needs mpi4py and an MPI: {error}") from error
  if not MPI.Is_initialized():
    raise Error("quadrille: MPI is not initialised yet; call MPI.Init() first")
  if MPI.Is_finalized():
    raise Error("quadrille: MPI is finalized already")
  return MPI


def _load():
  """The library in use, whether MPI is loaded or not. The preload library of `quadrille run` and enable() has the API, too."""
  path = _enable.loaded_preload() or _places.library(NAME)
  try:
    functions = ctypes.CDLL(path)
  except OSError as error:
    raise Error(f"quadrille: cannot load {path}: {error}") from error
  try:
    functions.Quadrille_Version.restype = ctypes.c_int
  except AttributeError as error:
    raise Error(f"quadrille: {path} has no Quadrille_Version") from error
  return functions


class Library:
  """The functions of quadrille.h, called with mpi4py's handles."""

  def __init__(self):
    self.MPI = MPI = mpi()
    size = MPI._sizeof(MPI.Comm)  # pylint: disable=protected-access
    self.handle = ctypes.c_int if size == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    self.functions = _load()
    self._called = {}  # functions by name

  def of(self, thing):
    """The MPI handle of an mpi4py object."""
    return self.handle.from_address(self.MPI._addressof(thing))  # pylint: disable=protected-access

  def handles(self, things):
    return (self.handle * max(len(things), 1))(*[self.of(thing) for thing in things])

  def call(self, name, *arguments):
    """Calls Quadrille_<name>; an error code becomes an exception."""
    function = self._called.get(name)
    if function is None:
      function = self._called[name] = getattr(self.functions, "Quadrille_" + name)
      function.restype = ctypes.c_int
    code = function(*arguments)
    if code != 0:
      text = self.MPI.Get_error_string(code)
      raise Error(f"Quadrille_{name}: {text}", code)


def library():
  """The library, loaded on the first call after MPI is initialised."""
  global _loaded  # pylint: disable=global-statement
  if _loaded is None:
    _loaded = Library()
  elif _loaded.MPI.Is_finalized():
    raise Error("quadrille: MPI is finalized already")
  return _loaded


def version():
  """The version of the C library in use, as (major, minor, patch). Does not start MPI."""
  functions = _loaded.functions if _loaded is not None else _load()
  number = functions.Quadrille_Version()
  return number // 10000, number // 100 % 100, number % 100
