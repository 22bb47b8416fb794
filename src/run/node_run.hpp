// A dense collective inside a node as a call that can be started: the exchange of node_exchange.cpp, through an inbox
// and rings that belong to one request, or to calls that follow each other.
//
// A start comes after the end of the one before, so no rank is more than one start ahead, as in blocking calls. XPMEM
// is not used: blocking calls, which another thread may make meanwhile, keep what it maps.
#pragma once

#include <memory>
#include <optional>

#include "memory/pool.hpp"
#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::run {

class NodeExchange;

class NodeRun {
 public:
  // `pairs`: null if all ranks know that every block fits a slot. They, the group and the inbox must outlive it; the
  // arrays of the call need not.
  // `copying`: that of the group, as it was when the request was made.
  NodeRun(const Call& call, Group& group, memory::Inbox& inbox, memory::Pairs* pairs, const memory::CopyPlan& copying);
  NodeRun& operator=(NodeRun&&) = delete;
  ~NodeRun();

  // Neither waits. Both return an MPI error code. Only the first start() takes memory, and those of calls with gaps in
  // their blocks.
  int start();
  int advance();
  bool done() const;
  bool calls_mpi() const { return may_have_gaps(call_.call()); }  // in advance(): to unpack
  // Peers need no more of this rank than its start.
  bool sends_all_at_start() const { return pairs_ == nullptr; }

 private:
  const StoredCall call_;
  Group& group_;
  memory::Inbox& inbox_;
  memory::Pairs* const pairs_;
  NodeWork work_;
  memory::Packing packing_;
  memory::CopyPlan copying_;
  std::unique_ptr<std::optional<NodeExchange>> now_;  // the last start
};

}  // namespace quadrille::run
