// Where the program is between its start and its end, as far as MPI goes, and the threads that it may have there.
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

// The level of threads that the MPI has provided.
inline int thread_level(int unless_told) {
  static constinit FirstAnswer<int> level(-1);
  const int told = level.get([] {
    int provided = -1;
    return mpi().Query_thread(&provided) == mpi_success ? provided : -1;
  });
  return told < 0 ? unless_told : told;
}

}  // namespace quadrille
