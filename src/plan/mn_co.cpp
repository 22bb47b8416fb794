// All-to-all and allgather in Morton order between ranks: mn-co.
//
// Idea    The square of all blocks (source, destination) is cut into P rectangles, as squarish as they can be, by
//         halving ranks and the longer side together: pieces of the Z curve. Each rank carries one. A source sends all
//         its blocks of a rectangle to the carrier, in one message; the carrier sends all that it has for a destination
//         there, in one message. So a rank sends about sqrt(P) messages, twice, and all of a phase are in flight
//         together; Bruck's log P rounds wait for each other.
// Source  Li, Zhang and Hoefler, section 2.5 (MN-CO), for powers of two; for other P the halving shares the sides in
//         proportion to the ranks. ("Phase (2)" of its last count means phase 3.)
// Cost    2 rounds. P = 2^n, n even: at most sqrt(P) messages each way in both; n odd: sqrt(2 P) in the first, sqrt(P /
//         2) in the second. Each block moves at most twice, and lies in scratch between; the block that a rank sends to
//         itself is copied. An allgather: the same messages, no scratch; P - 1 blocks come to each rank.
//
// Of uneven blocks the sizes travel with them, in both rounds.
//
// Example, P = 4. Rank 0 carries the blocks of sources 0, 1 for destinations 0, 1; rank 1 those of sources 2, 3 for 0,
// 1; rank 2 those of 0, 1 for 2, 3; rank 3 those of 2, 3 for 2, 3. Rank 1, "sd" the block from s to d:
//   copy     11
//   round 1  send 10 to 0; 12 13 to 2              receive 20 21 from 2; 30 31 from 3
//   round 2  send 20 30 to 0                       receive 01 from 0
#include <algorithm>
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/order_parts.hpp"

namespace quadrille::plan {
namespace {

// `ranks` ranks from `first` on carry the blocks of `box`.
void share_out(const Box& box, int first, int ranks, std::vector<Box>& carried) {
  if (ranks == 1) {
    carried[static_cast<std::size_t>(first)] = box;
    return;
  }
  const int half = ranks / 2;
  const auto [one, other] =
      cut(box, [&](int side) { return static_cast<int>((std::int64_t{side} * half + ranks / 2) / ranks); });
  share_out(one, first, half, carried);
  share_out(other, first + half, ranks - half, carried);
}

// [rank] the blocks that it carries; maybe none.
std::vector<Box> shares(int ranks) {
  std::vector<Box> carried(static_cast<std::size_t>(ranks));
  share_out({0, 0, ranks, ranks}, 0, ranks, carried);
  return carried;
}

bool has_source(const Box& box, int rank) { return rank >= box.source && rank < box.source + box.sources; }
bool has_destination(const Box& box, int rank) {
  return rank >= box.destination && rank < box.destination + box.destinations;
}

class Carriers {
 public:
  Carriers(const Problem& problem, Pattern pattern)
      : me_(problem.me),
        ranks_(problem.ranks),
        gathers_(pattern == Pattern::allgather),
        all_(shares(problem.ranks)),
        mine_(of(me_)),
        builder_(me_) {}

  Schedule build() {
    if (!gathers_) number_scratch();
    builder_.begin_round();
    builder_.copy(Buffer::send, gathers_ ? 0 : me_, Buffer::recv, me_);
    for (int i = 1; i < ranks_; ++i) to_carrier(me_, cyclic(me_ + i, ranks_));
    for (int i = 1; i < ranks_; ++i) to_carrier(cyclic(me_ - i, ranks_), me_);
    builder_.begin_round();
    for (int i = 1; i < ranks_; ++i) from_carrier(me_, cyclic(me_ + i, ranks_));
    for (int i = 1; i < ranks_; ++i) from_carrier(cyclic(me_ - i, ranks_), me_);
    return builder_.take();
  }

 private:
  const Box& of(int rank) const { return all_[static_cast<std::size_t>(rank)]; }
  std::size_t pair(int source, int destination) const {
    return static_cast<std::size_t>((source - mine_.source) * mine_.destinations + destination - mine_.destination);
  }
  // Blocks that come from others and are for others.
  void number_scratch() {
    scratch_.assign(static_cast<std::size_t>(pairs_in(mine_)), -1);
    int next = 0;
    for (int s = mine_.source; s < mine_.source + mine_.sources; ++s) {
      for (int d = mine_.destination; d < mine_.destination + mine_.destinations; ++d) {
        if (s != me_ && d != me_ && s != d) scratch_[pair(s, d)] = next++;
      }
    }
    // Of blocks of one size all must agree how much room they need (run/bound_run.hpp).
    for (int rank = 0; rank < ranks_; ++rank) next = std::max(next, passed_on(of(rank), rank));
    builder_.scratch(static_cast<std::uint32_t>(next));
  }
  // Blocks of `box` that come to `rank` from others and are for others.
  static int passed_on(const Box& box, int rank) {
    const bool from = has_source(box, rank), to = has_destination(box, rank);
    const int end = std::min(box.source + box.sources, box.destination + box.destinations);
    const int own = std::max(0, end - std::max(box.source, box.destination)) - (from && to ? 1 : 0);
    return (box.sources - (from ? 1 : 0)) * (box.destinations - (to ? 1 : 0)) - own;
  }

  // Of an allgather: what a rank carries it has; the block that it carries from itself, too.
  bool has(int rank, int source) const {
    return source == rank || (of(rank).destinations > 0 && has_source(of(rank), source));
  }

  // Adds a block that this rank sends or receives, where it lies.
  void add(int source, int destination) {
    if (gathers_ ? has(destination, source) : source == destination) return;
    if (gathers_) return builder_.span(Buffer::recv, source);
    if (source == me_) return builder_.span(Buffer::send, destination);
    if (destination == me_) return builder_.span(Buffer::recv, source);
    builder_.span(Buffer::scratch, scratch_[pair(source, destination)]);
  }

  // The message from a source to a carrier, and the one from there; this rank is one of the two.
  void to_carrier(int source, int carrier) {
    const Box& box = of(carrier);
    if (!has_source(box, source)) return;
    source == me_ ? builder_.send(carrier) : builder_.receive(source);
    if (gathers_ && box.destinations > 0) {
      source == me_ ? builder_.span(Buffer::send, 0) : builder_.span(Buffer::recv, source);
    }
    for (int d = 0; d < box.destinations && !gathers_; ++d) add(source, box.destination + d);
    builder_.drop_empty_message();
  }
  void from_carrier(int carrier, int destination) {
    const Box& box = of(carrier);
    if (!has_destination(box, destination)) return;
    carrier == me_ ? builder_.send(destination) : builder_.receive(carrier);
    for (int s = box.source; s < box.source + box.sources; ++s) add(s, destination);
    builder_.drop_empty_message();
  }

  const int me_, ranks_;
  const bool gathers_;
  const std::vector<Box> all_;
  const Box mine_;
  std::vector<int> scratch_;  // [pair of mine_] -1: the block is never there
  Builder builder_;
};

}  // namespace

Schedule mn_co(const Problem& problem) { return Carriers(problem, Pattern::alltoall).build(); }
Schedule uneven_mn_co(const Problem& problem) { return with_sizes(mn_co(problem), problem.me, problem.ranks); }
Schedule allgather_mn_co(const Problem& problem) { return Carriers(problem, Pattern::allgather).build(); }

}  // namespace quadrille::plan
