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
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/bruck_index.hpp"
#include "plan/cyclic.hpp"

namespace quadrille::plan {
namespace {

using bruck::Moved;

// Runs of as many scratch blocks each, used again when they are given back.
class Runs {
 public:
  Runs(int first, int blocks) : next_(first), blocks_(blocks) {}
  int take() {
    if (free_.empty()) return std::exchange(next_, next_ + blocks_);
    const int first = free_.back();
    free_.pop_back();
    return first;
  }
  void give_back(int first) { free_.push_back(first); }

 private:
  std::vector<int> free_;
  int next_, blocks_;
};

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
struct Away {
  std::int64_t step;
  int peer;
  int carried;  // which of the carrier's destinations it is for; of what comes: the distance of its node
  int first, blocks;
};

class Hierarchical {
 public:
  Hierarchical(const Problem& problem, bool uneven)
      : me_(problem.me),
        ranks_(problem.ranks),
        nodes_(problem.nodes->nodes),
        node_(problem.nodes->node_of[static_cast<std::size_t>(me_)]),
        radix_(value_of(problem.parameters, "radix", 2)),
        burst_(value_of(problem.parameters, "burst", standard_away_steps)),
        staggered_(value_of(problem.parameters, "exchange", 0) != 0),
        uneven_(uneven),
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
    return uneven_ ? with_sizes(builder_.take(), me_, ranks_) : builder_.take();
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
    runs_.emplace(carried_blocks(size_), widest(size_));
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

  // Calls visit(digit, moved, lower), `lower` the ranks that the block has moved before.
  template <class Visit>
  void for_each(std::int64_t weight, int digit, Visit visit) const {
    bruck::for_each_moved(size_, radix_, weight, digit,
                          [&](const Moved& moved) { visit(moved, static_cast<int>(moved.block % weight)); });
  }

  // What travels with one message: for each block of Bruck's its bundle. `at` is the local number of the sender;
  // visit(moved, lower, bundle, k).
  template <class Visit>
  void add_spans(std::int64_t weight, int digit, int at, Visit visit) {
    for_each(weight, digit, [&](const Moved& moved, int lower) {
      const std::vector<int>& all = bundle(at - moved.high * static_cast<int>(weight));
      for (std::size_t k = 0; k < all.size(); ++k) visit(moved, lower, all, k);
    });
  }

  void add_inside(std::int64_t weight) {
    const int step = static_cast<int>(weight);
    const int digits = bruck::largest_digit(size_, radix_, weight);
    builder_.begin_round();
    std::vector<int> sent;
    for (int digit = 1; digit <= digits; ++digit) {
      builder_.send(rank_here(local_ - digit * step));
      for_each(weight, digit, [&](const Moved& moved, int) { sent.push_back(waiting(moved)); });
      add_spans(weight, digit, local_, [&](const Moved& moved, int, const std::vector<int>& all, std::size_t k) {
        add(moved.first ? own(all[k]) : Span{me_, waiting(moved) + static_cast<int>(k), Buffer::scratch});
      });
    }
    for (int digit = 1; digit <= digits; ++digit) {
      const int from = local_ + digit * step;
      builder_.receive(rank_here(from));
      for_each(weight, digit, [&](const Moved& moved, int) {
        if (moved.high >= radix_) waiting(moved) = runs_->take();
      });
      add_spans(weight, digit, from, [&](const Moved& moved, int lower, const std::vector<int>&, std::size_t k) {
        const int carried = static_cast<int>(k);
        if (moved.high >= radix_) return add({me_, waiting(moved) + carried, Buffer::scratch});
        add(k == 0 ? arrived(rank_here(from + lower)) : to_carry(moved.block, carried));
      });
    }
    for (const int run : sent) {
      if (run >= 0) runs_->give_back(run);
    }
  }

  // ---- Between nodes ----

