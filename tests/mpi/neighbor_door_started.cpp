#include "neighbors.hpp"
#include "request_door.hpp"

namespace quadrille::test {

const NeighborDoor tested_neighbors = {
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ineighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
      });
    },
    [](const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
       const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ineighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                             recvtype, comm, request);
      });
    },
    [](const void* sendbuf, const int* sendcounts, const MPI_Aint* sdispls, const MPI_Datatype* sendtypes,
       void* recvbuf, const int* recvcounts, const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ineighbor_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                             recvtypes, comm, request);
      });
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ineighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
      });
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
       const int* displs, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ineighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
                                              request);
      });
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
       const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ineighbor_allgatherw(sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtypes,
                                              comm, request);
      });
    }};

}  // namespace quadrille::test
