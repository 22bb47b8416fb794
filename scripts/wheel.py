#!/usr/bin/env python3
"""Makes the Python wheel of what `cmake --install` put under a prefix.

  wheel.py --tree PREFIX --out FOLDER         writes FOLDER/quadrille-VERSION-py3-none-manylinux_X_Y_MACHINE.whl
  wheel.py --check FILE.whl                   whether its tag is true of its libraries and programs

The tag is what readelf says: the newest glibc of which one of the files wants a symbol. Nothing but glibc may be
needed. A wheel has no symbolic links, so the library lies in it under the name that programs look for when they
start, and the name that the linker looks for is a line of text that leads there.
"""

import argparse
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# PEP 600: the parts of glibc, and the loader.
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2",
         "ld-linux-aarch64.so.1"}
OWN = {"libquadrille_mpi.so"}
# What is linked into the libraries or the programs; Debian keeps the licences here.
INSIDE = ("libhwloc-dev", "libfmt-dev", "libcli11-dev", "libhwy-dev", "nlohmann-json3-dev", "libmemkind-dev")
PROGRAMS = ("quadrille", "quadrille-lab")
# Of the same age whoever makes it: one tree gives one wheel, byte for byte.
AGE = (2020, 1, 1, 0, 0, 0)


def version():
  text = (ROOT / "CMakeLists.txt").read_text()
  return re.search(r"project\(quadrille VERSION ([0-9.]+)", text).group(1)


DATA = f"quadrille-{version()}.data/data"


def numbers(text):
  return tuple(int(part) for part in text.split("."))


def readelf(path, *options):
  return subprocess.run(["readelf", "--wide", *options, path], check=True, capture_output=True, text=True,
                        env={"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"}).stdout


def needs(path):
  """The newest glibc that an ELF file asks for, and a list of what else it needs."""
  versions = re.findall(r"Name: (\w+?)_?([0-9.]*)  ", readelf(path, "--version-info"))
  newest = max((numbers(number) for name, number in versions if name == "GLIBC"), default=(0,))
  other = {f"{name}_{number}" for name, number in versions if name != "GLIBC"}
  dynamic = readelf(path, "--dynamic")
  other |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) - GLIBC - OWN
  other |= {f"RUNPATH {path}" for path in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic) if path != "$ORIGIN"}
  return newest, sorted(other)


def is_elf(path):
  with open(path, "rb") as file:
    return file.read(4) == b"\x7fELF"


def tag_of(files):
  """The wheel's tag, of all its ELF files; SystemExit if one needs more than glibc."""
  newest = (0,)
  for path in files:
    if not is_elf(path):
      continue
    glibc, other = needs(path)
    if other:
      raise SystemExit(f"wheel: {path} needs {', '.join(other)}; only glibc may be needed")
    newest = max(newest, glibc)
  if len(newest) < 2:
    raise SystemExit("wheel: there is no program or library")
  return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


def digest(data):
  return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def contents(tree):
  """[(name in the wheel, file or text, is a program)]"""
  entries = []
  for path in sorted((ROOT / "python" / "quadrille").rglob("*")):
    if path.is_file() and path.suffix in (".py", ".typed"):
      entries.append((f"quadrille/{path.relative_to(ROOT / 'python' / 'quadrille')}", path, False))
  entries += [(f"quadrille/bin/{name}", tree / "bin" / name, True) for name in PROGRAMS]
  for path in sorted((tree / "lib" / "quadrille").iterdir()):
    if path.is_symlink():
      continue
    name = path.name
    if name.startswith("libquadrille.so."):
      name = "libquadrille.so.0"
      entries.append(("quadrille/lib/quadrille/libquadrille.so", "INPUT(libquadrille.so.0)\n", False))
    entries.append((f"quadrille/lib/quadrille/{name}", path, True))
  # pip puts what is in DATA beside the folder bin of the environment. man finds its pages there. The documents are left
  # out, as their links lead to the sources, and so is the modulefile, which has a folder bin of its own in mind.
  for folder, target in (("include", "quadrille"), ("lib/cmake", "quadrille"), ("lib/pkgconfig", "quadrille"),
                         ("share/man", DATA), ("share/bash-completion", DATA), ("share/zsh", DATA)):
    for path in sorted((tree / folder).rglob("*")):
      if path.is_file():
        entries.append((f"{target}/{path.relative_to(tree)}", path, False))
  entries.append(("quadrille/share/doc/quadrille/LICENSE", ROOT / "LICENSE", False))
  for package in INSIDE:
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    if path.is_file():
      entries.append((f"quadrille/share/doc/quadrille/{package}-copyright", path, False))
  return entries


