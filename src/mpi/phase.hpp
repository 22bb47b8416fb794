// Where the program is between its start and its end, as far as MPI goes.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille {

// From MPI_Init on until MPI_Finalize has returned: its callbacks may still call MPI.
inline bool may_call_mpi() {
  int initialized = 0, finalized = 0;
  mpi().Initialized(&initialized);
  if (initialized == 0) return false;
  mpi().Finalized(&finalized);
  return finalized == 0;
}

}  // namespace quadrille
