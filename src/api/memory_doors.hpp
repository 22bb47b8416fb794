// Memory that a program asks for by name: Quadrille_Alloc, and the interposed MPI_Alloc_mem.
#pragma once

#include <mpi.h>

namespace quadrille::api {

// Quadrille_Alloc and Quadrille_Free.
int allocate(MPI_Aint bytes, void** base);
int release(void* base);

// MPI_Alloc_mem and MPI_Free_mem: from the heap if it is active, else the MPI's.
int alloc_mem(MPI_Aint bytes, MPI_Info info, void* base);
int free_mem(void* base);

}  // namespace quadrille::api
