// A call that the MPI carries out, by its own nonblocking function.
#pragma once

#include <vector>

#include "collective/arguments.hpp"
#include "run/call.hpp"

namespace quadrille::run {

class NativeRun {
 public:
  using Arguments = SideArguments<MPI_Datatype, MPI_Aint>;

  // The arrays of the call, of so many blocks, need not outlive it. Counts are ints.
  NativeRun(const Call& call, int send_blocks, int recv_blocks);
  NativeRun(const NativeRun&) = delete;
  NativeRun& operator=(const NativeRun&) = delete;

  // Neither waits. Both return an MPI error code.
  int start();
  int advance();
  bool done() const { return !under_way_; }

 private:
  int start_allgatherw(Arguments send, const Arguments& recv, MPI_Comm comm);

  const StoredCall call_;
  const int send_blocks_;
  std::vector<int> counts_;  // of the blocks of an allgatherw, which no MPI has
  std::vector<MPI_Aint> displacements_;
  std::vector<MPI_Datatype> types_;
  MPI_Request request_{};
  bool under_way_ = false;
};

}  // namespace quadrille::run
