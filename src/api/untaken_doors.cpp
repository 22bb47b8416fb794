// Forms that are not taken over: the nonblocking ones, and requests for persistent calls. These doors count a call if
// somebody wants a summary, and hand it to the MPI.
//
// The nonblocking functions have been in MPI since 3.0, so that none seems to be there which is not. The names of all
// others are in libraries of their own, which are loaded where the MPI has them, and call what is exported here
// (interpose_large.cpp, interpose_persistent.cpp).
#include "api/serve.hpp"
#include "collective/signatures.hpp"
#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "team/tally.hpp"

namespace {

using quadrille::team::untaken;

void count(std::atomic<std::uint64_t>& calls) {
  if (untaken.wanted.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}

// A function that the MPI has, unless its doors were loaded by mistake.
template <class Function, class... Arguments>
int pass_on(Function function, MPI_Comm comm, Arguments... arguments) {
  return function != nullptr ? function(arguments...) : quadrille::api::raise(comm, MPI_ERR_OTHER);
}

}  // namespace

#define QUADRILLE_PASS_ON(PREFIX, collective, Name, FORM, Displacement)                                             \
  QUADRILLE_EXPORT int PREFIX##_I##collective(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Request* request) { \
    count(untaken.nonblocking);                                                                                     \
    return quadrille::mpi().I##collective(QUADRILLE_ARGUMENTS_##FORM, request);                                     \
  }
#define QUADRILLE_PASS_ON_MPI(...) QUADRILLE_PASS_ON(MPI, __VA_ARGS__)
#define QUADRILLE_PASS_ON_PMPI(...) QUADRILLE_PASS_ON(PMPI, __VA_ARGS__)

#define QUADRILLE_PASS_ON_INIT(collective, Name, FORM, Displacement)                                              \
  QUADRILLE_EXPORT int quadrille_##Name##_init(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Info info,     \
                                               MPI_Request* request) {                                            \
    count(untaken.persistent);                                                                                    \
    return pass_on(quadrille::mpi().Name##_init, comm, QUADRILLE_ARGUMENTS_##FORM, info, request);                \
  }
#define QUADRILLE_PASS_ON_LARGE(collective, Name, FORM, Displacement)                                             \
  QUADRILLE_EXPORT int quadrille_##Name##_init_c(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint), MPI_Info info, \
                                                 MPI_Request* request) {                                          \
    count(untaken.persistent);                                                                                    \
    return pass_on(quadrille::mpi().Name##_init_c, comm, QUADRILLE_ARGUMENTS_##FORM, info, request);              \
  }                                                                                                               \
  QUADRILLE_EXPORT int quadrille_I##collective##_c(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint),              \
                                                   MPI_Request* request) {                                        \
    count(untaken.nonblocking);                                                                                   \
    return pass_on(quadrille::mpi().I##collective##_c, comm, QUADRILLE_ARGUMENTS_##FORM, request);                \
  }

// Open MPI's Fortran calls the PMPI_ names, see interpose.cpp.
extern "C" {
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_PASS_ON_MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_PASS_ON_PMPI)
#endif
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_PASS_ON_INIT)
#if defined(QUADRILLE_HAVE_LARGE_COUNT)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_PASS_ON_LARGE)
#endif
}  // extern "C"
