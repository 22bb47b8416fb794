"""Serves an mpi4py program without `quadrille run`.

LD_PRELOAD has no effect on a running process, but mpi4py loads its MPI late. If Quadrille's library is loaded before
with global symbols, mpi4py's module finds MPI_Alltoall there first. Calls then reach Quadrille, as under
`quadrille run`. The shared heap is unavailable, because the program has already bound its malloc: large blocks use
another path inside a node.
"""

import ctypes
import importlib.util
import os
import re
import sys

from quadrille import _loader, _places
from quadrille._errors import Error, TooLate

PRELOAD = "libquadrille_mpi.so"
# Preload libraries for functions that not every MPI has. Each is loaded if the MPI has the function beside it. Those of
# MPICH's ABI also serve the MPI standard's.
DOORS = {
    "mpich": (("libquadrille_mpi_large.so", "MPI_Alltoall_c"),
              ("libquadrille_mpi_persistent.so", "MPI_Alltoall_init_c")),
    "openmpi": (("libquadrille_mpi_persistent.so", "MPI_Alltoall_init"),
                ("libquadrille_mpix_persistent.so", "MPIX_Alltoall_init")),
}
_kept = []


def mapped():
  """The paths of the files that are mapped into this process."""
  with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
    return {line.split(None, 5)[5].strip() for line in file if line.count("/")}


def is_mpi(path):
  """Whether a file name is that of an MPI library (C, C++ or Fortran) of an ABI that Quadrille serves."""
  # libmpifr and libmpir are other libraries.
  return re.match(r"lib((mpi|mpifort)_abi\.so\.1|(mpi|mpi_\w+|mpifort|mpicxx|f?mpich\w*)\.so\.(40|12))(\.|$)",
                  os.path.basename(path)) is not None


def loaded_preload():
  """The path of the preload library in this process, or None."""
  return next((path for path in mapped() if os.path.basename(path) == PRELOAD), None)


def enabled():
  """Whether Quadrille serves MPI's own functions in this process: under `quadrille run`, or after enable()."""
  return loaded_preload() is not None


def _found_by_mpi4py(mpiabi):
  """The MPI that a wheel of mpi4py 4 finds, by the search of mpi4py itself."""
  named = mpiabi.LIBMPI or os.environ.get("MPI4PY_LIBMPI")
  try:
    return mpiabi._dlopen_libmpi(named)  # pylint: disable=protected-access
  except RuntimeError as error:
    raise Error("quadrille.enable: mpi4py finds no MPI: " + str(error).replace("\n", "; ")) from error


def _needed_by_module(mpi4py):
  """The MPI that mpi4py's module was built for, loaded without the module."""
  spec = importlib.util.find_spec("mpi4py.MPI")
  if spec is None or not spec.origin:
    raise Error(f"quadrille.enable: {os.path.dirname(mpi4py.__file__)} has no module MPI")
  try:
    needed = _loader.read(spec.origin).needed
  except (OSError, ValueError) as error:
    raise Error(f"quadrille.enable: mpi4py's module cannot be read: {error}") from error
  # The C library first, then those of other languages.
  names = sorted(filter(is_mpi, needed), key=lambda name: not name.startswith(("libmpi.so", "libmpich.so")))
  if not names:
    raise Error(f"quadrille.enable: cannot tell which MPI {os.path.basename(spec.origin)} was built for; start the program "
                "by 'quadrille run' instead")
  try:
    return _loader.load(names[0], spec.origin)
  except OSError as error:
    raise Error(f"quadrille.enable: mpi4py's MPI cannot be loaded: {error}") from error


def _mpi_of_mpi4py():
  """The MPI library that mpi4py will use, loaded with local symbols, and its ABI."""
  try:
    import mpi4py  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise Error("quadrille.enable: mpi4py is not installed; pip install mpi4py") from error
  try:
    from mpi4py import _mpiabi  # pylint: disable=import-outside-toplevel
    several = hasattr(_mpiabi, "_dlopen_libmpi") and bool(_mpiabi._registry)  # pylint: disable=protected-access
  except (ImportError, AttributeError):
    several = False
  library = _found_by_mpi4py(_mpiabi) if several else _needed_by_module(mpi4py)
  if hasattr(library, "ompi_mpi_comm_world"):
    return library, "openmpi"
  return library, "mpich"


def enable():
  """Makes Quadrille serve mpi4py's all-to-all methods. Call it before `from mpi4py import MPI`, on all ranks or none.

  Returns True, or False if they are served already (`quadrille run`, an earlier call) or QUADRILLE=off is set. Raises
  TooLate, with the reason, if mpi4py has already found its functions; the MPI is then unchanged.
  """
  if os.environ.get("QUADRILLE", "") in ("0", "off", "no", "false"):
    return False
  if enabled():
    return False
  module = sys.modules.get("mpi4py.MPI")
  if module is not None:
    why = ("MPI is finalized" if module.Is_finalized() else
           "MPI is initialised" if module.Is_initialized() else "mpi4py.MPI is imported, and has found its functions")
    raise TooLate(f"quadrille.enable: too late: {why} already; call quadrille.enable() before the first "
                  "'from mpi4py import MPI' (also of other packages), or start the program by "
                  "'quadrille run -- mpirun ...'")
  loaded = next(filter(is_mpi, mapped()), None)
  if loaded:
    started = getattr(ctypes.CDLL(loaded), "MPI_Initialized", None)
    flag = ctypes.c_int(0)
    if started is not None and started(ctypes.byref(flag)) == 0 and flag.value:
      raise TooLate("quadrille.enable: too late: another part of this program has initialised MPI already; start the "
                    "program by 'quadrille run -- mpirun ...'")
  library, abi = _mpi_of_mpi4py()
  names = [PRELOAD] + [name for name, function in DOORS[abi] if hasattr(library, function)]
  for name in names:
    path = _places.library(name)
    if name != PRELOAD and not os.path.exists(path):
      continue
    try:
      _kept.append(ctypes.CDLL(path, os.RTLD_NOW | os.RTLD_GLOBAL))
    except OSError as error:
      raise Error(f"quadrille.enable: cannot load {path}: {error}") from error
  return True
