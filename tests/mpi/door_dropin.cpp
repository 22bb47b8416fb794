// The drop-in door: MPI_X, as an unmodified program calls it. libquadrille_mpi.so is preloaded.
#include "door.hpp"

namespace quadrille::test {

#define QUADRILLE_MEMBER(collective, Name, ...) .collective = &MPI_##Name,
const Door tested = {QUADRILLE_MPI_COLLECTIVES(QUADRILLE_MEMBER)};
const char* const door_name = "dropin";
const bool can_force = false;

int force(MPI_Comm, Collective, const std::string&) { return MPI_ERR_ARG; }

}  // namespace quadrille::test
