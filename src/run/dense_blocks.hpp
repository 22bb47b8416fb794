// Which blocks a dense collective has inside a node.
#pragma once

#include <span>
#include <utility>

#include "plan/schedule.hpp"
#include "run/call.hpp"
#include "run/group.hpp"
#include "run/shared_blocks.hpp"

namespace quadrille::run {

// A block to each rank of the node and one from each, or one block to all: a Shape for Copies (copies.hpp).
class DenseBlocks {
 public:
  DenseBlocks(const Call& call, const plan::Schedule& schedule, Group& group, memory::Pairs& pairs)
      : copies_(plan::copies_inside_node(schedule)),
        group_(group),
        pairs_(pairs),
        gather_(is_allgather(call.collective)) {}
  int sends() const { return gather_ ? 1 : group_.ranks_here(); }
  int recvs() const { return group_.ranks_here(); }
  int send_block(int i) const { return gather_ ? 0 : group_.member(i); }
  int recv_block(int i) const { return group_.member(i); }
  std::pair<int, int> origin(int i) const { return {group_.member(i), gather_ ? 0 : group_.me}; }
  std::span<const plan::Copy> copies() const { return copies_; }

  // Tables, if they are needed, have as many places as the node has ranks, in their order.
  bool open() {
    const int me = group_.local_of(group_.me);
    sent_ = memory::RuleFinder(pairs_.places(Owned::send, me));
    received_ = memory::RuleFinder(pairs_.places(Owned::recv, me));
    return true;
  }
  // In the order of the blocks.
  void put(Owned which, int, const BlockPlace& place) { (which == Owned::send ? sent_ : received_).add(place); }
  void close() {
    pairs_.meeting().set_rule(Owned::send, sent_.rule());
    pairs_.meeting().set_rule(Owned::recv, received_.rule());
  }
  bool look_up(Owned which, int owner, int block, BlockPlace& place) const {
    const int number = gather_ && which == Owned::send ? block : group_.local_of(block), of = group_.local_of(owner);
    const memory::BlockRule& rule = pairs_.meeting().rule(which, of);
    place = rule.regular != 0 ? rule.block(number) : pairs_.places(which, of)[number];
    return true;
  }

 private:
  const std::span<const plan::Copy> copies_;
  Group& group_;
  memory::Pairs& pairs_;
  const bool gather_;
  memory::RuleFinder sent_{nullptr}, received_{nullptr};
};

}  // namespace quadrille::run
