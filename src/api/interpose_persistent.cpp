// The drop-in door for persistent collectives (MPI 4): libquadrille_mpi_persistent.so and, for the names that they have
// in Open MPI 4.1, libquadrille_mpix_persistent.so. Each function jumps into the preload library. As the doors for
// large counts (interpose_large.cpp), they are loaded only where the MPI has these functions.
#include <mpi.h>

#include "api/next_added.hpp"
#include "collective/signatures.hpp"

#define QUADRILLE_EXPORT __attribute__((visibility("default")))

extern "C" {

#define QUADRILLE_INIT_PARAMETERS(FORM, Count, Displacement) \
  QUADRILLE_PARAMETERS_##FORM(Count, Displacement), MPI_Info info, MPI_Request *request

#define QUADRILLE_INTERPOSE_INIT(PREFIX, Name, FORM, Displacement)                                           \
  QUADRILLE_EXPORT int PREFIX##_##Name##_init(QUADRILLE_INIT_PARAMETERS(FORM, int, Displacement)) {          \
    return quadrille_##Name##_init(                                                                          \
        QUADRILLE_ARGUMENTS_##FORM, info, request,                                                           \
        QUADRILLE_NEXT_ADDED(#PREFIX "_" #Name "_init", QUADRILLE_INIT_PARAMETERS(FORM, int, Displacement)), \
        __builtin_return_address(0));                                                                        \
  }
// Open MPI's Fortran calls the names that begin with a P, see interpose.cpp.
#if defined(QUADRILLE_NAMED_MPIX)
#define QUADRILLE_INTERPOSE_NAMES(...) \
  QUADRILLE_INTERPOSE_INIT(MPIX, __VA_ARGS__) QUADRILLE_INTERPOSE_INIT(PMPIX, __VA_ARGS__)
#elif defined(QUADRILLE_ABI_OPENMPI)
#define QUADRILLE_INTERPOSE_NAMES(...) \
  QUADRILLE_INTERPOSE_INIT(MPI, __VA_ARGS__) QUADRILLE_INTERPOSE_INIT(PMPI, __VA_ARGS__)
#else
#define QUADRILLE_INTERPOSE_NAMES(...) QUADRILLE_INTERPOSE_INIT(MPI, __VA_ARGS__)
#endif

#define QUADRILLE_INTERPOSE_PERSISTENT(collective, Name, FORM, Displacement)                                      \
  int quadrille_##Name##_init(QUADRILLE_INIT_PARAMETERS(FORM, int, Displacement),                                 \
                              int (*next)(QUADRILLE_INIT_PARAMETERS(FORM, int, Displacement)), const void* site); \
  QUADRILLE_INTERPOSE_NAMES(Name, FORM, Displacement)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_PERSISTENT)

#if defined(QUADRILLE_HAVE_LARGE_COUNT)
#define QUADRILLE_INTERPOSE_PERSISTENT_LARGE(collective, Name, FORM, Displacement)                                    \
  int quadrille_##Name##_init_c(QUADRILLE_INIT_PARAMETERS(FORM, MPI_Count, MPI_Aint),                                 \
                                int (*next)(QUADRILLE_INIT_PARAMETERS(FORM, MPI_Count, MPI_Aint)), const void* site); \
  QUADRILLE_EXPORT int MPI_##Name##_init_c(QUADRILLE_INIT_PARAMETERS(FORM, MPI_Count, MPI_Aint)) {                    \
    return quadrille_##Name##_init_c(                                                                                 \
        QUADRILLE_ARGUMENTS_##FORM, info, request,                                                                    \
        QUADRILLE_NEXT_ADDED("MPI_" #Name "_init_c", QUADRILLE_INIT_PARAMETERS(FORM, MPI_Count, MPI_Aint)),           \
        __builtin_return_address(0));                                                                                 \
  }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_PERSISTENT_LARGE)
#endif

}  // extern "C"
