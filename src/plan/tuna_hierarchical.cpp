// Bruck of any radix inside each node, then one direct exchange between the nodes: tuna-hierarchical.
//
// Idea    Inside its node a rank hands each block to the rank there that has the same local number as the block's
//         destination has on its own node: the carrier. All blocks with one carrier travel together, as one block of
//         Bruck's algorithm does, with those that stay in the node. Then each rank carries Q blocks for each rank of
//         its local number, one from each rank of its node, and sends them straight to their destination: all in one
//         message (coalesced), or one message a block (staggered), in bursts. So of P - Q messages of a rank between
//         nodes (P - Q) / Q are left, or as many as before, but none larger than a block.
// Source  Fan, Domke, Ba and Kumar, HPDC 2025, "Parameterized algorithms for non-uniform all-to-all"
//         (arXiv 2411.02581: hierarchical TuNA), for nodes of Q ranks each.
// Cost    N nodes of Q ranks. Inside: the rounds and messages of Bruck's algorithm among Q ranks, each with N times
//         the blocks. Between: N - 1 messages of Q blocks, or Q (N - 1) of one; ceil(steps / burst) rounds, where
//         steps are as many as messages. Scratch: (Q - 1) (N - 1) blocks to be carried, and N for each block of
//         Bruck's that waits or arrives to wait in a round. Where nodes differ, as much on all as the most.
//
// Nodes of other sizes: the carrier in a node of q ranks for local number n is its rank n mod q. So some ranks of a
// large node carry nothing to a small one, and one of a small node sends to several of a large one. Between two nodes
// a message goes to each rank of the destination node, whatever their sizes; each rank receives one from each other
// node.
//
// A burst is a round. A message is in the same step, so in the same burst, on both sides: steps are numbered by the
// distance of the nodes, then by which of a carrier's destinations there it is, then, staggered, by the block. Where
// nodes differ some steps of a rank are empty.
//
// Of uneven blocks the sizes travel with all messages, those between nodes too.
//
// Example, ranks 0 and 1 on one node, 2 and 3 on another. Rank 1, "sd" the block from s to d:
//   copy       11
//   inside     send 10, and 12 to be carried, to 0          receive 01, and 03 to be carried, from 0
//   coalesced  send 13 03 to 3                              receive 31 21 from 3
//   staggered  send 13 to 3; 03 to 3                        receive 31 from 3; 21 from 3
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/bruck.hpp"

namespace quadrille::plan {
namespace {

using bruck::Moved;

// The most bundles of Bruck's algorithm among `ranks` ranks that wait before a round or come to wait in it.
int most_waiting(int ranks, std::int64_t radix) {
  std::int64_t most = 0;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    const std::int64_t wait = ranks - weight - (ranks - 1) / weight;
    const std::int64_t arrive = std::min<std::int64_t>(ranks, weight * radix) - weight;
    const std::int64_t come = bruck::blocks_moved(ranks, radix, weight) - arrive;
    most = std::max(most, wait + come);
  }
  return static_cast<int>(most);
}

// A message between nodes. The k-th of its blocks is that of the k-th rank after the carrier on its node.
struct Parcel {
  int peer;
  int carried;  // which of the carrier's destinations it is for; of what comes: the distance of its node
  int first, blocks;
};
// The messages of a round between nodes, in the order of their steps.
struct Burst {
  std::vector<Parcel> goes, comes;
};

class Hierarchical {
 public:
  explicit Hierarchical(const Problem& problem)
      : me_(problem.me),
        nodes_(problem.nodes->nodes),
        node_(problem.nodes->node_of[static_cast<std::size_t>(me_)]),
        radix_(value_of(problem.parameters, "radix", 2)),
        burst_(value_of(problem.parameters, "burst", standard_away_steps)),
        staggered_(value_of(problem.parameters, "exchange", 0) != 0),
        members_(problem.nodes->members()),
        builder_(me_) {
    place_ranks();
    number_scratch();
  }

  Schedule build() {
    builder_.begin_round();
    builder_.copy(Buffer::send, me_, Buffer::recv, me_);
    for (std::int64_t weight = 1; weight < size_; weight *= radix_) add_inside(weight);
    add_between();
    return builder_.take();
  }

