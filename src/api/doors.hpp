// MPI's argument lists turned into a Call, once for both doors. Each function serves the call or
// hands its arguments to the MPI as they are.
#pragma once

#include <type_traits>

#include "api/again.hpp"
#include "api/serve.hpp"

namespace quadrille::api {

inline std::byte* writable(const void* buffer) {
  return static_cast<std::byte*>(const_cast<void*>(buffer));
}

inline run::Side uniform(const void* buffer, MPI_Count count, MPI_Datatype type) {
  run::Side side;
  side.base = writable(buffer);
  side.count = static_cast<std::size_t>(count);
  side.type = type;
  return side;
}

inline run::Side vector(const void* buffer, const int* counts, const int* displacements,
                        MPI_Datatype type) {
  run::Side side;
  side.base = writable(buffer);
  side.counts = counts;
  side.displacements = displacements;
  side.type = type;
  return side;
}

inline run::Side vector(const void* buffer, const MPI_Count* counts, const MPI_Aint* displacements,
                        MPI_Datatype type) {
  run::Side side;
  side.base = writable(buffer);
  side.counts_large = counts;
  side.displacements_large = displacements;
  side.type = type;
  return side;
}

template <class Count, class Displacement>
run::Side typed_vector(const void* buffer, const Count* counts, const Displacement* displacements,
                       const MPI_Datatype* types) {
  run::Side side = vector(buffer, counts, displacements, MPI_Datatype{});
  side.types = types;
  return side;
}

inline run::Call make_call(choose::Collective collective, const void* sendbuf, const run::Side& send,
                           const run::Side& recv, MPI_Comm comm) {
  return {collective, send, recv, sendbuf == MPI_IN_PLACE, comm};
}

// `native` is the MPI's function for the same argument types.
template <class Native, class Count>
int alltoall(Door door, Native native, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
             void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  if (alltoall_again(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, error)) {
    return error;
  }
  if (passed_again(choose::Collective::alltoall, comm, recvtype, recvcount)) {
    return native(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  }
  const run::Call call =
      make_call(choose::Collective::alltoall, sendbuf, uniform(sendbuf, sendcount, sendtype),
                uniform(recvbuf, recvcount, recvtype), comm);
  Attempt attempt;
  if (serve(call, door, error, attempt)) return error;
  error = native(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  end_attempt(attempt);
  return error;
}

template <class Native, class Count, class Displacement>
int alltoallv(Door door, Native native, const void* sendbuf, const Count* sendcounts,
              const Displacement* sdispls, MPI_Datatype sendtype, void* recvbuf,
              const Count* recvcounts, const Displacement* rdispls, MPI_Datatype recvtype,
              MPI_Comm comm) {
  int error = MPI_SUCCESS;
  if constexpr (std::is_same_v<Count, int>) {
    if (alltoallv_again(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                        recvtype, comm, error)) {
      return error;
    }
  }
  if (passed_again(choose::Collective::alltoallv, comm)) {
    return native(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  }
  const run::Call call = make_call(choose::Collective::alltoallv, sendbuf,
                                   vector(sendbuf, sendcounts, sdispls, sendtype),
                                   vector(recvbuf, recvcounts, rdispls, recvtype), comm);
  Attempt attempt;
  if (serve(call, door, error, attempt)) return error;
  error = native(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                comm);
  end_attempt(attempt);
  return error;
}

template <class Native, class Count, class Displacement>
int alltoallw(Door door, Native native, const void* sendbuf, const Count* sendcounts,
              const Displacement* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
              const Count* recvcounts, const Displacement* rdispls, const MPI_Datatype* recvtypes,
              MPI_Comm comm) {
  int error = MPI_SUCCESS;
  if (passed_again(choose::Collective::alltoallw, comm)) {
    return native(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
  }
  const run::Call call = make_call(choose::Collective::alltoallw, sendbuf,
                                   typed_vector(sendbuf, sendcounts, sdispls, sendtypes),
                                   typed_vector(recvbuf, recvcounts, rdispls, recvtypes), comm);
  Attempt attempt;
  if (serve(call, door, error, attempt)) return error;
  error = native(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                comm);
  end_attempt(attempt);
  return error;
}

template <class Native, class Count>
int allgather(Door door, Native native, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
              void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  if (allgather_again(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, error)) {
    return error;
  }
  if (passed_again(choose::Collective::allgather, comm, recvtype, recvcount)) {
    return native(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  }
  const run::Call call =
      make_call(choose::Collective::allgather, sendbuf, uniform(sendbuf, sendcount, sendtype),
                uniform(recvbuf, recvcount, recvtype), comm);
  Attempt attempt;
  if (serve(call, door, error, attempt)) return error;
  error = native(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  end_attempt(attempt);
  return error;
}

template <class Native, class Count, class Displacement>
int allgatherv(Door door, Native native, const void* sendbuf, Count sendcount,
               MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
               const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  if constexpr (std::is_same_v<Count, int>) {
    if (allgatherv_again(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
                         error)) {
      return error;
    }
  }
  if (passed_again(choose::Collective::allgatherv, comm)) {
    return native(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  }
  const run::Call call =
      make_call(choose::Collective::allgatherv, sendbuf, uniform(sendbuf, sendcount, sendtype),
                vector(recvbuf, recvcounts, displs, recvtype), comm);
  Attempt attempt;
  if (serve(call, door, error, attempt)) return error;
  error = native(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  end_attempt(attempt);
  return error;
}

}  // namespace quadrille::api
