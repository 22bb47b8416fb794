// The drop-in door for functions in which all ranks wait for each other anyway: there what nonblocking calls need can
// be made (taken.hpp). Without a communicator that wants it they cost one look and one jump more.
#include "api/next_names.hpp"
#include "api/taken.hpp"
#include "quadrille.h"

namespace {

namespace api = quadrille::api;

QUADRILLE_NEXT(Barrier)
QUADRILLE_NEXT(Allreduce)
struct Behind_MPI {
  QUADRILLE_NEXT_MEMBER(Barrier)
  QUADRILLE_NEXT_MEMBER(Allreduce)
};
struct Behind_PMPI {
  QUADRILLE_MPI_MEMBER(Barrier)
  QUADRILLE_MPI_MEMBER(Allreduce)
};

[[gnu::always_inline]] inline void get_ready(MPI_Comm comm) {
  if (api::some_wanted.load(std::memory_order_relaxed)) [[unlikely]]
    api::leave(api::get_ready_in_a_barrier(comm));
}

}  // namespace

#define QUADRILLE_BARRIERS(PREFIX)                                                                                     \
  QUADRILLE_EXPORT int PREFIX##_Barrier(MPI_Comm comm) {                                                               \
    get_ready(comm);                                                                                                   \
    return Behind_##PREFIX::Barrier(comm);                                                                             \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, \
                                          MPI_Comm comm) {                                                             \
    if (count > 0 && type != quadrille::mpi().datatype_null && recvbuf != MPI_IN_PLACE) get_ready(comm);               \
    return Behind_##PREFIX::Allreduce(sendbuf, recvbuf, count, type, op, comm);                                        \
  }

// Open MPI's Fortran calls the PMPI_ names, see interpose.cpp.
extern "C" {
QUADRILLE_BARRIERS(MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_BARRIERS(PMPI)
#endif
}  // extern "C"