 private:
  const std::vector<int>& members(int node) const { return members_[static_cast<std::size_t>(node)]; }
  int size_of(int node) const { return static_cast<int>(members(node).size()); }
  int rank_here(int local) const { return members(node_)[static_cast<std::size_t>(cyclic(local, size_))]; }
  // The destinations of the blocks that one rank of the node has for carrier `local`: itself first.
  const std::vector<int>& bundle(int local) const { return bundles_[static_cast<std::size_t>(cyclic(local, size_))]; }

  void place_ranks() {
    local_ = static_cast<int>(std::ranges::find(members(node_), me_) - members(node_).begin());
    size_ = size_of(node_);
    for (const int rank : members(node_)) bundles_.push_back({rank});
    int least = size_;
    for (int distance = 0; distance < nodes_; ++distance) {
      const std::vector<int>& there = members(cyclic(node_ + distance, nodes_));
      least = std::min(least, static_cast<int>(there.size()));
      most_ = std::max(most_, static_cast<int>(there.size()));
      for (std::size_t n = 0; n < there.size() && distance > 0; ++n) {
        bundles_[n % static_cast<std::size_t>(size_)].push_back(there[n]);
      }
    }
    most_of_carrier_ = (most_ + least - 1) / least;
  }

  // The most blocks that one rank of a node of `size` ranks has for a carrier.
  int widest(int size) const {
    int blocks = 0;
    for (const std::vector<int>& node : members_) blocks += (static_cast<int>(node.size()) + size - 1) / size;
    return blocks;
  }
  int carried_blocks(int size) const { return (size - 1) * (widest(size) - 1); }

  // As much on all ranks: of blocks of one size all must agree how much room they need (run/bound_run.hpp).
  void number_scratch() {
    std::set<int> sizes;
    for (const std::vector<int>& node : members_) sizes.insert(static_cast<int>(node.size()));
    int most = 0;
    for (const int size : sizes) {
      most = std::max(most, carried_blocks(size) + most_waiting(size, radix_) * widest(size));
    }
    builder_.scratch(static_cast<std::uint32_t>(most));
    for (int run = most_waiting(size_, radix_); run-- > 0;) {
      free_.push_back(carried_blocks(size_) + run * widest(size_));
    }
    waiting_.assign(static_cast<std::size_t>(size_), -1);
  }

  // ---- Where blocks are ----

  Span own(int destination) const { return {me_, destination, Buffer::send}; }
  Span arrived(int source) const { return {me_, source, Buffer::recv}; }
  // The block from the rank of the node `after` places after me, at least one, for my `carried`-th destination.
  Span to_carry(int after, int carried) const {
    return {me_, (carried - 1) * (size_ - 1) + after - 1, Buffer::scratch};
  }
  void add(const Span& span) { builder_.span(span.buffer, span.block); }

  // ---- Inside the node ----

  // What travels with one message: for each block of Bruck's its bundle. `at` is the local number of the sender;
  // visit(moved, bundle, k).
  template <class Visit>
  void add_spans(std::int64_t weight, int digit, int at, Visit visit) {
    bruck::for_each_moved(size_, radix_, weight, digit, [&](const Moved& moved) {
      const std::vector<int>& all = bundle(at - moved.high * static_cast<int>(weight));
      for (std::size_t k = 0; k < all.size(); ++k) visit(moved, all, k);
    });
  }

