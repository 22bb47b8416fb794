#include "run/native_run.hpp"

#include <algorithm>

#include "collective/signatures.hpp"
#include "mpi/mpi.hpp"
#include "mpi/progress_hook.hpp"

namespace quadrille::run {
namespace {

#define QUADRILLE_NONBLOCKING(collective, ...) \
  auto nonblocking(Of<Collective::collective>) { return mpi().I##collective; }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_NONBLOCKING)
#undef QUADRILLE_NONBLOCKING
#define QUADRILLE_BLOCKING(collective, Name, ...) \
  auto blocking(Of<Collective::collective>) { return mpi().Name; }
QUADRILLE_DENSE_COLLECTIVES(QUADRILLE_BLOCKING)
#undef QUADRILLE_BLOCKING

NativeRun::Arguments arguments_of(const void* buffer, const Side& side) {
  return {const_cast<void*>(buffer), static_cast<int>(side.count), side.type,
          side.counts,               side.displacements,           side.displacements,
          side.displacements_large,  side.types};
}

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

NativeRun::NativeRun(MPI_Request made, bool persistent)
    : call_(Call{}, 0, 0), send_blocks_(0), request_(made), made_(persistent ? Made::to_be_started : Made::before) {}

NativeRun::~NativeRun() {
  if (made_ == Made::to_be_started && request_ != mpi().request_null) mpi().Request_free(&request_);
}

int NativeRun::start() {
  if (made_ != Made::by_start) {
    const int error = made_ == Made::before ? MPI_SUCCESS : mpi().Start(&request_);
    under_way_ = error == MPI_SUCCESS;
    return error;
  }
  const Call& call = call_.call();
  const Arguments send = arguments_of(call.in_place ? MPI_IN_PLACE : call.send.base, call.send);
  const Arguments recv = arguments_of(call.recv.base, call.recv);
  request_ = mpi().request_null;  // some MPIs report no error after a handler of the user's, and no request either
  const int error = do_as(
      call.collective,
      [&](auto collective) {
        if constexpr (row_of(collective).of_mpi) {
          return call_with<collective>(nonblocking(collective), send, recv, call.comm, &request_);
        } else {
          return start_allgatherw(send, recv, call.comm);
        }
      },
      MPI_ERR_OTHER);
  under_way_ = error == MPI_SUCCESS;
  return error;
}

// The w form of the all-to-all moves the same data, if the block for each destination is one and the same.
int NativeRun::start_allgatherw(Arguments send, const Arguments& recv, MPI_Comm comm) {
  const auto places = static_cast<std::size_t>(std::max(send_blocks_, 1));  // some MPIs refuse a null array
  counts_.assign(places, send.count);
  displacements_.assign(places, 0);
  types_.assign(places, send.type);
  send.counts = counts_.data(), send.addresses = displacements_.data(), send.types = types_.data();
  return call_with<Collective::neighbor_alltoallw>(mpi().Ineighbor_alltoallw, send, recv, comm, &request_);
}

int run_native(const Call& given, MPI_Comm comm) {
  const Call call = with_any_send_type(given);
  const NativeRun::Arguments send = arguments_of(call.in_place ? MPI_IN_PLACE : call.send.base, call.send);
  const NativeRun::Arguments recv = arguments_of(call.recv.base, call.recv);
  return do_as(
      call.collective,
      [&](auto collective) {
        if constexpr (is_dense(collective)) {
          return call_with<collective>(blocking(collective), send, recv, comm);
        } else {
          return MPI_ERR_OTHER;
        }
      },
      MPI_ERR_OTHER);
}

int NativeRun::advance() {
  if (!under_way_) return MPI_SUCCESS;
  int flag = 0;
  const int error = test_one(&request_, &flag);
  under_way_ = error == MPI_SUCCESS && flag == 0;
  return error;
}

}  // namespace quadrille::run
