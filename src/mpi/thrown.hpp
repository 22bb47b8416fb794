// No exception leaves a door, or a function that an MPI calls back: the callers are C and Fortran.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>

namespace quadrille {

// Does `work`. Returns what it threw as an MPI error code; MPI_SUCCESS: nothing. Only what the library throws is
// caught: a thread that is cancelled unwinds, too.
template <class Work>
int thrown_by(Work&& work) {
  try {
    work();
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (const std::exception&) {
    return MPI_ERR_OTHER;
  }
}

}  // namespace quadrille
