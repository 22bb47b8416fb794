// Something fails in the MPI (failing_mpi.c).
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "named_functions.hpp"
#include "program.hpp"

extern "C" {
int has_pending_broadcast(void);
void let_broadcast_fail(void);
void let_generalised_fail(int fail);
void let_receives_fail(int fail);
int tag_of_last_receive(void);
}

namespace {

using namespace quadrille::test;

int class_of(int error) {
  int kind = error;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &kind);
  return kind;
}

// The broadcast by which nonblocking calls become ready fails on rank 1: a call that waits for it returns the error of
// the broadcast.
void check_broadcast() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int send[2] = {1, 1};
  int recv[2] = {};
  MPI_Request first, later;
  // The MPI's, after which the broadcast starts.
  must(MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm, &first) == MPI_SUCCESS, "the first call");
  must(rank == 0 || has_pending_broadcast() != 0, "no broadcast");
  // Without data: rank 1 takes no part in it.
  must(MPI_Ialltoall(send, 0, MPI_INT, recv, 0, MPI_INT, comm, &later) == MPI_SUCCESS, "the second call");
  let_broadcast_fail();
  const int error = class_of(MPI_Wait(&later, MPI_STATUS_IGNORE));
  check(error == (rank == 0 ? MPI_SUCCESS : MPI_ERR_NO_MEM), "the error of the broadcast");
  check(MPI_Wait(&first, MPI_STATUS_IGNORE) == MPI_SUCCESS && recv[0] == 1 && recv[1] == 1, "the first call");
}

// A persistent request whose handle cannot be made gives its tag back: the next one gets it.
void check_receive() {
  const int send[2] = {1, 1};
  int recv[2] = {};
  MPI_Request request = MPI_REQUEST_NULL;
  const auto make = [&] {
    return alltoall_init()(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  };
  must(alltoall_init() != nullptr, "no persistent calls");
  let_receives_fail(1);
  check(class_of(make()) == MPI_ERR_NO_MEM, "the error of a handle that fails");
  const int tag = tag_of_last_receive();
  let_receives_fail(0);
  must(make() == MPI_SUCCESS, "a request after one that failed");
  check(tag_of_last_receive() == tag, "the tag of the failed request is lost");
  MPI_Start(&request);
  check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && recv[0] == 1 && recv[1] == 1, "the request");
  MPI_Request_free(&request);
}

// The least bytes that rounds of so many requests without a handle leave behind. What the MPI allocates now and then
// for itself is not in each round.
constexpr std::size_t requests = 256, bytes_of_one = 256;
template <class Make, class Complete>
std::size_t bytes_left(const Make& make, const Complete& complete) {
  std::size_t least = SIZE_MAX;
  for (int round = 0; round < 4; ++round) {
    const std::size_t before = mallinfo2().uordblks;
    for (std::size_t i = 0; i < requests; ++i) {
      check(class_of(make()) == MPI_ERR_NO_MEM, "the error of one of many handles that fail");
    }
    complete();
    const std::size_t after = mallinfo2().uordblks;
    least = std::min(least, after - std::min(after, before));
  }
  return least;
}

void check_memory() {
  const int send[2] = {1, 1};
  int recv[2] = {};
  MPI_Request request = MPI_REQUEST_NULL;
  const auto make = [&] {
    return alltoall_init()(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  };
  let_receives_fail(1);
  check(bytes_left(make, [] {}) < requests * bytes_of_one, "persistent requests without a handle are kept");
  let_receives_fail(0);
}

// A nonblocking call takes part all the same, and is gone when it is complete.
void check_memory_of_nonblocking() {
  const int send[2] = {1, 1};
  int recv[2] = {};
  MPI_Request request = MPI_REQUEST_NULL;
  const auto make = [&] { return MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, &request); };
  // More than the calls that can be in flight beside each other: those before them are complete then.
  const auto complete = [&] {
    let_generalised_fail(0);
    for (int call = 0; call < 8; ++call) {
      check(make() == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a call after many errors");
    }
    let_generalised_fail(1);
  };
  let_generalised_fail(1);
  check(bytes_left(make, complete) < requests * bytes_of_one, "nonblocking calls without a handle are kept");
  check(recv[0] == 1 && recv[1] == 1, "the data of calls without a handle");
  let_generalised_fail(0);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  must(size == 2, "two ranks");
  check_receive();
  check_memory();
  check_memory_of_nonblocking();
  check_broadcast();
  MPI_Finalize();
  return say_verdict();
}