  std::int64_t step_of(int distance, int destination_of_carrier, int block) const {
    const std::int64_t step = std::int64_t{distance - 1} * most_of_carrier_ + destination_of_carrier;
    return staggered_ ? step * most_ + block : step;
  }
  void add_away(std::vector<Away>& list, int distance, int destination, int peer, int carried, int blocks) const {
    const int each = staggered_ ? 1 : blocks;
    for (int first = 0; first < blocks; first += each) {
      list.push_back({step_of(distance, destination, first), peer, carried, first, each});
    }
  }

  // Both lists are in the order of their steps.
  std::vector<Away> what_goes() const {
    std::vector<Away> list;
    int carried = 0;
    for (int distance = 1; distance < nodes_; ++distance) {
      const std::vector<int>& there = members(cyclic(node_ + distance, nodes_));
      for (int local = local_; local < static_cast<int>(there.size()); local += size_) {
        add_away(list, distance, local / size_, there[static_cast<std::size_t>(local)], ++carried, size_);
      }
    }
    return list;
  }
  std::vector<Away> what_comes() const {
    std::vector<Away> list;
    for (int distance = 1; distance < nodes_; ++distance) {
      const int node = cyclic(node_ - distance, nodes_), size = size_of(node);
      add_away(list, distance, local_ / size, source(distance, 0), distance, size);
    }
    return list;
  }
  // The rank whose block is the k-th of those that come from the node at this distance.
  int source(int distance, int k) const {
    const std::vector<int>& there = members(cyclic(node_ - distance, nodes_));
    return there[static_cast<std::size_t>(local_ + k) % there.size()];
  }

  void add_between() {
    const std::vector<Away> goes = what_goes(), comes = what_comes();
    std::size_t sent = 0, received = 0;
    while (sent < goes.size() || received < comes.size()) {
      std::int64_t step = sent < goes.size() ? goes[sent].step : comes[received].step;
      if (received < comes.size()) step = std::min(step, comes[received].step);
      const std::int64_t end = (step / burst_ + 1) * burst_;
      const auto end_of = [end](const std::vector<Away>& list, std::size_t at) {
        while (at < list.size() && list[at].step < end) ++at;
        return at;
      };
      const std::size_t sent_end = end_of(goes, sent), received_end = end_of(comes, received);
      add_burst({goes.data() + sent, sent_end - sent}, {comes.data() + received, received_end - received});
      sent = sent_end;
      received = received_end;
    }
  }

  void add_burst(std::span<const Away> goes, std::span<const Away> comes) {
    builder_.begin_round();
    for (const Away& away : goes) {
      builder_.send(away.peer);
      for (int k = away.first; k < away.first + away.blocks; ++k) {
        add(k == 0 ? own(away.peer) : to_carry(k, away.carried));
      }
    }
    for (const Away& away : comes) {
      builder_.receive(away.peer);
      for (int k = away.first; k < away.first + away.blocks; ++k) add(arrived(source(away.carried, k)));
    }
  }

  int& waiting(const Moved& moved) { return waiting_[static_cast<std::size_t>(moved.block)]; }

  const int me_, ranks_, nodes_, node_;
  const std::int64_t radix_, burst_;
  const bool staggered_, uneven_;
  std::vector<std::vector<int>> members_;  // [node][local number]
  std::vector<std::vector<int>> bundles_;  // [local number]
  std::vector<int> waiting_;               // [block of Bruck's] where its bundle is; -1: in send
  int local_ = 0, size_ = 0;               // of this rank, of its node
  int most_ = 0;                           // ranks of a node
  int most_of_carrier_ = 1;                // destinations on one node
  std::optional<Runs> runs_;
  Builder builder_;
};

}  // namespace

Schedule tuna_hierarchical(const Problem& problem) { return Hierarchical(problem, false).build(); }
Schedule uneven_tuna_hierarchical(const Problem& problem) { return Hierarchical(problem, true).build(); }

}  // namespace quadrille::plan
