"""Serving a program that uses mpi4py without `quadrille run`.

What LD_PRELOAD does cannot be done once a process runs. But mpi4py loads its MPI late. A library that is loaded
before that for all to see is found first when mpi4py's module looks for MPI_Alltoall, so calls go to Quadrille and
from there to the MPI, as under `quadrille run`. What this way lacks is the shared heap: the program has found its
malloc already. Large blocks then take another way inside a node.
"""

import ctypes
import os
import sys

from quadrille import _places
from quadrille._errors import Error, TooLate

PRELOAD = "libquadrille_mpi.so"
# Doors for names that not every MPI has: the library, and a function that tells whether the MPI has them.
DOORS = {
    "mpich": (("libquadrille_mpi_large.so", "MPI_Alltoall_c"),
              ("libquadrille_mpi_persistent.so", "MPI_Alltoall_init_c")),
    "openmpi": (("libquadrille_mpi_persistent.so", "MPI_Alltoall_init"),
                ("libquadrille_mpix_persistent.so", "MPIX_Alltoall_init")),
}
_kept = []


def mapped():
  """Paths of the files that this process has mapped."""
  with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
    return {line.split(None, 5)[5].strip() for line in file if line.count("/")}


def loaded_preload():
  """Path of the preload library that is in this process, or None."""
  return next((path for path in mapped() if os.path.basename(path) == PRELOAD), None)


def enabled():
  """Whether MPI's own functions are served here: under `quadrille run`, or after enable()."""
  return loaded_preload() is not None


def _mpi_of_mpi4py():
  """The library that mpi4py is going to use, loaded but seen by nobody, and its ABI."""
  try:
    import mpi4py  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise Error("quadrille.enable: mpi4py is not installed; pip install mpi4py") from error
  try:
    from mpi4py import _mpiabi  # pylint: disable=import-outside-toplevel
    find = _mpiabi._dlopen_libmpi  # pylint: disable=protected-access
    several = bool(_mpiabi._registry)  # pylint: disable=protected-access
  except (ImportError, AttributeError):
    several = False
  if several:
    # A wheel of mpi4py 4: it takes the MPI that it finds.
    named = _mpiabi.LIBMPI or os.environ.get("MPI4PY_LIBMPI")
    try:
      library = find(named)
    except RuntimeError as error:
      raise Error("quadrille.enable: mpi4py finds no MPI: " + str(error).replace("\n", "; ")) from error
  else:
    # One that was built for an MPI: what its module needs, which is loaded without its module.
    folder = os.path.dirname(mpi4py.__file__)
    modules = [name for name in os.listdir(folder) if name.startswith("MPI.") and name.endswith(".so")]
    if not modules:
      raise Error(f"quadrille.enable: {folder} has no module MPI")
    library = None
    for name in _places.MPI_LIBRARY.values():
      with open(os.path.join(folder, modules[0]), "rb") as file:
        if name.encode() + b"\0" in file.read():
          try:
            library = ctypes.CDLL(name, os.RTLD_LAZY | os.RTLD_LOCAL)
          except OSError as error:
            raise Error(f"quadrille.enable: mpi4py's MPI cannot be loaded: {error}") from error
    if library is None:
      raise Error(f"quadrille.enable: cannot tell which MPI {modules[0]} was built for; start the program by "
                  "'quadrille run' instead")
  if hasattr(library, "ompi_mpi_comm_world"):
    return library, "openmpi"
  if any(os.path.basename(path).startswith("libmpi_abi.so") for path in mapped()):
    raise Error("quadrille.enable: this MPI has the MPI standard ABI (libmpi_abi.so), which is not served")
  return library, "mpich"


def enable():
  """Leads this program's calls of MPI's all-to-all family to Quadrille. Call it before `from mpi4py import MPI`.

  Returns True if it did so, and False if they are served already (under `quadrille run`, or after an earlier call).
  Raises TooLate, with the reason, if mpi4py has found its functions already: MPI then works as it is. All ranks call
  it, or none.
  """
  if os.environ.get("QUADRILLE", "").lower() == "off":
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
  if any(_places.abi_of_name(path) for path in mapped()):
    loaded = next(path for path in mapped() if _places.abi_of_name(path))
    started = getattr(ctypes.CDLL(loaded), "MPI_Initialized", None)
    flag = ctypes.c_int(0)
    if started is not None and started(ctypes.byref(flag)) == 0 and flag.value:
      raise TooLate("quadrille.enable: too late: another part of this program has initialised MPI already; start the "
                    "program by 'quadrille run -- mpirun ...'")
  library, abi = _mpi_of_mpi4py()
  names = [PRELOAD] + [name for name, function in DOORS[abi] if hasattr(library, function)]
  for name in names:
    path = _places.library(abi, name)
    if name != PRELOAD and not os.path.exists(path):
      continue
    try:
      _kept.append(ctypes.CDLL(path, os.RTLD_NOW | os.RTLD_GLOBAL))
    except OSError as error:
      raise Error(f"quadrille.enable: cannot load {path}: {error}") from error
  return True
