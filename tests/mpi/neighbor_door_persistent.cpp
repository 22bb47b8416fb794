#include "neighbors.hpp"
#include "request_door.hpp"

namespace quadrille::test {

const NeighborDoor tested_neighbors = {
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Neighbor_alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                                    MPI_INFO_NULL, request);
          },
          2);
    },
    [](const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
       const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                                     rdispls, recvtype, comm, MPI_INFO_NULL, request);
          },
          2);
    },
    [](const void* sendbuf, const int* sendcounts, const MPI_Aint* sdispls, const MPI_Datatype* sendtypes,
       void* recvbuf, const int* recvcounts, const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Neighbor_alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                                     rdispls, recvtypes, comm, MPI_INFO_NULL, request);
          },
          2);
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Neighbor_allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                                     MPI_INFO_NULL, request);
          },
          2);
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
       const int* displs, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Neighbor_allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                                      recvtype, comm, MPI_INFO_NULL, request);
          },
          2);
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
       const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Neighbor_allgatherw_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls,
                                                      recvtypes, comm, MPI_INFO_NULL, request);
          },
          2);
    }};

}  // namespace quadrille::test
