// Functions that a program looks for by name, as not every MPI has them.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

namespace quadrille::test {

// nullptr if the MPI has neither; Open MPI 4.1 has persistent calls by the older name alone.
template <class Function>
Function* function_named(const char* name, const char* older) {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Function*>(symbol != nullptr ? symbol : dlsym(RTLD_DEFAULT, older));
}

using UniformInit = int(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
inline UniformInit* alltoall_init() { return function_named<UniformInit>("MPI_Alltoall_init", "MPIX_Alltoall_init"); }
inline UniformInit* allgather_init() {
  return function_named<UniformInit>("MPI_Allgather_init", "MPIX_Allgather_init");
}

}  // namespace quadrille::test
