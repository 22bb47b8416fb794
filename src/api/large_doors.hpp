// The collectives with large counts (MPI 4) that are served: for each its name, the function that serves it, its
// parameters, its communicator, and its other arguments.
//
// A program may look whether MPI_Alltoall_c is there (mpi4py does, by weak symbols) and then take it that the MPI has
// it. So the preload library does not define these names; a second one does, which is loaded only where the MPI has
// them, and hands its calls to the first, where all state is.
#pragma once

#include <mpi.h>

#if defined(QUADRILLE_HAVE_LARGE_COUNT)

#define QUADRILLE_LARGE_UNIFORM                                                                                      \
  (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,              \
   MPI_Datatype recvtype, MPI_Comm comm)
#define QUADRILLE_LARGE_GATHER                                                                                       \
  (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],     \
   const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
#define QUADRILLE_LARGE_VECTOR                                                                                       \
  (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,               \
   void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
#define QUADRILLE_LARGE_TYPED                                                                                        \
  (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],      \
   void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],            \
   MPI_Comm comm)

#define QUADRILLE_LARGE_DOORS(X)                                                                                     \
  X(Alltoall, alltoall, QUADRILLE_LARGE_UNIFORM, comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)   \
  X(Alltoallv, alltoallv, QUADRILLE_LARGE_VECTOR, comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, \
    rdispls, recvtype)                                                                                               \
  X(Alltoallw, alltoallw, QUADRILLE_LARGE_TYPED, comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, \
    rdispls, recvtypes)                                                                                              \
  X(Allgather, allgather, QUADRILLE_LARGE_UNIFORM, comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) \
  X(Allgatherv, allgatherv, QUADRILLE_LARGE_GATHER, comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, \
    recvtype)                                                                                                        \
  X(Neighbor_alltoall, neighbor_alltoall, QUADRILLE_LARGE_UNIFORM, comm, sendbuf, sendcount, sendtype, recvbuf,      \
    recvcount, recvtype)                                                                                             \
  X(Neighbor_alltoallv, neighbor_alltoallv, QUADRILLE_LARGE_VECTOR, comm, sendbuf, sendcounts, sdispls, sendtype,    \
    recvbuf, recvcounts, rdispls, recvtype)                                                                          \
  X(Neighbor_alltoallw, neighbor_alltoallw, QUADRILLE_LARGE_TYPED, comm, sendbuf, sendcounts, sdispls, sendtypes,    \
    recvbuf, recvcounts, rdispls, recvtypes)                                                                         \
  X(Neighbor_allgather, neighbor_allgather, QUADRILLE_LARGE_UNIFORM, comm, sendbuf, sendcount, sendtype, recvbuf,    \
    recvcount, recvtype)                                                                                             \
  X(Neighbor_allgatherv, neighbor_allgatherv, QUADRILLE_LARGE_GATHER, comm, sendbuf, sendcount, sendtype, recvbuf,   \
    recvcounts, displs, recvtype)

#endif
