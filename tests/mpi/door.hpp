// The ways to call a collective: through the door that is tested, and the MPI's own function.
#pragma once

#include <mpi.h>

#include <string>

#include "collective/collective.hpp"
#include "native_signatures.hpp"

namespace quadrille::test {

// A function for each collective, called as the blocking one is; null where there is none.
struct Door {
#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement) \
  int (*collective)(QUADRILLE_PARAMETERS_##FORM(int, Displacement)) = nullptr;
  QUADRILLE_COLLECTIVES(QUADRILLE_MEMBER)
#undef QUADRILLE_MEMBER
};

#define QUADRILLE_FUNCTION(collective, ...) \
  inline auto function_of(const Door& door, Of<Collective::collective>) { return door.collective; }
QUADRILLE_COLLECTIVES(QUADRILLE_FUNCTION)
#undef QUADRILLE_FUNCTION

using CallSide = SideArguments<MPI_Datatype, const MPI_Datatype*, MPI_Aint>;

// Of each side what the argument list asks for.
inline int call(const Door& door, Collective collective, const CallSide& send, const CallSide& recv, MPI_Comm comm) {
  const auto call_one = [&](auto one) { return call_with<one>(function_of(door, one), send, recv, comm); };
  return do_as(collective, call_one, MPI_ERR_INTERN);
}

// The door under test. A door (door_*.cpp) says whose functions these are.
extern const Door tested;
extern const char* const door_name;

// Whether an algorithm can be forced through this door.
extern const bool can_force;
// Forces an algorithm on a communicator; "" lets Quadrille choose. Returns an MPI error code.
int force(MPI_Comm comm, Collective collective, const std::string& algorithm);

// The MPI's own functions, read from the MPI library itself, so that no preload library is in the
// way. Ends the program with a message if the MPI library is not found.
const Door& native();

// The function `name` of the MPI library itself, which begins with PMPI_.
void* native_symbol(const char* name);

}  // namespace quadrille::test
