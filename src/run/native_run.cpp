#include "run/native_run.hpp"

#include <algorithm>

#include "mpi/mpi.hpp"

namespace quadrille::run {
namespace {

int number(std::size_t count) { return static_cast<int>(count); }

// In place the send type does not count, but some MPIs look at it.
Call with_any_send_type(Call call) {
  if (!call.in_place) return call;
  call.send = {};
  call.send.type = call.recv.types == nullptr ? call.recv.type : mpi().byte;
  return call;
}

}  // namespace

NativeRun::NativeRun(const Call& call, int send_blocks, int recv_blocks)
    : call_(with_any_send_type(call), send_blocks, recv_blocks), send_blocks_(send_blocks) {}

int NativeRun::start() {
  using enum choose::Collective;
  const Call& call = call_.call();
  const Side &send = call.send, &recv = call.recv;
  const void* from = call.in_place ? MPI_IN_PLACE : send.base;
  int error = MPI_ERR_OTHER;
  request_ = mpi().request_null;  // some MPIs report no error after a handler of the user's, and no request either
  switch (call.collective) {
    case alltoall:
      error = mpi().Ialltoall(from, number(send.count), send.type, recv.base, number(recv.count), recv.type, call.comm,
                              &request_);
      break;
    case alltoallv:
      error = mpi().Ialltoallv(from, send.counts, send.displacements, send.type, recv.base, recv.counts,
                               recv.displacements, recv.type, call.comm, &request_);
      break;
    case alltoallw:
      error = mpi().Ialltoallw(from, send.counts, send.displacements, send.types, recv.base, recv.counts,
                               recv.displacements, recv.types, call.comm, &request_);
      break;
    case allgather:
      error = mpi().Iallgather(from, number(send.count), send.type, recv.base, number(recv.count), recv.type, call.comm,
                               &request_);
      break;
    case allgatherv:
      error = mpi().Iallgatherv(from, number(send.count), send.type, recv.base, recv.counts, recv.displacements,
                                recv.type, call.comm, &request_);
      break;
    default:
      error = start_neighbors(send, recv, call.comm);
  }
  under_way_ = error == MPI_SUCCESS;
  return error;
}

int NativeRun::start_neighbors(const Side& send, const Side& recv, MPI_Comm comm) {
  using enum choose::Collective;
  switch (call_.call().collective) {
    case neighbor_alltoall:
      return mpi().Ineighbor_alltoall(send.base, number(send.count), send.type, recv.base, number(recv.count),
                                      recv.type, comm, &request_);
    case neighbor_alltoallv:
      return mpi().Ineighbor_alltoallv(send.base, send.counts, send.displacements, send.type, recv.base, recv.counts,
                                       recv.displacements, recv.type, comm, &request_);
    case neighbor_alltoallw:
      return mpi().Ineighbor_alltoallw(send.base, send.counts, send.displacements_large, send.types, recv.base,
                                       recv.counts, recv.displacements_large, recv.types, comm, &request_);
    case neighbor_allgather:
      return mpi().Ineighbor_allgather(send.base, number(send.count), send.type, recv.base, number(recv.count),
                                       recv.type, comm, &request_);
    case neighbor_allgatherv:
      return mpi().Ineighbor_allgatherv(send.base, number(send.count), send.type, recv.base, recv.counts,
                                        recv.displacements, recv.type, comm, &request_);
    case neighbor_allgatherw:
      return start_allgatherw(send, recv, comm);
    default:
      return MPI_ERR_OTHER;
  }
}

// The w form of the all-to-all moves the same data, if the block for each destination is one and the same.
int NativeRun::start_allgatherw(const Side& send, const Side& recv, MPI_Comm comm) {
  const auto places = static_cast<std::size_t>(std::max(send_blocks_, 1));  // some MPIs refuse a null array
  counts_.assign(places, number(send.count));
  displacements_.assign(places, 0);
  types_.assign(places, send.type);
  return mpi().Ineighbor_alltoallw(send.base, counts_.data(), displacements_.data(), types_.data(), recv.base,
                                   recv.counts, recv.displacements_large, recv.types, comm, &request_);
}

int NativeRun::advance() {
  if (!under_way_) return MPI_SUCCESS;
  int flag = 0;
  MPI_Status status;
  const int error = mpi().Testall(1, &request_, &flag, &status);
  under_way_ = error == MPI_SUCCESS && flag == 0;
  return error == MPI_ERR_IN_STATUS ? status.MPI_ERROR : error;
}

}  // namespace quadrille::run
