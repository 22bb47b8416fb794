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

// The names that begin with a P: see interpose.cpp.
bool quadrille_is_in_the_mpi(const void* site);

#define QUADRILLE_INTERPOSE_INIT(PREFIX, is_the_mpis, Name, FORM, Displacement)                                       \
  QUADRILLE_EXPORT int PREFIX##_##Name##_init(QUADRILLE_INIT_PARAMETERS(FORM, Displacement)) {                        \
    const auto next = QUADRILLE_NEXT_ADDED(#PREFIX "_" #Name "_init", QUADRILLE_INIT_PARAMETERS(FORM, Displacement)); \
    const void* const site = __builtin_return_address(0);                                                             \
    if (next != nullptr && (is_the_mpis)) return next(QUADRILLE_ARGUMENTS_##FORM, info, request);                     \
    return quadrille_##Name##_init(QUADRILLE_ARGUMENTS_##FORM, info, request, next, site);                            \
  }
#if defined(QUADRILLE_NAMED_MPIX)
#define QUADRILLE_INTERPOSE_NAMES(...)               \
  QUADRILLE_INTERPOSE_INIT(MPIX, false, __VA_ARGS__) \
  QUADRILLE_INTERPOSE_INIT(PMPIX, quadrille_is_in_the_mpi(site), __VA_ARGS__)
#else
#define QUADRILLE_INTERPOSE_NAMES(...)              \
  QUADRILLE_INTERPOSE_INIT(MPI, false, __VA_ARGS__) \
  QUADRILLE_INTERPOSE_INIT(PMPI, quadrille_is_in_the_mpi(site), __VA_ARGS__)
#endif

#define QUADRILLE_INTERPOSE_PERSISTENT(collective, Name, FORM, Displacement)                                 \
  int quadrille_##Name##_init(QUADRILLE_INIT_PARAMETERS(FORM, Displacement),                                 \
                              int (*next)(QUADRILLE_INIT_PARAMETERS(FORM, Displacement)), const void* site); \
  QUADRILLE_INTERPOSE_NAMES(Name, FORM, Displacement)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_PERSISTENT)

}  // extern "C"
