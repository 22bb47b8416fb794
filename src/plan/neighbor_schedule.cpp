// From the ways of the blocks to the schedule of one rank.
//
// 1. Moves. A move is one hop of one block (allgather: of one block for all that need it there), as
//    seen from its origin; all ranks have the same moves. In an all-to-all the moves of a block are
//    a chain; in an allgather all moves together are the prefix trie of the paper.
// 2. Rounds. Each step goes into the first round that has room, at most `ports` steps, after those
//    of the moves before its own.
// 3. Spans. A rank serves a move for the block whose origin lies as many hops behind it as the
//    block has done. On a mesh, origin and target may lie outside: then there is no such block, and
//    both ends of the message find that out alike, because they look at the same origin.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "plan/neighbor_paths.hpp"
#include "text/hash.hpp"

namespace quadrille::plan::neighbors {
namespace {

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

}  // namespace

Schedule schedule_along(const Paths& paths, const NeighborProblem& problem, Pattern pattern) {
  return Plan(paths, problem, pattern).schedule();
}

}  // namespace quadrille::plan::neighbors
