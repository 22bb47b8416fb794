// The drop-in door: MPI's own names, found before the MPI's by the loader (LD_PRELOAD).
//
// Fortran reaches us too. The Fortran layers of MPICH and Intel MPI call the C functions MPI_X; those of
// Open MPI call PMPI_X. Both have turned Fortran's MPI_IN_PLACE and MPI_BOTTOM into C's by then. So the
// MPI_ names are defined here for every ABI, and the PMPI_ names for Open MPI as well. There is one
// exception, MPI_Init of MPICH's mpi_f08, which calls PMPI_Init: the functions that start an MPI have
// both names for every ABI. We ourselves reach the MPI by looking its symbols up in its own library, so
// there is no way back to here.
#include "api/doors.hpp"
#include "api/large_doors.hpp"
#include "api/memory_doors.hpp"
#include "api/neighbor_doors.hpp"
#include "api/warm_up.hpp"
#include "quadrille.h"
#include "team/team.hpp"

using quadrille::mpi;
using quadrille::api::Door;
namespace api = quadrille::api;

namespace {

// What MPI_Init does, by `native`, and what is to be done around it.
template <class Native>
int start(Native native) {
  if (quadrille::thrown_by(quadrille::team::before_init) != MPI_SUCCESS) return MPI_ERR_NO_MEM;
  if (const int error = native(); error != MPI_SUCCESS) return error;
  return api::guarded(mpi().comm_world, [] {
    if (quadrille::team::after_init()) api::warm_up();
    return MPI_SUCCESS;
  });
}

}  // namespace

extern "C" {

#define QUADRILLE_INTERPOSE(PREFIX)                                                                \
  QUADRILLE_EXPORT int PREFIX##_Alltoall(const void* sendbuf, int sendcount,                       \
                                         MPI_Datatype sendtype, void* recvbuf, int recvcount,      \
                                         MPI_Datatype recvtype, MPI_Comm comm) {                   \
    return api::alltoall(Door::drop_in, mpi().Alltoall, sendbuf, sendcount, sendtype, recvbuf,     \
                         recvcount, recvtype, comm);                                               \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Alltoallv(                                                         \
      const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,     \
      void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,           \
      MPI_Comm comm) {                                                                             \
    return api::alltoallv(Door::drop_in, mpi().Alltoallv, sendbuf, sendcounts, sdispls, sendtype,  \
                          recvbuf, recvcounts, rdispls, recvtype, comm);                           \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Alltoallw(                                                         \
      const void* sendbuf, const int sendcounts[], const int sdispls[],                            \
      const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const int rdispls[],  \
      const MPI_Datatype recvtypes[], MPI_Comm comm) {                                             \
    return api::alltoallw(Door::drop_in, mpi().Alltoallw, sendbuf, sendcounts, sdispls, sendtypes, \
                          recvbuf, recvcounts, rdispls, recvtypes, comm);                          \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Allgather(const void* sendbuf, int sendcount,                      \
                                          MPI_Datatype sendtype, void* recvbuf, int recvcount,     \
                                          MPI_Datatype recvtype, MPI_Comm comm) {                  \
    return api::allgather(Door::drop_in, mpi().Allgather, sendbuf, sendcount, sendtype, recvbuf,   \
                          recvcount, recvtype, comm);                                              \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Allgatherv(                                                        \
      const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,                    \
      const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {          \
    return api::allgatherv(Door::drop_in, mpi().Allgatherv, sendbuf, sendcount, sendtype, recvbuf, \
                           recvcounts, displs, recvtype, comm);                                    \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Neighbor_alltoall(const void* sendbuf, int sendcount,              \
                                                  MPI_Datatype sendtype, void* recvbuf,            \
                                                  int recvcount, MPI_Datatype recvtype,            \
                                                  MPI_Comm comm) {                                 \
    return api::neighbor_alltoall(Door::drop_in, mpi().Neighbor_alltoall, sendbuf, sendcount,      \
                                  sendtype, recvbuf, recvcount, recvtype, comm);                   \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Neighbor_alltoallv(                                                \
      const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,     \
      void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,           \
      MPI_Comm comm) {                                                                             \
    return api::neighbor_alltoallv(Door::drop_in, mpi().Neighbor_alltoallv, sendbuf, sendcounts,   \
                                   sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,      \
                                   comm);                                                          \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Neighbor_alltoallw(                                                \
      const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],                       \
      const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],                       \
      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {                   \
    return api::neighbor_alltoallw(Door::drop_in, mpi().Neighbor_alltoallw, sendbuf, sendcounts,   \
                                   sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,    \
                                   comm);                                                          \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Neighbor_allgather(const void* sendbuf, int sendcount,             \
                                                   MPI_Datatype sendtype, void* recvbuf,           \
                                                   int recvcount, MPI_Datatype recvtype,           \
                                                   MPI_Comm comm) {                                \
    return api::neighbor_allgather(Door::drop_in, mpi().Neighbor_allgather, sendbuf, sendcount,    \
                                   sendtype, recvbuf, recvcount, recvtype, comm);                  \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Neighbor_allgatherv(                                               \
      const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,                    \
      const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {          \
    return api::neighbor_allgatherv(Door::drop_in, mpi().Neighbor_allgatherv, sendbuf, sendcount,  \
                                    sendtype, recvbuf, recvcounts, displs, recvtype, comm);        \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {           \
    return quadrille::api::alloc_mem(size, info, baseptr);                                         \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Free_mem(void* base) { return quadrille::api::free_mem(base); }

#define QUADRILLE_INTERPOSE_START(PREFIX)                                                          \
  QUADRILLE_EXPORT int PREFIX##_Init(int* argc, char*** argv) {                                    \
    return start([&] { return mpi().Init(argc, argv); });                                          \
  }                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Init_thread(int* argc, char*** argv, int required,                 \
                                            int* provided) {                                       \
    return start([&] { return mpi().Init_thread(argc, argv, required, provided); });               \
  }

QUADRILLE_INTERPOSE(MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_INTERPOSE(PMPI)
#endif
QUADRILLE_INTERPOSE_START(MPI)
QUADRILLE_INTERPOSE_START(PMPI)

// The doors for large counts are in a library of their own (interpose_large.cpp), which calls these.
#if defined(QUADRILLE_HAVE_LARGE_COUNT)
#define QUADRILLE_SERVE_LARGE(NAME, DOOR, PARAMETERS, COMM, ...)                                    \
  QUADRILLE_EXPORT int quadrille_##NAME##_c PARAMETERS {                                           \
    if (mpi().NAME##_c == nullptr) return api::raise(COMM, MPI_ERR_OTHER); /* loaded by mistake */ \
    return api::DOOR(Door::drop_in, mpi().NAME##_c, __VA_ARGS__, COMM);                            \
  }
QUADRILLE_LARGE_DOORS(QUADRILLE_SERVE_LARGE)
#endif

}  // extern "C"
