// The drop-in door for large counts: MPI_X_c. Both preload libraries are preloaded.
#include "door.hpp"
#include "large_arguments.hpp"

namespace quadrille::test {
#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                             \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {                       \
    return with_large<Collective::collective>(MPI_##Name##_c, QUADRILLE_ARGUMENTS_##FORM); \
  },
const Door tested = {QUADRILLE_MPI_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "dropin, large counts";
const bool can_force = false;

int force(MPI_Comm, Collective, const std::string&) { return MPI_ERR_ARG; }

}  // namespace quadrille::test
