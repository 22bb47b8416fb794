#!/usr/bin/env python3
"""`wheel.py --check` finds what it is for: wheels with a tag that is too old, and files that need more than glibc."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

CHECK = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "wheel.py"


def compiled(folder, name, *options):
  source = folder / "a.c"
  source.write_text("#define _GNU_SOURCE\n#include <stdlib.h>\n#include <math.h>\n"
                    "int f(void) { return abs(-1); }\ndouble g(double x) { return exp(x); }\n"
                    "#ifdef CALLS\nvoid quadrille_none(void);\nvoid h(void) { quadrille_none(); }\n#endif\n")
  subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", *options, "-o", folder / name, source, "-lm"], check=True)
  return folder / name


def said_of(folder, tag, library):
  wheel = folder / f"quadrille-0.1.0-py3-none-manylinux_{tag}.whl"
  with zipfile.ZipFile(wheel, "w") as archive:
    archive.write(library, "quadrille/lib/x.so")
  ended = subprocess.run([CHECK, "--check", wheel], capture_output=True, text=True, check=False)
  return ended.returncode, ended.stdout + ended.stderr


def main():
  machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
  if not shutil.which("cc"):
    print("skipped: there is no compiler")
    return 0
  failures = 0
  with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    plain = compiled(folder, "plain.so")  # exp has a version of 2.29
    other = compiled(folder, "libother.so", "-Wl,-soname,libother.so.3")
    linked = compiled(folder, "linked.so", "-Wl,--no-as-needed", f"-L{folder}", "-lother")
    path = compiled(folder, "path.so", "-Wl,-rpath,/somewhere")
    for tag, library, status, part in (
        (f"2_29_{machine}", plain, 0, "needs glibc 2.29 and nothing else"), (f"2_35_{machine}", plain, 0, "2.29"),
        (f"2_28_{machine}", plain, 1, "its files say py3-none-manylinux_2_29"),
        ("2_35_sparc", plain, 1, "its files say"), (f"2_35_{machine}", linked, 1, "needs libother.so.3"),
        (f"2_35_{machine}", path, 1, "RUNPATH /somewhere")):
      code, text = said_of(folder, tag, library)
      if code != status or part not in text:
        failures += 1
        print(f"WRONG: {library.name} as {tag}: exit status {code}, {text}")
  print(f"{failures} wrong")
  return 1 if failures else 0


if __name__ == "__main__":
  sys.exit(main())
