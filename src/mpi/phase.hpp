// Where the program is between its start and its end, as far as MPI goes.
#pragma once

#include <atomic>

#include "mpi/mpi.hpp"

namespace quadrille {

namespace detail {
inline std::atomic<bool> finalizing = false;
}  // namespace detail

// MPI_Finalize of the MPI is about to be called. Only the preload library sees that.
inline void begin_finalize() { detail::finalizing.store(true, std::memory_order_release); }

// True also when MPI_Finalize has returned.
inline bool is_finalizing() { return detail::finalizing.load(std::memory_order_acquire); }

// From MPI_Init on until MPI_Finalize has returned: its callbacks may still call MPI.
inline bool may_call_mpi() {
  int initialized = 0, finalized = 0;
  mpi().Initialized(&initialized);
  if (initialized == 0) return false;
  mpi().Finalized(&finalized);
  return finalized == 0;
}

}  // namespace quadrille
