// Forms that are not taken over: the nonblocking ones. These doors count a call if somebody wants a summary, and hand
// it to the MPI. MPI has had these functions since 3.0, so that none seems to be there which is not.
#include "collective/signatures.hpp"
#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "team/tally.hpp"

namespace {

const quadrille::Mpi& passing_on() {
  quadrille::team::Untaken& untaken = quadrille::team::untaken;
  if (untaken.wanted.load(std::memory_order_relaxed)) untaken.nonblocking.fetch_add(1, std::memory_order_relaxed);
  return quadrille::mpi();
}

}  // namespace

#define QUADRILLE_PASS_ON(PREFIX, collective, Name, FORM, Displacement)                                             \
  QUADRILLE_EXPORT int PREFIX##_I##collective(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Request* request) { \
    return passing_on().I##collective(QUADRILLE_ARGUMENTS_##FORM, request);                                         \
  }
#define QUADRILLE_PASS_ON_MPI(...) QUADRILLE_PASS_ON(MPI, __VA_ARGS__)
#define QUADRILLE_PASS_ON_PMPI(...) QUADRILLE_PASS_ON(PMPI, __VA_ARGS__)

// Open MPI's Fortran calls the PMPI_ names, see interpose.cpp.
extern "C" {
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_PASS_ON_MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_PASS_ON_PMPI)
#endif
}  // extern "C"