def check_abis(tree):
  """A wheel is for every MPI: SystemExit if the tree was built without the header of one. That of the MPI standard's ABI comes
  with MPICH 5 alone, which a machine without the package index may lack: then the wheel is made, and says what it lacks."""
  abis = re.search(r"^abis=(.*)$", (tree / "lib" / "pkgconfig" / "quadrille.pc").read_text(), re.M)[1].split()
  for abi in ("openmpi", "mpich", "standard"):
    if abi not in abis:
      lack = f"wheel: {tree} was built without a header of the ABI {abi}; make setup installs one"
      if abi != "standard":
        raise SystemExit(lack)
      print(lack, file=sys.stderr)


def make(tree, out):
  check_abis(tree)
  entries = contents(tree)
  tag = tag_of([source for _, source, _ in entries if isinstance(source, pathlib.Path)])
  info = f"quadrille-{version()}.dist-info"
  entries += [
      (f"{info}/METADATA", f"""Metadata-Version: 2.1
Name: quadrille
Version: {version()}
Summary: MPI's all-to-all family, fast on any MPI
License: BSD-3-Clause
Keywords: MPI,alltoall,collectives,HPC
Requires-Python: >=3.8
Provides-Extra: mpi4py
Requires-Dist: mpi4py>=3.1; extra == "mpi4py"
Provides-Extra: plot
Requires-Dist: pandas; extra == "plot"
Requires-Dist: matplotlib; extra == "plot"
Description-Content-Type: text/markdown

{(ROOT / "python" / "README.md").read_text()}""", False),
      (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: quadrille\nRoot-Is-Purelib: false\nTag: {tag}\n", False),
      (f"{info}/entry_points.txt",
       "[console_scripts]\nquadrille = quadrille._command:main\nquadrille-lab = quadrille._command:lab\n", False),
      (f"{info}/LICENSE", ROOT / "LICENSE", False),
  ]
  out.mkdir(parents=True, exist_ok=True)
  for old in out.glob("quadrille-*.whl"):
    old.unlink()
  wheel = out / f"quadrille-{version()}-{tag}.whl"
  record = []
  with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
    def add(name, data, program=False):
      entry = zipfile.ZipInfo(name, AGE)
      entry.external_attr = (0o100755 if program else 0o100644) << 16
      entry.compress_type = zipfile.ZIP_DEFLATED
      archive.writestr(entry, data)

    for name, source, program in entries:
      data = source.encode() if isinstance(source, str) else source.read_bytes()
      add(name, data, program)
      record.append(f"{name},{digest(data)},{len(data)}")
    add(f"{info}/RECORD", "\n".join(record + [f"{info}/RECORD,,", ""]))
  print(wheel)


def check(wheel):
  """Reads the files of the wheel itself, and the name of the wheel."""
  with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
    archive.extractall(folder)
    true = tag_of([path for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()])
  said = wheel.stem.split("-", 2)[2]
  form = r"py3-none-manylinux_(\d+)_(\d+)_(\w+)"
  said_glibc, true_glibc = re.fullmatch(form, said), re.fullmatch(form, true)
  if not said_glibc or said_glibc[3] != true_glibc[3] or (
      tuple(map(int, said_glibc.groups()[:2])) < tuple(map(int, true_glibc.groups()[:2]))):
    raise SystemExit(f"wheel: the tag says {said}, its files say {true}")
  print(f"wheel: {wheel.name} needs glibc {true_glibc[1]}.{true_glibc[2]} and nothing else")


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--tree", type=pathlib.Path)
  parser.add_argument("--out", type=pathlib.Path)
  parser.add_argument("--check", type=pathlib.Path)
  options = parser.parse_args()
  if options.check:
    check(options.check)
  elif options.tree and options.out:
    make(options.tree, options.out)
  else:
    parser.error("--tree and --out, or --check")


if __name__ == "__main__":
  sys.exit(main())
