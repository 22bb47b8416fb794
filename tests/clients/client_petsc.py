"""PETSc exchanges the halos of a ring of ranks by neighbour collectives (PetscSF of type neighbor), with petsc4py. Prints
what came as sums, of which all are also checked."""
import sys

import petsc4py

petsc4py.init(['client_petsc.py'])

import numpy
from mpi4py import MPI
from petsc4py import PETSc

comm = PETSc.COMM_WORLD
rank, size = comm.getRank(), comm.getSize()
wrong, total = 0, 0

for length in (1, 40, 5000):
  # A rank's roots are its own cells; its leaves are the cells of both neighbours, in the opposite order.
  neighbors = [(rank - 1) % size, (rank + 1) % size]
  remote = [(neighbor, cell) for neighbor in neighbors for cell in reversed(range(length))]
  sf = PETSc.SF().create(comm)
  sf.setType('neighbor')
  sf.setGraph(length, None, numpy.array(remote, dtype=PETSc.IntType))
  sf.setUp()
  for turn in range(20):
    cells = numpy.arange(length, dtype='d') + 1000.0 * rank + 100000.0 * turn
    halo = numpy.full(2 * length, -1.0)
    sf.bcastBegin(MPI.DOUBLE, cells, halo, MPI.REPLACE)
    sf.bcastEnd(MPI.DOUBLE, cells, halo, MPI.REPLACE)
    wanted = numpy.concatenate([numpy.arange(length, dtype='d')[::-1] + 1000.0 * n + 100000.0 * turn for n in neighbors])
    wrong += int((halo != wanted).sum())
    total += int(halo.sum())
    # Back: each cell gets what its two neighbours hold of it.
    sums = numpy.zeros(length)
    sf.reduceBegin(MPI.DOUBLE, halo, sums, MPI.SUM)
    sf.reduceEnd(MPI.DOUBLE, halo, sums, MPI.SUM)
    wrong += int((sums != 2 * cells).sum())
    total += int(sums.sum())
  sf.destroy()

wrong, total = MPI.COMM_WORLD.allreduce(wrong), MPI.COMM_WORLD.allreduce(total)
if rank == 0:
  print(f'PETSc {".".join(map(str, PETSc.Sys.getVersion()))}, {size} ranks: {wrong} wrong values, {total}')
sys.exit(0 if wrong == 0 else 1)
