#!/usr/bin/env python3
"""Writes libraries to link to in place of the system's glibc, so that the result also runs with an older one.

  stubs.py --compiler CC --glibc 2.28 --out FOLDER FILES.o...

A linker binds each symbol to its newest version. These stubs are shared libraries without code that have the names,
types and versions of the system's own, but no version newer than the one asked for: a program that is linked to them
asks for nothing that the older glibc does not have, and one that needs a newer function is not linked at all.

  libc.so    a linker script: the stub of libc.so.6, what glibc 2.34 and newer have in libc.so.6 and older ones in
             libpthread.so.0 and libdl.so.2, then FILES.o, which replace newer functions, and the system's static part
  libm.so    the stub of libm.so.6

Versions of symbols are never taken away from a glibc. That a name has a version of 2.28 or older today is why glibc
2.28 has it.
"""

import argparse
import pathlib
import re
import subprocess

LOADERS = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")


def numbers(version):
  return tuple(int(part) for part in version.split("."))


def symbols_of(library, newest):
  """{name: (version, type, size)}, the newest version of each name that is not newer than `newest`."""
  text = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True,
                        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout
  found = {}
  for line in text.splitlines():
    match = re.match(r"\s*\d+: [0-9a-f]+ +(\d+) (FUNC|IFUNC|OBJECT|NOTYPE|TLS) +(?:GLOBAL|WEAK) +DEFAULT +"
                     r"(?!UND|ABS)\S+ ([A-Za-z_]\w*)@@?GLIBC_([0-9.]+)$", line)
    if not match:
      continue
    size, kind, name, version = match.groups()
    if numbers(version) > newest:
      continue
    if name not in found or numbers(version) > numbers(found[name][0]):
      found[name] = (version, "object" if kind == "OBJECT" else "tls_object" if kind == "TLS" else "function",
                     int(size))
  return found


def build(compiler, folder, soname, symbols):
  """A shared library with this name inside, and nothing behind its symbols."""
  lines = []
  for name, (version, kind, size) in sorted(symbols.items()):
    section = {"object": ".data", "tls_object": '.tdata,"awT",@progbits', "function": ".text"}[kind]
    lines += [f".section {section}" if kind == "tls_object" else section, f".globl {name}",
                  f".type {name}, %{kind}", f".symver {name}, {name}@@@GLIBC_{version}", f"{name}:",
                  f".zero {max(size, 8) if kind != 'function' else 4}", f".size {name}, {size}"]
  source = folder / f"{soname}.s"
  source.write_text("\n".join(lines + ['.section .note.GNU-stack,"",%progbits', ""]))
  versions = folder / f"{soname}.map"
  names = sorted({version for version, _, _ in symbols.values()}, key=numbers)
  versions.write_text("".join(f"GLIBC_{name} {{ }};\n" for name in names) or "{ local: *; };\n")
  subprocess.run([*compiler, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script,{versions}",
                  "-o", str(folder / soname), str(source)], check=True)


def file_of(compiler, name):
  path = subprocess.run([*compiler, f"-print-file-name={name}"], check=True, capture_output=True,
                        text=True).stdout.strip()
  return path if "/" in path else None


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--compiler", required=True)
  parser.add_argument("--glibc", required=True)
  parser.add_argument("--out", type=pathlib.Path, required=True)
  parser.add_argument("objects", nargs="*")
  options = parser.parse_args()
  compiler, newest = options.compiler.split(), numbers(options.glibc)
  options.out.mkdir(parents=True, exist_ok=True)

  loader = next(name for name in LOADERS if file_of(compiler, name))
  for soname in ("libc.so.6", "libm.so.6", loader):
    symbols = symbols_of(file_of(compiler, soname), newest)
    if not symbols:
      raise SystemExit(f"{soname} has no symbol of glibc {options.glibc} or older")
    build(compiler, options.out, soname, symbols)
  for soname in ("libpthread.so.0", "libdl.so.2"):
    build(compiler, options.out, soname, {})

  parts = [options.out / "libc.so.6", options.out / "libpthread.so.0", options.out / "libdl.so.2",
           *options.objects, file_of(compiler, "libc_nonshared.a")]
  (options.out / "libc.so").write_text(
      f"GROUP ( {' '.join(map(str, parts))} AS_NEEDED ( {options.out / loader} ) )\n")
  (options.out / "libm.so").write_text(f"INPUT ( {options.out / 'libm.so.6'} )\n")


if __name__ == "__main__":
  main()
