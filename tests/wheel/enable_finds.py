#!/usr/bin/env python3
"""quadrille.enable() takes the MPI that mpi4py's module gets, wherever the dynamic loader has it from; and the version,
which may be asked for before, starts none.

A stand-in for an mpi4py that was built for an MPI: a package with a module of C that needs a library by the name of an
MPI's. What is right, the loader says by itself: in another process it loads the module, and that process shows which
library came along.
"""

import importlib.machinery
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
SKIPPED = 77

# What the loader takes: the library of the module. And which one enable() takes, before and after the module is there.
JUDGE = """
import ctypes, glob, os, sys
if sys.argv[3]:
  first = ctypes.CDLL(sys.argv[3])
if sys.argv[1] == "quadrille":
  from quadrille import _enable
  try:
    print(_enable._mpi_of_mpi4py()[1])
  except _enable.Error as error:
    sys.exit(str(error))
ctypes.CDLL(glob.glob(os.path.join(os.getcwd(), "mpi4py", "MPI.*"))[0])
with open("/proc/self/maps") as maps:
  print(*sorted({line.split()[-1] for line in maps if sys.argv[2] in line}))
"""


def compiled(path, source, *options):
  path.parent.mkdir(parents=True, exist_ok=True)
  subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-Wl,--no-as-needed", *options, "-o", path],
                 input=source, text=True, check=True)


def library(folder, name, *options):
  sign = "int ompi_mpi_comm_world;" if ".so.40" in name else "int MPI_Init(void) { return 0; }"
  compiled(folder / name, sign, f"-Wl,-soname,{name}", *options)


class Case:
  """A stand-in in a folder: its own MPI in `own`, and another one of the same name in `other`."""

  def __init__(self, folder, name, *path):
    self.folder, self.name = folder, name
    library(folder / "own", name)
    library(folder / "other", name)
    self.module(*path)

  def module(self, *path):
    module = self.folder / "mpi4py" / ("MPI" + importlib.machinery.EXTENSION_SUFFIXES[0])
    compiled(module, "", self.folder / "own" / self.name, *path)
    (self.folder / "mpi4py" / "__init__.py").touch()

  def run(self, who, before="", **environment):
    words = [sys.executable, "-c", JUDGE, who, self.name, before]
    ended = subprocess.run(words, cwd=self.folder, text=True, capture_output=True, check=False, timeout=60, env={
        "PATH": os.environ["PATH"], "PYTHONPATH": f"{self.folder}:{PYTHON}", "PYTHONDONTWRITEBYTECODE": "1", **environment})
    return ended.returncode, ended.stdout.split(), ended.stderr.strip()


def wrong(what, case, which, before="", **environment):
  """Whether enable() takes another library than the loader, or the loader not that of folder `which`."""
  right = case.run("loader", before, **environment)
  got = case.run("quadrille", before, **environment)
  abi = "openmpi" if ".so.40" in case.name else "mpich"
  if right[1] == [str(case.folder / which / case.name)] and got[1] == [abi, *right[1]]:
    return 0
  print(f"WRONG: {what}: the loader takes {right}, enable() {got}")
  return 1


def refused(what, case, part):
  status, _, said = case.run("quadrille")
  if status == 1 and part in said:
    return 0
  print(f"WRONG: {what}: exit status {status}, {said}")
  return 1


# quadrille.version() before enable(): no MPI comes into the process.
VERSION = """
import os, sys
import quadrille
assert quadrille.version() == (1, 2, 3), quadrille.version()
from quadrille import _enable
assert "mpi4py" not in sys.modules and not [path for path in _enable.mapped() if "libmpi" in os.path.basename(path)]
assert _enable._mpi_of_mpi4py()[1] == sys.argv[1]
"""


