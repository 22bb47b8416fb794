// Which blocks a dense collective has inside a node.
#pragma once

#include <utility>
#include <vector>

#include "plan/schedule.hpp"
#include "run/call.hpp"
#include "run/group.hpp"
#include "run/shared_blocks.hpp"

namespace quadrille::run {

// A block to each rank of the node and one from each, or one block to all: a Shape for Copies (copies.hpp).
class DenseBlocks {
 public:
  DenseBlocks(const Call& call, const plan::Schedule& schedule, Group& group, memory::Pairs& pairs)
      : schedule_(schedule), group_(group), pairs_(pairs), gather_(is_allgather(call.collective)) {}
  int sends() const { return gather_ ? 1 : group_.ranks_here(); }
  int recvs() const { return group_.ranks_here(); }
  int send_block(int i) const { return gather_ ? 0 : group_.member(i); }
  int recv_block(int i) const { return group_.member(i); }
  std::pair<int, int> origin(int i) const { return {group_.member(i), gather_ ? 0 : group_.me}; }
  const std::vector<plan::Copy>& copies() const { return schedule_.copies; }
  bool open() { return true; }
  BlockPlace* mine(Owned which) const { return places_of(which, group_.me); }
  const BlockPlace* places(Owned which, int owner) const { return places_of(which, owner); }
  // The tables have as many places as the node has ranks.
  int place_of(Owned which, int block) const {
    return gather_ && which == Owned::send ? block : group_.local_of(block);
  }

 private:
  BlockPlace* places_of(Owned which, int owner) const {
    return pairs_.places(which, group_.local_of(owner));
  }

  const plan::Schedule& schedule_;
  Group& group_;
  memory::Pairs& pairs_;
  const bool gather_;
};

}  // namespace quadrille::run
