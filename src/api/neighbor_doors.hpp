// MPI's argument lists of the neighbour collectives turned into a Call, once for both doors. Each function
// serves the call or hands its arguments to the MPI as they are.
#pragma once

#include "api/doors.hpp"
#include "api/serve_neighbors.hpp"

namespace quadrille::api {

// A side of a neighbour v or w form: int counts with displacements in ints or bytes, or large ones.
template <class Count, class Displacement>
run::Side neighbor_vector(const void* buffer, const Count* counts, const Displacement* displacements,
                          MPI_Datatype type) {
  run::Side side;
  side.base = writable(buffer);
  side.type = type;
  if constexpr (std::is_same_v<Count, int>) {
    side.counts = counts;
  } else {
    side.counts_large = counts;
  }
  if constexpr (std::is_same_v<Displacement, int>) {
    side.displacements = displacements;
  } else {
    side.displacements_large = displacements;
  }
  return side;
}

template <class Count>
run::Side neighbor_typed(const void* buffer, const Count* counts, const MPI_Aint* displacements,
                         const MPI_Datatype* types) {
  run::Side side = neighbor_vector(buffer, counts, displacements, MPI_Datatype{});
  side.types = types;
  return side;
}

template <class Native, class Count>
int neighbor_uniform(choose::Collective collective, Door door, Native native, const void* sendbuf,
                     Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                     MPI_Datatype recvtype, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  const run::Call call = make_call(collective, sendbuf, uniform(sendbuf, sendcount, sendtype),
                                   uniform(recvbuf, recvcount, recvtype), comm);
  if (serve_neighbors(call, door, error)) return error;
  return native(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

template <class Native, class... Arguments>
int neighbor_alltoall(Door door, Native native, Arguments... arguments) {
  return neighbor_uniform(choose::Collective::neighbor_alltoall, door, native, arguments...);
}

template <class Native, class... Arguments>
int neighbor_allgather(Door door, Native native, Arguments... arguments) {
  return neighbor_uniform(choose::Collective::neighbor_allgather, door, native, arguments...);
}

template <class Native, class Count, class Displacement>
int neighbor_alltoallv(Door door, Native native, const void* sendbuf, const Count* sendcounts,
                       const Displacement* sdispls, MPI_Datatype sendtype, void* recvbuf,
                       const Count* recvcounts, const Displacement* rdispls, MPI_Datatype recvtype,
                       MPI_Comm comm) {
  int error = MPI_SUCCESS;
  const run::Call call = make_call(choose::Collective::neighbor_alltoallv, sendbuf,
                                   neighbor_vector(sendbuf, sendcounts, sdispls, sendtype),
                                   neighbor_vector(recvbuf, recvcounts, rdispls, recvtype), comm);
  if (serve_neighbors(call, door, error)) return error;
  return native(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

template <class Native, class Count>
int neighbor_alltoallw(Door door, Native native, const void* sendbuf, const Count* sendcounts,
                       const MPI_Aint* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                       const Count* recvcounts, const MPI_Aint* rdispls, const MPI_Datatype* recvtypes,
                       MPI_Comm comm) {
  int error = MPI_SUCCESS;
  const run::Call call = make_call(choose::Collective::neighbor_alltoallw, sendbuf,
                                   neighbor_typed(sendbuf, sendcounts, sdispls, sendtypes),
                                   neighbor_typed(recvbuf, recvcounts, rdispls, recvtypes), comm);
  if (serve_neighbors(call, door, error)) return error;
  return native(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}

template <class Native, class Count, class Displacement>
int neighbor_allgatherv(Door door, Native native, const void* sendbuf, Count sendcount,
                        MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                        const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  const run::Call call = make_call(choose::Collective::neighbor_allgatherv, sendbuf,
                                   uniform(sendbuf, sendcount, sendtype),
                                   neighbor_vector(recvbuf, recvcounts, displs, recvtype), comm);
  if (serve_neighbors(call, door, error)) return error;
  return native(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

}  // namespace quadrille::api
