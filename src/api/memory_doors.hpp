// Memory that a program asks for by name, by the interposed MPI_Alloc_mem. Quadrille_Alloc is in the same file.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille::api {

// MPI_Alloc_mem and MPI_Free_mem: from the heap if it is active, else by `next`.
int alloc_mem(MpiAint bytes, MpiInfo info, void* base, decltype(Mpi::Alloc_mem) next);
int free_mem(void* base, decltype(Mpi::Free_mem) next);

}  // namespace quadrille::api
