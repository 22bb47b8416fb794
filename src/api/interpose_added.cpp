// The drop-in doors for names that not every MPI has. Each set is a library, which is loaded only where the MPI has its
// names (tool/launch/added_doors.cpp):
//   libquadrille_mpi_large.so         large counts (MPI 4): blocking, nonblocking and persistent collectives
//   libquadrille_mpi_persistent.so    persistent collectives (MPI 4)
//   libquadrille_mpix_persistent.so   the same, by the names that they have in Open MPI 4.1
//
// A program may look whether MPI_Alltoall_c is there (mpi4py does, by weak symbols) and then take it that the MPI has
// it. So the preload library, where all state is, does not define these names. Each function here calls one there.
#include "abi/functions.hpp"
#include "api/next_function.hpp"
#include "collective/collective.hpp"
#include "mpi/mpi.hpp"

using namespace quadrille;

extern "C" {

// Of the names that begin with a P: see interpose.cpp.
bool quadrille_goes_straight(const void* site);

// A door jumps to quadrille_Name in the preload library, with what comes after the door, or null, and where it was
// called from. A call that `is_straight` goes to what comes after the door. PARAMETERS in brackets, then the arguments.
#define QUADRILLE_ADDED_DOOR(PREFIX, Name, is_straight, PARAMETERS, ...)                  \
  QUADRILLE_EXPORT int PREFIX##_##Name PARAMETERS {                                       \
    auto* const next = quadrille::api::next_function<PREFIX##_##Name>(#PREFIX "_" #Name); \
    const void* const site = __builtin_return_address(0);                                 \
    if (next != nullptr && is_straight) return next(__VA_ARGS__);                         \
    return quadrille_##Name(__VA_ARGS__, next, site);                                     \
  }
#define QUADRILLE_ADDED_DOORS(PREFIX, Name, PARAMETERS, ...)                   \
  int quadrille_##Name(PARAMETERS, int (*next)(PARAMETERS), const void* site); \
  QUADRILLE_ADDED_DOOR(PREFIX, Name, false, (PARAMETERS), __VA_ARGS__)         \
  QUADRILLE_ADDED_DOOR(P##PREFIX, Name, quadrille_goes_straight(site), (PARAMETERS), __VA_ARGS__)

#define QUADRILLE_BLOCKING_PARAMETERS(FORM) QUADRILLE_WORDS_##FORM(MpiCount, MpiAint)
#define QUADRILLE_START_PARAMETERS(FORM) QUADRILLE_WORDS_##FORM(MpiCount, MpiAint), MpiRequest* request
#define QUADRILLE_INIT_PARAMETERS(FORM, Count, Displacement) \
  QUADRILLE_WORDS_##FORM(Count, Displacement), MpiInfo info, MpiRequest *request

#define QUADRILLE_ADD_LARGE(collective, Name, FORM, Displacement)                                                      \
  QUADRILLE_ADDED_DOORS(MPI, Name##_c, QUADRILLE_BLOCKING_PARAMETERS(FORM), QUADRILLE_ARGUMENTS_##FORM)                \
  QUADRILLE_ADDED_DOORS(MPI, I##collective##_c, QUADRILLE_START_PARAMETERS(FORM), QUADRILLE_ARGUMENTS_##FORM, request) \
  QUADRILLE_ADDED_DOORS(MPI, Name##_init_c, QUADRILLE_INIT_PARAMETERS(FORM, MpiCount, MpiAint),                        \
                        QUADRILLE_ARGUMENTS_##FORM, info, request)
#define QUADRILLE_ADD_PERSISTENT(PREFIX, collective, Name, FORM, Displacement)                   \
  QUADRILLE_ADDED_DOORS(PREFIX, Name##_init, QUADRILLE_INIT_PARAMETERS(FORM, int, Displacement), \
                        QUADRILLE_ARGUMENTS_##FORM, info, request)

#if defined(QUADRILLE_ADDED_LARGE)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_ADD_LARGE)
#elif defined(QUADRILLE_ADDED_MPIX)
#define QUADRILLE_ADD_MPIX(...) QUADRILLE_ADD_PERSISTENT(MPIX, __VA_ARGS__)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_ADD_MPIX)
#else
#define QUADRILLE_ADD_MPI(...) QUADRILLE_ADD_PERSISTENT(MPI, __VA_ARGS__)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_ADD_MPI)
#endif

}  // extern "C"
