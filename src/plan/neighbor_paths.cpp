// The ways of blocks to neighbours on a grid: straightforward, torus, torus-direct, and basis; and the schedule that
// follows from them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/additive_basis.hpp"
#include "plan/neighborhood.hpp"
#include "text/hash.hpp"

namespace quadrille::plan {
namespace {

// ---- What the algorithms share: each of them says which way the blocks go through the grid, no more ----

// A hop of a block by a step. In an allgather blocks are equal, and hops from one place by the same
// step on the same edge are made once, for all blocks that need them.
struct Hop {
  std::int32_t step;
  std::int32_t edge = 0;
  friend bool operator==(const Hop&, const Hop&) = default;
};

// The same on all ranks. Steps are numbered in the order in which they are served; the steps of a
// path rise. Between origin and target a path must stay in the box that these two span in the
// dimensions that are not periodic: then it stays inside the mesh.
struct Paths {
  explicit Paths(Neighborhood way) : offsets(std::move(way)), steps{offsets.dimensions, {}} {}

  Neighborhood offsets;  // travelled()
  Neighborhood steps;
  std::vector<std::vector<Hop>> hops;  // [block]

  int dimensions() const { return offsets.dimensions; }
  int blocks() const { return offsets.size(); }
};

// ---- From the ways of the blocks to the schedule of one rank ----
//
// 1. Moves. A move is one hop of one block (allgather: of one block for all that need it there), as
//    seen from its origin; all ranks have the same moves. In an all-to-all the moves of a block are
//    a chain; in an allgather all moves together are the prefix trie of the paper.
// 2. Rounds. Each step goes into the first round that has room, at most `ports` steps, after those
//    of the moves before its own.
// 3. Spans. A rank serves a move for the block whose origin lies as many hops behind it as the
//    block has done. On a mesh, origin and target may lie outside: then there is no such block, and
//    both ends of the message find that out alike, because they look at the same origin.

struct Move {
  std::int32_t step;
  std::int32_t parent;  // the move before; -1: the block lies in send
  // All-to-all: the block. Allgather: the first block that ends with this move, or -1.
  std::int32_t block;
  std::int32_t left;  // all-to-all: hops left after this one
};

struct Moves {
  std::vector<Move> all;
  std::vector<std::vector<int>> of_step;
  std::vector<int> last;  // [block] its last move; -1: it has none
};

struct Branch {
  int parent;
  Hop hop;
  friend bool operator==(const Branch&, const Branch&) = default;
};

struct HashBranch {
  std::size_t operator()(const Branch& b) const {
    return static_cast<std::size_t>(text::Hash().add(b.parent).add(b.hop.step).add(b.hop.edge).value());
  }
};

// In an all-to-all each block has hops of its own.
Moves moves_along(const Paths& paths, Pattern pattern) {
  const bool shared = pattern == Pattern::allgather;
  Moves moves;
  moves.of_step.resize(static_cast<std::size_t>(paths.steps.size()));
  std::unordered_map<Branch, int, HashBranch> known;
  std::size_t all_hops = 0;
  for (const std::vector<Hop>& hops : paths.hops) all_hops += hops.size();
  if (shared) known.reserve(all_hops);
  for (int i = 0; i < paths.blocks(); ++i) {
    int move = -1;
    const std::vector<Hop>& hops = paths.hops[static_cast<std::size_t>(i)];
    auto left = static_cast<int>(hops.size());
    for (const Hop& hop : hops) {
      const auto next = static_cast<int>(moves.all.size());
      const int made = shared ? known.try_emplace(Branch{move, hop}, next).first->second : next;
      --left;
      if (made == next) {
        moves.all.push_back({hop.step, move, shared ? -1 : i, left});
        moves.of_step[static_cast<std::size_t>(hop.step)].push_back(next);
      }
      move = made;
    }
    if (move >= 0) {
      Move& end = moves.all[static_cast<std::size_t>(move)];
      if (end.block < 0) end.block = i;
    }
    moves.last.push_back(move);
  }
  return moves;
}

class Plan {
 public:
  Plan(const Paths& paths, const NeighborProblem& problem, Pattern pattern)
      : paths_(paths),
        problem_(problem),
        grid_(*problem.grid),
        pattern_(pattern),
        mesh_(!grid_.is_torus()),
        moves_(moves_along(paths, pattern)),
        done_{paths.dimensions(), {}},
        builder_(problem.me) {
    if (mesh_) measure();
    find_targets();
    find_rounds();
    if (pattern_ == Pattern::allgather) give_slots();
  }

