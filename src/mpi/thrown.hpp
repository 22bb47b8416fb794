// No exception leaves a door, or a function that an MPI calls back: the callers are C and Fortran.
#pragma once

#include <exception>
#include <new>

#include "mpi/mpi.hpp"

namespace quadrille {

// Does `work`. Returns what it threw as an MPI error code; MPI_SUCCESS: nothing. Only what the library throws is
// caught: a thread that is cancelled unwinds, too.
template <class Work>
int thrown_by(Work&& work) {
  try {
    work();
    return mpi_success;
  } catch (const std::bad_alloc&) {
    return mpi().err_no_mem;
  } catch (const std::exception&) {
    return mpi().err_other;
  }
}

}  // namespace quadrille