  void add_inside(std::int64_t weight) {
    const int step = static_cast<int>(weight);
    const int digits = bruck::largest_digit(size_, radix_, weight);
    builder_.begin_round();
    std::vector<int> sent;
    for (int digit = 1; digit <= digits; ++digit) {
      builder_.send(rank_here(local_ - digit * step));
      add_spans(weight, digit, local_, [&](const Moved& moved, const std::vector<int>& all, std::size_t k) {
        if (k == 0) sent.push_back(waiting(moved));
        add(moved.first ? own(all[k]) : Span{me_, waiting(moved) + static_cast<int>(k), Buffer::scratch});
      });
    }
    for (int digit = 1; digit <= digits; ++digit) {
      const int from = local_ + digit * step;
      builder_.receive(rank_here(from));
      add_spans(weight, digit, from, [&](const Moved& moved, const std::vector<int>&, std::size_t k) {
        const int carried = static_cast<int>(k), lower = moved.block % step;  // ranks that it has moved before
        if (moved.high < radix_) return add(k == 0 ? arrived(rank_here(from + lower)) : to_carry(moved.block, carried));
        if (k == 0) {
          waiting(moved) = free_.back();
          free_.pop_back();
        }
        add({me_, waiting(moved) + carried, Buffer::scratch});
      });
    }
    for (const int run : sent) {
      if (run >= 0) free_.push_back(run);
    }
  }

  // ---- Between nodes ----

  std::int64_t step_of(int distance, int destination_of_carrier, int block) const {
    const std::int64_t step = std::int64_t{distance - 1} * most_of_carrier_ + destination_of_carrier;
    return staggered_ ? step * most_ + block : step;
  }
  void add_away(std::vector<Parcel> Burst::*list, int distance, int destination, int peer, int carried, int blocks) {
    const int each = staggered_ ? 1 : blocks;
    for (int first = 0; first < blocks; first += each) {
      (bursts_[step_of(distance, destination, first) / burst_].*list).push_back({peer, carried, first, each});
    }
  }

  void add_what_goes() {
    int carried = 0;
    for (int distance = 1; distance < nodes_; ++distance) {
      const std::vector<int>& there = members(cyclic(node_ + distance, nodes_));
      for (int local = local_; local < static_cast<int>(there.size()); local += size_) {
        add_away(&Burst::goes, distance, local / size_, there[static_cast<std::size_t>(local)], ++carried, size_);
      }
    }
  }
  void add_what_comes() {
    for (int distance = 1; distance < nodes_; ++distance) {
      const int node = cyclic(node_ - distance, nodes_), size = size_of(node);
      add_away(&Burst::comes, distance, local_ / size, source(distance, 0), distance, size);
    }
  }
  // The rank whose block is the k-th of those that come from the node at this distance.
  int source(int distance, int k) const {
    const std::vector<int>& there = members(cyclic(node_ - distance, nodes_));
    return there[static_cast<std::size_t>(local_ + k) % there.size()];
  }

  void add_between() {
    add_what_goes();
    add_what_comes();
    for (const auto& [number, burst] : bursts_) add_burst(burst);
  }

  void add_burst(const Burst& burst) {
    builder_.begin_round();
    for (const Parcel& parcel : burst.goes) {
      builder_.send(parcel.peer);
      for (int k = parcel.first; k < parcel.first + parcel.blocks; ++k) {
        add(k == 0 ? own(parcel.peer) : to_carry(k, parcel.carried));
      }
    }
    for (const Parcel& parcel : burst.comes) {
      builder_.receive(parcel.peer);
      for (int k = parcel.first; k < parcel.first + parcel.blocks; ++k) add(arrived(source(parcel.carried, k)));
    }
  }

  int& waiting(const Moved& moved) { return waiting_[static_cast<std::size_t>(moved.block)]; }

  const int me_, nodes_, node_;
  const std::int64_t radix_, burst_;
  const bool staggered_;
  std::vector<std::vector<int>> members_;  // [node][local number]
  std::vector<std::vector<int>> bundles_;  // [local number]
  std::vector<int> waiting_;               // [block of Bruck's] where its bundle is; -1: in send
  int local_ = 0, size_ = 0;               // of this rank, of its node
  int most_ = 0;                           // ranks of a node
  int most_of_carrier_ = 1;                // destinations on one node
  std::vector<int> free_;                  // scratch blocks from which on a bundle may wait
  std::map<std::int64_t, Burst> bursts_;
  Builder builder_;
};

}  // namespace

Schedule tuna_hierarchical(const Problem& problem) { return Hierarchical(problem).build(); }
Schedule uneven_tuna_hierarchical(const Problem& problem) {
  return with_sizes(tuna_hierarchical(problem), problem.me, problem.ranks);
}

}  // namespace quadrille::plan
