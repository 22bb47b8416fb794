// Nonblocking calls, completed at once.
#include "door.hpp"
#include "request_door.hpp"

namespace quadrille::test {

#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                                                     \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {                                               \
    return complete(                                                                                               \
        [&](Quadrille_Request* request) { return Quadrille_I##collective(QUADRILLE_ARGUMENTS_##FORM, request); }); \
  },
const Door tested = {QUADRILLE_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "started";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(), algorithm.c_str());
}

}  // namespace quadrille::test
