#pragma once

#include <mpi.h>

namespace quadrille::test {

// Collective over MPI_COMM_WORLD: do all ranks have the same number?
inline bool is_same_on_all(int mine) {
  const int both[] = {mine, -mine};
  int most[2];
  MPI_Allreduce(both, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return most[0] == -most[1];
}

}  // namespace quadrille::test