  Schedule schedule() {
    builder_.begin_round();
    copy_own();
    for (const std::vector<int>& round : rounds_) {
      for (const int step : round) message(step, +1);
      for (const int step : round) message(step, -1);
      if (builder_.round_has_messages()) builder_.begin_round();
    }
    builder_.drop_empty_round();
    copy_duplicates();
    builder_.scratch(scratch_);
    return builder_.take();
  }

 private:
  const Move& move(int number) const { return moves_.all[static_cast<std::size_t>(number)]; }
  const std::vector<int>& moves_of(int step) const { return moves_.of_step[static_cast<std::size_t>(step)]; }
  std::size_t& round_of(int step) { return round_of_[static_cast<std::size_t>(step)]; }

  // --- the same on all ranks ---------------------------------------------------------------------

  // On a mesh: what a block has done after each move, as a vector.
  void measure() {
    for (const Move& move : moves_.all) {
      std::vector<int> done(paths_.steps.offset(move.step).begin(), paths_.steps.offset(move.step).end());
      for (std::size_t j = 0; j < done.size() && move.parent >= 0; ++j) done[j] += done_.offset(move.parent)[j];
      done_.add(done);
    }
  }

  // On a mesh: the blocks that need each move.
  void find_targets() {
    if (!mesh_ || pattern_ == Pattern::alltoall) return;
    targets_.resize(moves_.all.size());
    for (int i = 0; i < paths_.blocks(); ++i) {
      for (int m = moves_.last[static_cast<std::size_t>(i)]; m >= 0; m = move(m).parent) {
        targets_[static_cast<std::size_t>(m)].push_back(i);
      }
    }
  }

  // The steps of a path rise, so the moves before those of a step have their rounds already; and with one port the
  // steps stay in order.
  void find_rounds() {
    const std::int64_t ports = value_of(problem_.parameters, "ports", 1);
    const auto is_full = [&](std::size_t round) { return ports > 0 && std::ssize(rounds_[round]) >= ports; };
    std::size_t open = 0;  // all rounds before this one are full
    for (int step = 0; step < paths_.steps.size(); ++step) {
      while (open < rounds_.size() && is_full(open)) ++open;
      std::size_t round = open;
      for (const int m : moves_of(step)) {
        if (move(m).parent >= 0) round = std::max(round, round_of(move(move(m).parent).step) + 1);
      }
      while (round < rounds_.size() && is_full(round)) ++round;
      if (round == rounds_.size()) rounds_.emplace_back();
      rounds_[round].push_back(step);
      round_of_.push_back(round);
    }
  }

  // Allgather: scratch blocks for what only passes through. One is free again in the round after
  // the last one that reads it.
  void give_slots() {
    std::vector<std::size_t> last_reader(moves_.all.size(), 0);  // [move] the last round that reads what it brought
    for (const Move& next : moves_.all) {
      if (next.parent < 0) continue;
      std::size_t& last = last_reader[static_cast<std::size_t>(next.parent)];
      last = std::max(last, round_of(next.step));
    }
    slots_.assign(moves_.all.size(), -1);
    std::vector<std::vector<int>> last_read(rounds_.size());  // [round] slots
    std::vector<int> free;
    int slots = 0;
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      if (r > 0) free.insert(free.end(), last_read[r - 1].begin(), last_read[r - 1].end());
      for (const int step : rounds_[r]) {
        for (const int m : moves_of(step)) {
          if (move(m).block >= 0) continue;
          int& slot = slots_[static_cast<std::size_t>(m)];
          slot = free.empty() ? slots++ : free.back();
          if (!free.empty()) free.pop_back();
          last_read[std::max(r, last_reader[static_cast<std::size_t>(m)])].push_back(slot);
        }
      }
    }
  }

  // --- as this rank sees it ----------------------------------------------------------------------

  bool has_source(int block) const {
    return !mesh_ || rank_at(grid_, problem_.me, paths_.offsets.offset(block), -1) >= 0;
  }

