// The two ways to call a collective: through the door that is tested, and the MPI's own function.
#pragma once

#include <mpi.h>

#include <string>

#include "choose/registry.hpp"

namespace quadrille::test {

struct Door {
  decltype(&MPI_Alltoall) alltoall;
  decltype(&MPI_Alltoallv) alltoallv;
  decltype(&MPI_Alltoallw) alltoallw;
  decltype(&MPI_Allgather) allgather;
  decltype(&MPI_Allgatherv) allgatherv;
};

// The door under test: Quadrille_X in one program, the interposed MPI_X in the other.
extern const Door tested;
extern const char* const door_name;

// Whether an algorithm can be forced through this door.
extern const bool can_force;
// Forces an algorithm on a communicator; "" lets Quadrille choose. Returns an MPI error code.
int force(MPI_Comm comm, Collective collective, const std::string& algorithm);

// The MPI's own functions, read from the MPI library itself, so that no preload library is in the
// way. Ends the program with a message if the MPI library is not found.
const Door& native();

// The function `name` of the MPI library itself.
void* native_symbol(const char* name);

}  // namespace quadrille::test
