// A ring of all ranks, or a line.
#pragma once

#include <mpi.h>

namespace quadrille::test {

inline MPI_Comm ring_of_world(int periodic = 1) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  return ring;
}

}  // namespace quadrille::test