  // Whether the block exists that makes move `m`, and is here after move `done`; -1: it has not moved.
  bool exists(int m, int done) const {
    if (!mesh_) return true;
    const int origin = done < 0 ? problem_.me : rank_at(grid_, problem_.me, done_.offset(done), -1);
    if (origin < 0) return false;
    const auto has_target = [&](int block) { return rank_at(grid_, origin, paths_.offsets.offset(block), 1) >= 0; };
    if (pattern_ == Pattern::alltoall) return has_target(move(m).block);
    return std::ranges::any_of(targets_[static_cast<std::size_t>(m)], has_target);
  }

  Span scratch(int block) {
    scratch_ = std::max(scratch_, static_cast<std::uint32_t>(block) + 1);
    return {problem_.me, block, Buffer::scratch};
  }

  // Where a block lies after move `m`.
  Span place(int m) {
    const int block = move(m).block;
    if (pattern_ == Pattern::allgather) {
      if (block < 0) return scratch(slots_[static_cast<std::size_t>(m)]);
      return {problem_.me, block, Buffer::recv};
    }
    // As in the paper: into the receive buffer if the number of hops left before was odd. But what
    // only passes through must not come where the user expects nothing.
    if (move(m).left % 2 != 0) return scratch(block);
    if (move(m).left > 0 && !has_source(block)) return scratch(paths_.blocks() + block);
    return {problem_.me, block, Buffer::recv};
  }

  Span place_before(int m) {
    if (move(m).parent >= 0) return place(move(m).parent);
    return {problem_.me, pattern_ == Pattern::alltoall ? move(m).block : 0, Buffer::send};
  }

  // --- the schedule ------------------------------------------------------------------------------

  // The message of a step: sent (+1), or received (-1).
  void message(int step, int sign) {
    const int peer = rank_at(grid_, problem_.me, paths_.steps.offset(step), sign);
    if (peer < 0) return;
    sign > 0 ? builder_.send(peer) : builder_.receive(peer);
    for (const int m : moves_of(step)) {
      if (!exists(m, sign > 0 ? move(m).parent : m)) continue;
      const Span span = sign > 0 ? place_before(m) : place(m);
      builder_.span(span.buffer, span.block);
    }
    builder_.drop_empty_message();
  }

  // Blocks for the process itself. They share the first round.
  void copy_own() {
    for (int i = 0; i < paths_.blocks(); ++i) {
      if (moves_.last[static_cast<std::size_t>(i)] >= 0) continue;
      // Not a block that leaves the mesh.
      if (rank_at(grid_, problem_.me, problem_.neighborhood->offset(i), 1) != problem_.me) continue;
      builder_.copy(Buffer::send, pattern_ == Pattern::alltoall ? i : 0, Buffer::recv, i);
    }
  }

  // Allgather: blocks that have come already, under the number of another.
  void copy_duplicates() {
    if (pattern_ == Pattern::alltoall) return;
    for (int i = 0; i < paths_.blocks(); ++i) {
      const int last = moves_.last[static_cast<std::size_t>(i)];
      if (last < 0 || move(last).block == i || !has_source(i)) continue;
      builder_.copy(Buffer::recv, move(last).block, Buffer::recv, i);
    }
  }

  const Paths& paths_;
  const NeighborProblem& problem_;
  const Grid& grid_;
  const Pattern pattern_;
  const bool mesh_;  // some dimension is not periodic
  const Moves moves_;
  Neighborhood done_;                      // [move]
  std::vector<std::vector<int>> targets_;  // [move]
  std::vector<std::vector<int>> rounds_;   // [round] steps
  std::vector<std::size_t> round_of_;      // [step]
  std::vector<int> slots_;                 // [move] its scratch block; -1: none

