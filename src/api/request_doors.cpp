// The functions of quadrille.h that make requests: nonblocking and persistent ones.
#include "api/neighbor_doors.hpp"
#include "api/requests.hpp"

namespace api = quadrille::api;

namespace {

using quadrille::choose::Collective;

int make(Collective collective, const void* sendbuf, const quadrille::run::Side& send,
         const quadrille::run::Side& recv, MPI_Comm comm, bool persistent, Quadrille_Request* request) {
  return api::make_request(api::make_call(collective, sendbuf, send, recv, comm), persistent, request);
}

}  // namespace

// The argument lists of MPI, and the sides of a call that they describe.
#define QUADRILLE_UNIFORM \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype
#define QUADRILLE_UNIFORM_SIDES \
  api::uniform(sendbuf, sendcount, sendtype), api::uniform(recvbuf, recvcount, recvtype)
#define QUADRILLE_GATHER \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], \
      MPI_Datatype recvtype
#define QUADRILLE_GATHER_SIDES \
  api::uniform(sendbuf, sendcount, sendtype), api::neighbor_vector(recvbuf, recvcounts, displs, recvtype)
#define QUADRILLE_GATHER_TYPED \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], \
      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]
#define QUADRILLE_GATHER_TYPED_SIDES \
  api::uniform(sendbuf, sendcount, sendtype), api::neighbor_typed(recvbuf, recvcounts, rdispls, recvtypes)
#define QUADRILLE_VECTOR \
  const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, \
      const int recvcounts[], const int rdispls[], MPI_Datatype recvtype
#define QUADRILLE_VECTOR_SIDES \
  api::neighbor_vector(sendbuf, sendcounts, sdispls, sendtype), \
      api::neighbor_vector(recvbuf, recvcounts, rdispls, recvtype)
#define QUADRILLE_TYPED \
  const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
      const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[]
#define QUADRILLE_TYPED_SIDES \
  api::typed_vector(sendbuf, sendcounts, sdispls, sendtypes), \
      api::typed_vector(recvbuf, recvcounts, rdispls, recvtypes)
#define QUADRILLE_NEIGHBOR_TYPED \
  const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
      const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]
#define QUADRILLE_NEIGHBOR_TYPED_SIDES \
  api::neighbor_typed(sendbuf, sendcounts, sdispls, sendtypes), \
      api::neighbor_typed(recvbuf, recvcounts, rdispls, recvtypes)

// Quadrille_Ialltoall and Quadrille_Alltoall_init, and so on.
#define QUADRILLE_REQUESTS(Name, Iname, collective, FORM)                                                          \
  int Quadrille_##Iname(QUADRILLE_##FORM, MPI_Comm comm, Quadrille_Request* request) {                             \
    return make(Collective::collective, sendbuf, QUADRILLE_##FORM##_SIDES, comm, false, request);                  \
  }                                                                                                                \
  int Quadrille_##Name##_init(QUADRILLE_##FORM, MPI_Comm comm, MPI_Info, Quadrille_Request* request) {             \
    return make(Collective::collective, sendbuf, QUADRILLE_##FORM##_SIDES, comm, true, request);                   \
  }

QUADRILLE_REQUESTS(Alltoall, Ialltoall, alltoall, UNIFORM)
QUADRILLE_REQUESTS(Alltoallv, Ialltoallv, alltoallv, VECTOR)
QUADRILLE_REQUESTS(Alltoallw, Ialltoallw, alltoallw, TYPED)
QUADRILLE_REQUESTS(Allgather, Iallgather, allgather, UNIFORM)
QUADRILLE_REQUESTS(Allgatherv, Iallgatherv, allgatherv, GATHER)
QUADRILLE_REQUESTS(Neighbor_alltoall, Ineighbor_alltoall, neighbor_alltoall, UNIFORM)
QUADRILLE_REQUESTS(Neighbor_alltoallv, Ineighbor_alltoallv, neighbor_alltoallv, VECTOR)
QUADRILLE_REQUESTS(Neighbor_alltoallw, Ineighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_TYPED)
QUADRILLE_REQUESTS(Neighbor_allgather, Ineighbor_allgather, neighbor_allgather, UNIFORM)
QUADRILLE_REQUESTS(Neighbor_allgatherv, Ineighbor_allgatherv, neighbor_allgatherv, GATHER)
QUADRILLE_REQUESTS(Neighbor_allgatherw, Ineighbor_allgatherw, neighbor_allgatherw, GATHER_TYPED)
