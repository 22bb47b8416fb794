"""The folders of Quadrille, and the ABI of an MPI."""

import os
import re
import shutil
import sys

ABIS = ("openmpi", "mpich")
# The MPI library of each ABI.
MPI_LIBRARY = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}


def prefix():
  """The folder with bin, lib, include and share: QUADRILLE_PREFIX, or this package's folder."""
  return os.environ.get("QUADRILLE_PREFIX") or os.path.dirname(os.path.abspath(__file__))


def program(name, abi):
  """The path of `quadrille` or `quadrille-lab` for an ABI. `run` of either serves both; `bench` needs its MPI's ABI."""
  return os.path.join(prefix(), "bin", f"{name}-{abi}")


def library(abi, name):
  return os.path.join(prefix(), "lib", "quadrille", abi, name)


def abi_beside(program):
  """The ABI of the MPI whose folder bin holds this program, or None."""
  libraries = os.path.join(os.path.dirname(os.path.dirname(program)), "lib")
  for abi in ABIS:
    if os.path.isfile(os.path.join(libraries, MPI_LIBRARY[abi])):
      return abi
  return None


def abi_of_ancestors():
  """The ABI of the launcher among this process's ancestors, or None."""
  process = os.getppid()
  for _ in range(6):
    if process <= 1:
      return None
    try:
      abi = abi_beside(os.readlink(f"/proc/{process}/exe"))
      with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
        process = int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
      return None
    if abi:
      return abi
  return None


def abi_of_name(path):
  """The ABI of an MPI library (C, C++ or Fortran) by its file name, or None. That of the MPI standard is MPICH's here:
  the same libraries serve both."""
  if re.match(r"lib(?:mpi|mpifort)_abi\.so\.1(?:\.|$)", os.path.basename(path)):
    return "mpich"
  # libmpifr and libmpir are other libraries.
  found = re.match(r"lib(?:mpi|mpi_\w+|mpifort|mpicxx|mpich\w*|fmpich\w*)\.so\.(40|12)(?:\.|$)", os.path.basename(path))
  return {"40": "openmpi", "12": "mpich"}[found[1]] if found else None


def abi_of_launcher(path):
  """The ABI of a launcher by its name, the library beside it, or its output; else None."""
  for name in (path, os.path.realpath(path)):
    base = os.path.basename(name)
    if base.endswith(".openmpi") or base in ("orterun", "prterun"):
      return "openmpi"
    if base.endswith(".mpich") or base in ("mpiexec.hydra", "mpiexec.gforker"):
      return "mpich"
    # Debian installs both MPIs in one folder, so the library there does not reveal the ABI.
    if os.path.dirname(name) not in ("/usr/bin", "/bin") and abi_beside(name):
      return abi_beside(name)
  import subprocess  # pylint: disable=import-outside-toplevel
  try:
    said = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=10, check=False).stdout.decode(errors="replace")
  except (OSError, subprocess.SubprocessError):
    return None
  if any(sign in said for sign in ("Open MPI", "OpenRTE", "prterun", "PRRTE")):
    return "openmpi"
  if any(sign in said for sign in ("HYDRA", "Intel(R) MPI", "MPICH", "MVAPICH")):
    return "mpich"
  return None


def abi_here():
  """The ABI of the MPI that a program started now would use; "openmpi" if unknown."""
  abi = abi_of_name(os.environ.get("QUADRILLE_LIBMPI", "")) or abi_of_ancestors()
  if abi:
    return abi
  if "OMPI_COMM_WORLD_SIZE" in os.environ:
    return "openmpi"
  if "PMI_SIZE" in os.environ or "PMI_FD" in os.environ:
    return "mpich"
  abi = abi_beside(os.path.join(sys.prefix, "bin", "python"))
  if abi:
    return abi
  launcher = shutil.which("mpirun") or shutil.which("mpiexec")
  return (launcher and abi_of_launcher(launcher)) or "openmpi"