  Builder builder_;
  std::uint32_t scratch_ = 0;
};

Schedule schedule_along(const Paths& paths, const NeighborProblem& problem, Pattern pattern) {
  return Plan(paths, problem, pattern).schedule();
}

// ---- The ways ----

// How a block moves in a dimension: hop by hop; so that others share no hop; at once.
enum class AxisSteps : std::uint8_t { hops, own_hops, whole };

// `order`: the dimensions as they are served.
Paths axis_paths(const Neighborhood& offsets, std::span<const int> order, AxisSteps way) {
  Paths paths(offsets);
  const bool whole = way == AxisSteps::whole;
  const auto d = static_cast<std::size_t>(paths.dimensions());
  std::vector<std::vector<int>> reached(d);  // [dimension] the coordinates that its steps lead to, in their order
  std::vector<int> first(d);
  // Upwards from the nearest, then downwards from the nearest.
  const auto before = [](int a, int b) { return std::pair(a < 0, std::abs(a)) < std::pair(b < 0, std::abs(b)); };
  for (const int dimension : order) {
    const auto j = static_cast<std::size_t>(dimension);
    std::vector<int>& coordinates = reached[j];
    int up = 0, down = 0;
    for (int i = 0; i < paths.blocks(); ++i) {
      const int c = paths.offsets.offset(i)[j];
      up = std::max(up, c), down = std::max(down, -c);
      if (whole && c != 0) coordinates.push_back(c);
    }
    for (int c = 1; c <= up && !whole; ++c) coordinates.push_back(c);
    for (int c = 1; c <= down && !whole; ++c) coordinates.push_back(-c);
    std::sort(coordinates.begin(), coordinates.end(), before);
    coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
    first[j] = paths.steps.size();
    std::vector<int> step(d, 0);
    for (const int c : coordinates) {
      step[j] = whole ? c : c > 0 ? 1 : -1;
      paths.steps.add(step);
    }
  }
  for (int i = 0; i < paths.blocks(); ++i) {
    std::vector<Hop>& hops = paths.hops.emplace_back();
    for (const int dimension : order) {
      const auto j = static_cast<std::size_t>(dimension);
      const int c = paths.offsets.offset(i)[j];
      if (c == 0) continue;
      const auto begin = reached[j].begin(), end = reached[j].end();
      const auto last = std::lower_bound(begin, end, c, before) - begin;
      for (auto hop = whole ? last : last + 1 - std::abs(c); hop <= last; ++hop) {
        hops.push_back({first[j] + static_cast<int>(hop), way == AxisSteps::own_hops ? c : 0});
      }
    }
  }
  return paths;
}

std::vector<int> natural_order(int dimensions) {
  std::vector<int> order(static_cast<std::size_t>(dimensions));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Blocks travel along the axes: of an all-to-all in the order of the dimensions, of an allgather in trie_order().
Schedule along_axes(const NeighborProblem& problem, AxisSteps way, Pattern pattern) {
  const Neighborhood offsets = travelled(*problem.grid, *problem.neighborhood);
  const bool gathers = pattern == Pattern::allgather;
  const std::vector<int> order = gathers ? neighbors::trie_order(offsets) : natural_order(offsets.dimensions);
  return schedule_along(axis_paths(offsets, order, way), problem, pattern);
}

Paths straightforward_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  for (int i = 0; i < paths.blocks(); ++i) {
    const std::span<const int> offset = paths.offsets.offset(i);
    const bool zero = std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
    std::vector<Hop>& hops = paths.hops.emplace_back();
    if (zero) continue;
    hops.push_back({paths.steps.size()});
    paths.steps.add(offset);
  }
  return paths;
}

Paths basis_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  const AdditiveBasis basis = problem.last_basis != nullptr ? problem.last_basis->of(*problem.grid, paths.offsets)
                                                            : additive_basis(*problem.grid, paths.offsets);
  paths.steps = basis.elements;
  for (const std::vector<int>& sum : basis.sums) {
    std::vector<Hop>& hops = paths.hops.emplace_back();
    for (const int e : sum) hops.push_back({e});
  }
  return paths;
}

}  // namespace

std::vector<int> neighbors::trie_order(const Neighborhood& neighborhood) {
  std::vector<int> most;  // [dimension] neighbours that share a coordinate
  for (int j = 0; j < neighborhood.dimensions; ++j) {
    std::map<int, int> neighbors;  // [coordinate]
    int& largest = most.emplace_back(0);
    for (int i = 0; i < neighborhood.size(); ++i) {
      const int c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      largest = std::max(largest, ++neighbors[c]);
    }
  }
  std::vector<int> order = natural_order(neighborhood.dimensions);
  std::stable_sort(order.begin(), order.end(), [&most](int a, int b) {
    return most[static_cast<std::size_t>(a)] > most[static_cast<std::size_t>(b)];
  });
  return order;
}

