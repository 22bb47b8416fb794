// The blocks of a dense call between this rank and those of other nodes: the messages of a plan
// (plan/between_nodes.cpp), which the executor runs, while the caller does what is inside the node, or afterwards.
//
// If a plan has scratch, ranks forward blocks: then the messages are a call bound to a schedule, except for the
// blocks of the node, and take memory as all such calls do (run/bound_run.hpp). In an allgather blocks are forwarded
// from the receive buffer, also those of the node.
//
// A block with gaps goes from and to where it lies. In place it is received over, so all blocks are copied before the
// first arrives, and received packed: MPICH cuts a large packed message anywhere and then refuses to unpack part of an
// element.
//
// Without memory for these copies a rank sends from where the blocks lie, drops what comes, and returns an error.
#pragma once

#include <optional>

#include "run/blocks.hpp"
#include "run/bound_run.hpp"
#include "run/executor.hpp"
#include "run/mpi_transport.hpp"

namespace quadrille::run {

class AwayMessages : CallBlocks {
 public:
  // `schedule`: its rounds from the first with messages on. There are other nodes. All of these must outlive it.
  // `eager`: if blocks of different sizes are forwarded, see CarriedLimits.
  AwayMessages(const Call& call, const plan::Schedule& schedule, Group& group, std::size_t eager = 0);
  ~AwayMessages();

  // May it be begun before what is done inside the node?
  bool is_beside() const { return beside_; }
  // Starts the first batch. If blocks are forwarded, the ranks first agree whether all have memory.
  void begin();

  // Waits for all messages, batch by batch. Returns an MPI error code. `meanwhile` does what ranks of this node may
  // need of this one: a rank of another node may wait for them before it starts the batch that we wait for. A peer may
  // also wait for a call that this rank has started and left: the waiter keeps it moving.
  template <class Meanwhile>
  int finish(const Meanwhile& meanwhile) {
    group_.waiter.until([&] {
      advance(false);
      if (done()) return true;
      meanwhile();
      return false;
    });
    unpack();
    return error_;
  }

 private:
  void advance(bool block) { keep(error_, passed_on_ ? passed_on_->advance(block) : run_.advance(block)); }
  bool done() const { return passed_on_ ? passed_on_->done() : run_.done(); }
  void bind();
  bool take_room();
  void unpack();

  const bool unpacks_;
  Room send_room_, recv_room_;
  std::vector<Place>& send_places_;  // [rank]; without bytes for those of this node
  std::vector<Place>& recv_places_;
  MpiTransport transport_;
  Binding binding_;
  Execution run_;
  const std::size_t round_;
  const bool beside_;
  std::optional<BoundRun> passed_on_;
  bool has_room_ = true;
};

}  // namespace quadrille::run
