// The explicit door of the neighbour collectives.
#include "api/neighbor_doors.hpp"
#include "quadrille.h"

using quadrille::mpi;
using quadrille::api::Door;
namespace api = quadrille::api;

int Quadrille_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_alltoall(Door::explicit_api, mpi().Neighbor_alltoall, sendbuf, sendcount,
                                sendtype, recvbuf, recvcount, recvtype, comm);
}

int Quadrille_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_alltoallv(Door::explicit_api, mpi().Neighbor_alltoallv, sendbuf, sendcounts,
                                 sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

int Quadrille_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                 const MPI_Datatype sendtypes[], void* recvbuf,
                                 const int recvcounts[], const MPI_Aint rdispls[],
                                 const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return api::neighbor_alltoallw(Door::explicit_api, mpi().Neighbor_alltoallw, sendbuf, sendcounts,
                                 sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}

int Quadrille_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_allgather(Door::explicit_api, mpi().Neighbor_allgather, sendbuf, sendcount,
                                 sendtype, recvbuf, recvcount, recvtype, comm);
}

int Quadrille_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const int recvcounts[], const int displs[],
                                  MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_allgatherv(Door::explicit_api, mpi().Neighbor_allgatherv, sendbuf, sendcount,
                                  sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}