// Straightforward neighbourhood all-to-all and allgather.
//
// Idea    In round i every process sends block i to its i-th target and receives block i from its
//         i-th source. Because all have the same offsets in the same order, the two belong together
//         and nothing can deadlock.
// Source  Träff et al., 2016, listing 4.
// Cost    s rounds, s blocks (without the offsets that lead to the process itself: local copies).
//         No scratch. `ports` puts that many offsets into a round.
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (-1,-1), rank 5 = (1,1):
//   round 0   send[0] to (1,2) = 6     recv[0] from (1,0) = 4
//   round 1   send[1] to (2,2) = 10    recv[1] from (0,0) = 0
//   round 2   send[2] to (0,0) = 0     recv[2] from (2,2) = 10
//
// The allgather.
//
// Idea    As the straightforward all-to-all, but every process has one block, for all its
//         neighbours.
// Source  Träff et al., 2016, listing 4.
// Cost    s rounds, s blocks (without the offsets that lead to the process itself). No scratch.
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (-1,-1), rank 5 = (1,1):
//   round 0   send[0] to (1,2) = 6     recv[0] from (1,0) = 4
//   round 1   send[0] to (2,2) = 10    recv[1] from (0,0) = 0
//   round 2   send[0] to (0,0) = 0     recv[2] from (2,2) = 10
Schedule neighbor_straightforward(const NeighborProblem& problem) {
  return schedule_along(straightforward_paths(problem), problem, Pattern::alltoall);
}

Schedule neighbor_allgather_straightforward(const NeighborProblem& problem) {
  return schedule_along(straightforward_paths(problem), problem, Pattern::allgather);
}

// Torus neighbourhood all-to-all and allgather: message combining over nearest neighbours.
//
// Idea    Blocks hop from process to process, first in dimension 0, then in dimension 1, and so on.
//         All blocks that hop the same way travel in one message. A block alternates between the
//         receive buffer and scratch, so that the last hop ends in the receive buffer and the block
//         that leaves is never where the next one arrives: nothing is copied.
// Source  Träff et al., 2016, sections 3.1 and 3.3, algorithm 1. Ours: the border of a mesh.
// Cost    D rounds: for each dimension the largest coordinate upwards and the largest downwards.
//         V blocks: the sum of all coordinates' sizes. Scratch: s blocks; near the border of a mesh
//         2 s. Computed in O(s D). With two ports, upwards and downwards share rounds.
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (-1,-1), rank 5 = (1,1):
//   round 0   down: send[1] to (2,1) = 9; from (0,1) = 1 into scratch[1], as a hop is left
//   round 1   up: send[2] to (0,1) = 1; from (2,1) = 9 into scratch[2]
//   round 2   right: send[0] and scratch[1] to (1,2) = 6; from (1,0) = 4 into recv[0..1]
//   round 3   left: scratch[2] to (1,0) = 4; from (1,2) = 6 into recv[2]
//
// The allgather.
//
// Idea    As the torus all-to-all, but a block that goes to several neighbours is sent only once as
//         far as their ways are the same. The ways form a trie; the dimension in which most
//         neighbours have the same coordinate comes first, so that the ways part late.
// Source  Träff et al., 2016, section 3.2.
// Cost    D rounds, as the all-to-all. W blocks: the hops of all edges of the trie, an edge being a
//         coordinate. The paper counts the hops of each edge for itself: offsets 1, 2 and 3 make 6.
//         But a block on its way to 3 passes 1 and 2, where it can stay behind: 3 hops, and only
//         that is the optimum that the paper's proposition 2 speaks of. So we share hops of edges
//         that begin at one node; the parameter `share` = 0 does as the paper counts.
//         Scratch: the blocks that only pass through, at one time. Computed in O(s D).
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (1,0), rank 5 = (1,1). Dimension 0 first: two
// neighbours have its coordinate 1; so it is in dimension 1, and the lower one goes first.
//   round 0   down: send[0] to (2,1) = 9; from (0,1) = 1 into recv[2]
//   round 1   right: send[0] and recv[2] to (1,2) = 6; from (1,0) = 4 into recv[0..1]
Schedule neighbor_torus(const NeighborProblem& problem) {
  return along_axes(problem, AxisSteps::hops, Pattern::alltoall);
}

Schedule neighbor_allgather_torus(const NeighborProblem& problem) {
  const bool shared = value_of(problem.parameters, "share", 1) != 0;
  return along_axes(problem, shared ? AxisSteps::hops : AxisSteps::own_hops, Pattern::allgather);
}

