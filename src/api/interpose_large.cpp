// The drop-in door for large counts: libquadrille_mpi_large.so. Each function jumps into the preload library.
// Why they are not there: large_doors.hpp.
#include "api/large_doors.hpp"

#define QUADRILLE_EXPORT __attribute__((visibility("default")))

extern "C" {

#define QUADRILLE_INTERPOSE_LARGE(NAME, DOOR, PARAMETERS, COMM, ...)                      \
  int quadrille_##NAME##_c PARAMETERS;                                                    \
  QUADRILLE_EXPORT int MPI_##NAME##_c PARAMETERS {                                        \
    return quadrille_##NAME##_c(__VA_ARGS__, COMM);                                       \
  }
QUADRILLE_LARGE_DOORS(QUADRILLE_INTERPOSE_LARGE)

}  // extern "C"
