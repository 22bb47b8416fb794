// A dense collective inside a node, by an order of copies, as a call that can be started (copies.hpp). It has control
// memory of its own, so that ranks may start several in different orders.
//
// A start publishes where this rank's blocks are. Progress copies when all ranks have published, and leaves when all
// have copied. The owner copies blocks outside of the shared heap once more. If the memory for that is unavailable on
// some rank, all ranks exchange by pairs instead.
#pragma once

#include <optional>
#include <vector>

#include "memory/pairs.hpp"
#include "memory/pool.hpp"
#include "run/copies.hpp"
#include "run/dense_blocks.hpp"
#include "run/node_run.hpp"

namespace quadrille::run {

class NodeCopiesRun {
 public:
  // Every rank maps every rank's shared heap. All of these must outlive it; the arrays of the call need not.
  NodeCopiesRun(const Call& call, const plan::Schedule& schedule, Group& group, memory::Inbox& inbox,
                memory::Pairs& pairs, SharedBlocks::By by = SharedBlocks::By::heaps);
  NodeCopiesRun& operator=(NodeCopiesRun&&) = delete;

  // Neither waits. Both return an MPI error code.
  int start();
  int advance();
  bool done() const { return !now_ && (!instead_ || instead_->done()); }
  bool calls_mpi() const { return may_have_gaps(call_.call()); }  // in advance(): to unpack

 private:
  struct Now {
    DenseBlocks blocks;
    SharedBlocks shared;
    Copies<DenseBlocks> copies;
    Now(const Call& call, const plan::Schedule& schedule, Group& group, const CopyMeans& means, SharedBlocks::By by)
        : blocks(call, schedule, group, means.pairs),
          shared(group, means.pairs, by),
          copies(call, blocks, shared, group, means) {}
  };

  const StoredCall call_;
  const plan::Schedule& schedule_;
  Group& group_;
  memory::Inbox& inbox_;  // for another way
  memory::Pairs& pairs_;
  memory::Packing packing_;
  memory::CopyPlan copying_;
  std::vector<std::size_t> came_;
  const SharedBlocks::By by_;
  std::optional<Now> now_;  // the start in flight, while it copies
  std::optional<NodeRun> instead_;
};

}  // namespace quadrille::run
