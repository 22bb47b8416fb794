// Persistent calls, started twice where that gives the same again.
#include "door.hpp"
#include "request_door.hpp"

namespace quadrille::test {

#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                            \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {                      \
    const auto make = [&](Quadrille_Request* request) {                                   \
      return Quadrille_##Name##_init(QUADRILLE_ARGUMENTS_##FORM, MPI_INFO_NULL, request); \
    };                                                                                    \
    return complete_persistent(make, sendbuf == MPI_IN_PLACE ? 1 : 2);                    \
  },
const Door tested = {QUADRILLE_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "persistent";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(), algorithm.c_str());
}

}  // namespace quadrille::test
