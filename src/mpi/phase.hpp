// Where the program is between its start and its end, as far as MPI goes.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/mpi.hpp"

namespace quadrille {

enum class Phase : std::uint8_t {
  before_init,
  running,
  finalizing,  // in MPI_Finalize, whose callbacks may still call MPI
  finalized,
};

namespace detail {
inline std::atomic<bool> finalizing = false;
}  // namespace detail

// MPI_Finalize of the MPI is about to be called. Only the preload library sees that.
inline void begin_finalize() { detail::finalizing.store(true, std::memory_order_release); }

// True also when MPI_Finalize has returned.
inline bool is_finalizing() { return detail::finalizing.load(std::memory_order_acquire); }

inline Phase phase() {
  int initialized = 0, finalized = 0;
  mpi().Initialized(&initialized);
  if (initialized == 0) return Phase::before_init;
  mpi().Finalized(&finalized);
  if (finalized != 0) return Phase::finalized;
  return is_finalizing() ? Phase::finalizing : Phase::running;
}

inline bool may_call_mpi() {
  const Phase now = phase();
  return now == Phase::running || now == Phase::finalizing;
}

}  // namespace quadrille
