// Forms that are not taken over: the nonblocking ones. These doors count a call if somebody wants a summary, and hand
// it to the MPI. MPI has had these functions since 3.0, so that none seems to be there which is not.
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

#define QUADRILLE_UNIFORM \
  (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype, \
   MPI_Comm comm, MPI_Request* request)
#define QUADRILLE_UNIFORM_NAMES (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request)
#define QUADRILLE_GATHERV \
  (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],               \
   const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
#define QUADRILLE_GATHERV_NAMES (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, request)
#define QUADRILLE_VECTOR \
  (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,         \
   const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
#define QUADRILLE_VECTOR_NAMES \
  (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request)
#define QUADRILLE_TYPED(Displacement) \
  (const void* sendbuf, const int sendcounts[], const Displacement sdispls[], const MPI_Datatype sendtypes[],      \
   void* recvbuf, const int recvcounts[], const Displacement rdispls[], const MPI_Datatype recvtypes[],            \
   MPI_Comm comm, MPI_Request* request)
#define QUADRILLE_TYPED_NAMES \
  (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request)

#define QUADRILLE_PASS_ON(PREFIX, name, parameters, names) \
  QUADRILLE_EXPORT int PREFIX##_##name parameters { return passing_on().name names; }

// Open MPI's Fortran calls the PMPI_ names, see interpose.cpp.
#define QUADRILLE_PASS_ALL_ON(PREFIX)                                                                 \
  QUADRILLE_PASS_ON(PREFIX, Ialltoall, QUADRILLE_UNIFORM, QUADRILLE_UNIFORM_NAMES)                     \
  QUADRILLE_PASS_ON(PREFIX, Iallgather, QUADRILLE_UNIFORM, QUADRILLE_UNIFORM_NAMES)                    \
  QUADRILLE_PASS_ON(PREFIX, Ineighbor_alltoall, QUADRILLE_UNIFORM, QUADRILLE_UNIFORM_NAMES)            \
  QUADRILLE_PASS_ON(PREFIX, Ineighbor_allgather, QUADRILLE_UNIFORM, QUADRILLE_UNIFORM_NAMES)           \
  QUADRILLE_PASS_ON(PREFIX, Iallgatherv, QUADRILLE_GATHERV, QUADRILLE_GATHERV_NAMES)                   \
  QUADRILLE_PASS_ON(PREFIX, Ineighbor_allgatherv, QUADRILLE_GATHERV, QUADRILLE_GATHERV_NAMES)          \
  QUADRILLE_PASS_ON(PREFIX, Ialltoallv, QUADRILLE_VECTOR, QUADRILLE_VECTOR_NAMES)                      \
  QUADRILLE_PASS_ON(PREFIX, Ineighbor_alltoallv, QUADRILLE_VECTOR, QUADRILLE_VECTOR_NAMES)             \
  QUADRILLE_PASS_ON(PREFIX, Ialltoallw, QUADRILLE_TYPED(int), QUADRILLE_TYPED_NAMES)                   \
  QUADRILLE_PASS_ON(PREFIX, Ineighbor_alltoallw, QUADRILLE_TYPED(MPI_Aint), QUADRILLE_TYPED_NAMES)

extern "C" {
QUADRILLE_PASS_ALL_ON(MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_PASS_ALL_ON(PMPI)
#endif
}  // extern "C"
