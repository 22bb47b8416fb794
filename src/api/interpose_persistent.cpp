// The drop-in door for persistent collectives (MPI 4): libquadrille_mpi_persistent.so and, for the names that they have
// in Open MPI 4.1, libquadrille_mpix_persistent.so. Each function jumps into the preload library. As the doors for
// large counts (interpose_large.cpp), they are loaded only where the MPI has these functions.
#include "abi/functions.hpp"
#include "api/next_added.hpp"
#include "collective/signatures.hpp"
#include "mpi/words.hpp"

using namespace quadrille;

extern "C" {

#define QUADRILLE_INIT_PARAMETERS(FORM, Displacement) \
  QUADRILLE_WORDS_##FORM(int, Displacement), MpiInfo info, MpiRequest *request
#define QUADRILLE_INIT_DOOR(PREFIX, Name, FORM, Displacement)                                \
  QUADRILLE_ADDED_DOOR(PREFIX, Name##_init, (QUADRILLE_INIT_PARAMETERS(FORM, Displacement)), \
                       QUADRILLE_ARGUMENTS_##FORM, info, request)
#if defined(QUADRILLE_NAMED_MPIX)
#define QUADRILLE_INIT_DOORS(...) QUADRILLE_INIT_DOOR(MPIX, __VA_ARGS__) QUADRILLE_INIT_DOOR(PMPIX, __VA_ARGS__)
#else
#define QUADRILLE_INIT_DOORS(...) QUADRILLE_INIT_DOOR(MPI, __VA_ARGS__) QUADRILLE_INIT_DOOR(PMPI, __VA_ARGS__)
#endif

#define QUADRILLE_INTERPOSE_PERSISTENT(collective, Name, FORM, Displacement)                                 \
  int quadrille_##Name##_init(QUADRILLE_INIT_PARAMETERS(FORM, Displacement),                                 \
                              int (*next)(QUADRILLE_INIT_PARAMETERS(FORM, Displacement)), const void* site); \
  QUADRILLE_INIT_DOORS(Name, FORM, Displacement)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_PERSISTENT)

}  // extern "C"
