// The explicit door: Quadrille_X, from libquadrille.so.
#include <quadrille.h>

#include "door.hpp"

namespace quadrille::test {

#define QUADRILLE_MEMBER(collective, Name, ...) .collective = &Quadrille_##Name,
const Door tested = {QUADRILLE_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "api";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(), algorithm.c_str());
}

}  // namespace quadrille::test
