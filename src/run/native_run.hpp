// A call that the MPI serves, with its own function with int counts. If one count for all blocks exceeds an int, the
// MPI gets larger elements.
#pragma once

#include <memory>

#include "collective/collective.hpp"
#include "run/call.hpp"
#include "run/op.hpp"

namespace quadrille::run {

class NativeRun {
 public:
  using Arguments = SideArguments<MpiType, MpiTypes, MpiAint>;

  // The arrays of the call outlive this, and their counts are ints. `send_blocks`: the blocks that an allgatherw sends.
  // `user`, which outlives this, is the communicator of the call, or null when the program has freed it.
  NativeRun(const Call& call, int send_blocks, const MpiComm& user);
  // Of a request that the MPI has made: a nonblocking one is in flight, a persistent one is started at each start, and
  // freed with this.
  NativeRun(MpiRequest made, bool persistent, const MpiComm& user);
  ~NativeRun();
  NativeRun& operator=(NativeRun&&) = delete;

  // Neither waits. Both return an MPI error code. Where one thread alone calls MPI they call no error handler of the
  // program: the caller calls it after releasing its lock.
  int start();
  int advance();
  bool done() const { return !under_way_; }
  // The MPI has called its own error handler for what advance() returned: the communicator may be gone by then.
  bool has_raised() const { return has_raised_; }

 private:
  const Call call_;
  const MpiComm& user_;
  const int send_blocks_;
  std::shared_ptr<const void> lent_;  // what the call uses that is ours
  MpiRequest request_{};
  enum class Made { by_start, before, to_be_started } made_ = Made::by_start;
  bool under_way_ = false, has_raised_ = false;
};

using NativeOp = OpOf<Carrier::mpi, NativeRun>;

// Has the MPI a blocking function that takes the call, as it is or with larger elements? Else what stands in for it is
// not to be timed as the MPI's.
bool has_function(const Call& call);

// The MPI's own blocking function on that communicator, with the buffers and counts of a call, whose arrays are of
// ints. The MPI has such a function, or the call is an allgatherw that sends `send_blocks` blocks. Returns an MPI error
// code.
int run_native(const Call& call, MpiComm comm, int send_blocks = 0);

}  // namespace quadrille::run