// Torus-direct neighbourhood all-to-all and allgather: message combining over the axes.
//
// Idea    As the torus algorithm, but a block moves its whole way in a dimension at once, together
//         with all blocks that have the same coordinate there.
// Source  Träff et al., 2016, section 5 (the additive basis of all projected vectors).
// Cost    Rounds: for each dimension the number of different coordinates but zero. Blocks: one for
//         each coordinate but zero. Scratch as the torus algorithm. Computed in O(s d), up to the
//         sorting of the coordinates. `ports` puts that many coordinates of a dimension into a
//         round.
//
// Example, torus of 5 x 5, offsets (0,2) (2,2) (2,-1), rank 6 = (1,1):
//   round 0   down by 2: send[1..2] to (3,1) = 16; from (4,1) = 21 into scratch[1..2]
//   round 1   right by 2: send[0] and scratch[1] to (1,3) = 8; from (1,4) = 9 into recv[0..1]
//   round 2   left by 1: scratch[2] to (1,0) = 5; from (1,2) = 7 into recv[2]
//
// The allgather.
//
// Idea    The trie of the torus allgather, with the steps of the torus-direct all-to-all: an edge
//         of the trie is one message's block.
// Source  Träff et al., 2016, sections 3.2 and 5.
// Cost    Rounds of the torus-direct all-to-all. W blocks: the edges of the trie but those of
//         coordinate zero. Scratch: the blocks that only pass through, at one time.
//
// Example, torus of 5 x 5, offsets (0,2) (2,2) (2,-1), rank 6 = (1,1). Dimension 0 first, as two
// neighbours share its coordinate 2; in dimension 1 two share 2 as well.
//   round 0   down by 2: send[0] to (3,1) = 16; from (4,1) = 21 into scratch[0]
//   round 1   right by 2: send[0] and scratch[0] to (1,3) = 8; from (1,4) = 9 into recv[0..1]
//   round 2   left by 1: scratch[0] to (1,0) = 5; from (1,2) = 7 into recv[2]
Schedule neighbor_torus_direct(const NeighborProblem& problem) {
  return along_axes(problem, AxisSteps::whole, Pattern::alltoall);
}

Schedule neighbor_allgather_torus_direct(const NeighborProblem& problem) {
  return along_axes(problem, AxisSteps::whole, Pattern::allgather);
}

// Basis neighbourhood all-to-all and allgather: message combining over an additive basis.
//
// Idea    Every offset is written as a sum of different vectors of a small set, the basis. In the
//         round of a vector all blocks that have it in their sum travel by it, in one message. On a
//         ring with all others as neighbours this is Bruck's algorithm.
// Source  Träff et al., 2016, section 5; how a basis is found is ours: see additive_basis.hpp.
// Cost    A round for each vector of the basis, a block for each vector of each sum. No more rounds
//         than torus-direct; radius 3 in d dimensions: 3 d rounds on a torus, 4 d on a mesh,
//         instead of 6 d. Scratch as the torus algorithm. The search for a basis takes longer than
//         other plans: up to some milliseconds a dimension.
//
// Example, ring of 9, offsets 1 2 3 4, rank 0. Basis 1, 2, 4, for 3 = 1 + 2:
//   round 0   send[0] and send[2] to 1; from 8 into recv[0] and scratch[2]
//   round 1   send[1] and scratch[2] to 2; from 7 into recv[1..2]
//   round 2   send[3] to 4; from 5 into recv[3]
//
// The allgather.
//
// Idea    The vectors of the basis in a fixed order, those that serve most offsets first. Offsets
//         whose sums begin alike share these hops, as in the torus allgather.
// Source  Träff et al., 2016, sections 3.2 and 5; the basis as the basis all-to-all.
// Cost    Rounds of the basis all-to-all, and no more blocks: one for each different beginning of a
//         sum.
//
// Example, ring of 9, offsets 1 2 3 4, rank 0. Basis 1, 2, 4, for 3 = 1 + 2:
//   round 0   send[0] to 1; from 8 into recv[0]
//   round 1   send[0] and recv[0] to 2; from 7 into recv[1..2]
//   round 2   send[0] to 4; from 5 into recv[3]
Schedule neighbor_basis(const NeighborProblem& problem) {
  return schedule_along(basis_paths(problem), problem, Pattern::alltoall);
}

Schedule neighbor_allgather_basis(const NeighborProblem& problem) {
  return schedule_along(basis_paths(problem), problem, Pattern::allgather);
}

}  // namespace quadrille::plan
