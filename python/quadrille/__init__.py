"""Quadrille: MPI's all-to-all family, fast on any MPI.

Serve mpi4py's own methods; enable() must precede the import:

  import quadrille
  quadrille.enable()
  from mpi4py import MPI

Call by name, with the arguments of mpi4py's own methods:

  quadrille.alltoall(send, recv, comm)
  with quadrille.alltoall_init(send, recv, comm) as request:
    request.start()
    request.wait()

Measure: quadrille.plot(quadrille.bench("alltoall", ranks=4)).
"""

import importlib

__version__ = "0.1.0"

# The modules of the names. Modules load on first use, so that the command `quadrille` and enable() start quickly.
_MODULES = {
    "_errors": ("Error", "TooLate"),
    "_enable": ("enable", "enabled"),
    "_collectives": (
        "alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
        "neighbor_alltoallw", "neighbor_allgather", "neighbor_allgatherv", "ialltoall", "ialltoallv", "ialltoallw",
        "iallgather", "iallgatherv", "ineighbor_alltoall", "ineighbor_alltoallv", "ineighbor_alltoallw",
        "ineighbor_allgather", "ineighbor_allgatherv", "alltoall_init", "alltoallv_init", "alltoallw_init",
        "allgather_init", "allgatherv_init", "neighbor_alltoall_init", "neighbor_alltoallv_init",
        "neighbor_alltoallw_init", "neighbor_allgather_init", "neighbor_allgatherv_init", "neighbor_allgatherw",
        "ineighbor_allgatherw", "neighbor_allgatherw_init"),
    "_enqueue": ("alltoall_enqueue", "alltoallv_enqueue", "alltoallw_enqueue", "enqueue_status"),
    "_exchange": ("exchange", "Received"),
    "_requests": ("Request", "startall", "waitall", "waitany", "testall", "testany"),
    "_memory": ("alloc",),
    "_neighborhood": ("iso_neighborhood", "set_iso_sizes", "set_algorithm"),
    "_library": ("version",),
    "_places": ("prefix",),
    "_bench": ("bench", "plot"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name):
  if name not in _HOME:
    raise AttributeError(f"module 'quadrille' has no attribute '{name}'")
  value = getattr(importlib.import_module("quadrille." + _HOME[name]), name)
  globals()[name] = value
  return value


def __dir__():
  return sorted([*globals(), *_HOME])
