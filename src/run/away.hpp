// The blocks of a dense call between this rank and those of other nodes: the messages of a plan
// (plan/between_nodes.cpp), in flight while the caller does what is inside the node, or afterwards.
//
// They are a call bound to a schedule (run/bound_run.hpp), without the blocks of the node. In an allgather blocks are
// forwarded from the receive buffer, also those of the node.
#pragma once

#include "run/engines.hpp"

namespace quadrille::run {

class AwayMessages {
 public:
  // `schedule`: its rounds from the first with messages on; if it has scratch, ranks forward blocks. There are other
  // nodes. All of these must outlive it. `eager`: if blocks of different sizes are forwarded, see CarriedLimits.
  AwayMessages(const Call& call, const plan::Schedule& schedule, Group& group, std::size_t eager = 0)
      : waiter_(group.waiter),
        memory_(group.scratch.messages),
        run_(call, schedule, Moving{.as_bytes = schedule.scratch_blocks > 0, .eager = eager}, traffic_of(group),
             memory_.kept, group.reach().local) {}
  AwayMessages& operator=(AwayMessages&&) = delete;
  // No message may be in flight to memory that the caller frees. Where a rank may fail, the transport sees to that.
  ~AwayMessages() {
    if (!reports_faults()) run_.advance(true);
  }

  // May it be begun before what is done inside the node?
  bool is_beside() const { return run_.is_beside(); }
  // Starts the first batch. If blocks are forwarded, the ranks first agree whether all have memory.
  void begin() { keep(error_, run_.start()); }

  // Waits for all messages, batch by batch. Returns an MPI error code. `meanwhile` does what ranks of this node may
  // need of this one: a rank of another node may wait for them before it starts the batch that we wait for. A peer may
  // also wait for a call that this rank has started and left: the waiter keeps it moving.
  template <class Meanwhile>
  int finish(const Meanwhile& meanwhile) {
    waiter_.until([&] {
      keep(error_, run_.advance());
      if (run_.done()) return true;
      meanwhile();
      return false;
    });
    return error_;
  }

 private:
  const sys::Waiter& waiter_;
  const BlockingMemory memory_;
  BoundRun run_;
  int error_ = mpi_success;
};

}  // namespace quadrille::run