def version_starts_mpi(case, abi):
  """Whether the version starts an MPI, or is not that of the library."""
  compiled(case.folder / "lib" / "quadrille" / "libquadrille.so.0", "int Quadrille_Version(void) { return 10203; }")
  ended = subprocess.run([sys.executable, "-c", VERSION, abi], cwd=case.folder, text=True, capture_output=True, check=False,
                         timeout=60, env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{case.folder}:{PYTHON}",
                                          "PYTHONDONTWRITEBYTECODE": "1", "QUADRILLE_PREFIX": str(case.folder)})
  if ended.returncode == 0:
    return 0
  print(f"WRONG: the version before enable(), {abi}: {ended.stderr}")
  return 1


def failures(folder):
  number = 0

  def place():
    nonlocal number
    number += 1
    return folder / str(number)

  old, new = "-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"
  count = 0
  for name in ("libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"):
    case = Case(place(), name, new, "-Wl,-rpath,$ORIGIN/nowhere:$ORIGIN/../own")
    count += wrong(f"{name} by RUNPATH", case, "own")
    count += version_starts_mpi(case, "openmpi" if ".so.40" in name else "mpich")
  # LD_LIBRARY_PATH comes before a RUNPATH and after an RPATH.
  count += wrong("LD_LIBRARY_PATH before RUNPATH", case, "other", LD_LIBRARY_PATH=str(case.folder / "other"))
  case.module(old, "-Wl,-rpath,${ORIGIN}/../own")
  count += wrong("RPATH", case, "own")
  count += wrong("RPATH before LD_LIBRARY_PATH", case, "own", LD_LIBRARY_PATH=str(case.folder / "other"))
  count += wrong("one that is there already", case, "other", before=str(case.folder / "other" / case.name))
  case.module(new, f"-Wl,-rpath,{case.folder}/own")
  count += wrong("RUNPATH without $ORIGIN", case, "own")
  # The same MPI for another machine: where a file says for which it is, stands 0.
  foreign = bytearray((case.folder / "own" / case.name).read_bytes())
  foreign[18:20] = bytes(2)
  (case.folder / "foreign").mkdir()
  (case.folder / "foreign" / case.name).write_bytes(foreign)
  case.module(new, "-Wl,-rpath,$ORIGIN/../foreign:$ORIGIN/../own")
  count += wrong("after one of another kind of machine", case, "own")
  case.module()
  count += wrong("LD_LIBRARY_PATH alone", case, "other", LD_LIBRARY_PATH=f"{case.folder}/none:{case.folder}/other")
  count += refused("none at all", case, "mpi4py's MPI cannot be loaded: libmpi_cray.so.12")
  # A part of the MPI that the library finds by the RPATH of the module alone.
  library(case.folder / "own", "libpart.so.1")
  library(case.folder / "own", case.name, f"-L{case.folder}/own", "-l:libpart.so.1")
  case.module(old, "-Wl,-rpath,$ORIGIN/../own", f"-Wl,-rpath-link,{case.folder}/own")
  count += wrong("RPATH for what the library needs", case, "own")
  # The MPI beside its part for another language.
  case = Case(place(), "libmpi.so.12", new, "-Wl,-rpath,$ORIGIN/../own")
  library(case.folder / "own", "libmpifort.so.12")
  case.module("-Wl,-rpath,$ORIGIN/../own", f"-L{case.folder}/own", "-l:libmpifort.so.12")
  count += wrong("beside libmpifort", case, "own")
  count += refused("the standard ABI", Case(place(), "libmpi_abi.so.0", "-Wl,-rpath,$ORIGIN/../own"), "cannot tell which MPI")
  count += refused("an older number", Case(place(), "libmpi.so.20", "-Wl,-rpath,$ORIGIN/../own"), "cannot tell which MPI")
  case = Case(place(), "libmpi.so.40")
  next((case.folder / "mpi4py").glob("MPI.*")).write_bytes(b"\x7fELF\2\1 and no more")
  count += refused("a broken module", case, "mpi4py's module cannot be read")
  return count


def main():
  if not shutil.which("cc"):
    print("skipped: there is no compiler")
    return SKIPPED
  with tempfile.TemporaryDirectory(prefix="enable-") as folder:
    count = failures(pathlib.Path(folder).resolve())
  print(f"{count} wrong")
  return 1 if count else 0


if __name__ == "__main__":
  sys.exit(main())
