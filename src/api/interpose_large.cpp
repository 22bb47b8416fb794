// The drop-in door for large counts (MPI 4), blocking, nonblocking and persistent: libquadrille_mpi_large.so. Each
// function calls the preload library, and says where it was called from.
//
// A program may look whether MPI_Alltoall_c is there (mpi4py does, by weak symbols) and then take it that the MPI has
// it. So the preload library does not define these names; this one does, which is loaded only where the MPI has them,
// and hands its calls to the first, where all state is.
#include "abi/functions.hpp"
#include "api/next_added.hpp"
#include "collective/signatures.hpp"
#include "mpi/words.hpp"

using namespace quadrille;

extern "C" {

#define QUADRILLE_LARGE_DOORS(Name, PARAMETERS, ...)                           \
  int quadrille_##Name(PARAMETERS, int (*next)(PARAMETERS), const void* site); \
  QUADRILLE_ADDED_DOOR(MPI, Name, (PARAMETERS), __VA_ARGS__)                   \
  QUADRILLE_ADDED_DOOR(PMPI, Name, (PARAMETERS), __VA_ARGS__)

#define QUADRILLE_LARGE_PARAMETERS(FORM) QUADRILLE_WORDS_##FORM(MpiCount, MpiAint)
#define QUADRILLE_START_PARAMETERS(FORM) QUADRILLE_LARGE_PARAMETERS(FORM), MpiRequest* request
#define QUADRILLE_INIT_PARAMETERS(FORM) QUADRILLE_LARGE_PARAMETERS(FORM), MpiInfo info, MpiRequest *request
#define QUADRILLE_INTERPOSE_LARGE(collective, Name, FORM, Displacement)                                           \
  QUADRILLE_LARGE_DOORS(Name##_c, QUADRILLE_LARGE_PARAMETERS(FORM), QUADRILLE_ARGUMENTS_##FORM)                   \
  QUADRILLE_LARGE_DOORS(I##collective##_c, QUADRILLE_START_PARAMETERS(FORM), QUADRILLE_ARGUMENTS_##FORM, request) \
  QUADRILLE_LARGE_DOORS(Name##_init_c, QUADRILLE_INIT_PARAMETERS(FORM), QUADRILLE_ARGUMENTS_##FORM, info, request)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_LARGE)

}  // extern "C"
