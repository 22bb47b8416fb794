"""Isomorphic neighbourhoods, and settings of a communicator."""

import ctypes

from quadrille import _library


def iso_neighborhood(comm, offsets, check=False, iso_sizes=False):
  """Creates a communicator whose ranks all have neighbours at the same offsets (Quadrille_Iso_neighborhood_create).

    comm       a Cartesian communicator of mpi4py
    offsets    offsets, with an entry for each dimension: block i goes to the process at +offsets[i] and comes from the
               process at -offsets[i]. The same list on all ranks
    check      verify that all ranks gave the same list
    iso_sizes  assert that block i has the same size on all ranks in v and w calls, which may then be combined, too
  Returns an MPI.Distgraphcomm, for the neighbour collectives here and mpi4py's own. Free it with Free().
  """
  library = _library.library()
  MPI = library.MPI
  dimensions = comm.Get_dim() if hasattr(comm, "Get_dim") else None
  rows = [[int(entry) for entry in (row if hasattr(row, "__len__") else [row])] for row in offsets]
  if dimensions is not None and any(len(row) != dimensions for row in rows):
    raise ValueError(f"quadrille.iso_neighborhood: each offset needs {dimensions} entries, one for each dimension")
  flat = [entry for row in rows for entry in row]
  array = (ctypes.c_int * max(len(flat), 1))(*flat)
  info = MPI.Info.Create()
  try:
    if check:
      info.Set("quadrille_check", "true")
    if iso_sizes:
      info.Set("quadrille_iso_sizes", "true")
    made = MPI.Distgraphcomm()
    place = ctypes.c_void_p(MPI._addressof(made))  # pylint: disable=protected-access
    library.call("Iso_neighborhood_create", library.of(comm), ctypes.c_int(len(rows)), array, library.of(info), place)
  finally:
    info.Free()
  return made


def set_iso_sizes(comm, asserted=True):
  """Asserts that block i has the same size on all ranks in v and w calls on comm; False withdraws the assertion."""
  library = _library.library()
  library.call("Set_iso_sizes", library.of(comm), ctypes.c_int(bool(asserted)))


def set_algorithm(comm, collective, algorithm):
  """Forces an algorithm of `quadrille list` for a collective on comm; None: automatic. Collective."""
  library = _library.library()
  library.call("Set_algorithm", library.of(comm), collective.encode(),
               None if algorithm is None else algorithm.encode())
