// The explicit door: Quadrille_X, from libquadrille.so.
#include <quadrille.h>

#include "door.hpp"

namespace quadrille::test {

const Door tested = {&Quadrille_Alltoall, &Quadrille_Alltoallv, &Quadrille_Alltoallw,
                     &Quadrille_Allgather, &Quadrille_Allgatherv};
const char* const door_name = "api";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(),
                                 algorithm.c_str());
}

}  // namespace quadrille::test
