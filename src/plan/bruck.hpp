// What the Bruck algorithms share, for any number of ranks P and any radix r >= 2: the arithmetic of digits, and
// rounds, one a digit position, with one message a digit value. An algorithm says where a block is before and after it
// moves; the rest is the same for all.
//
// Blocks are numbered by the distance i that they travel, 0 <= i < P, and i is written in base r.
// At the digit position of weight w = r^k every block whose digit there is z > 0 moves z * w ranks.
// When all positions are done, block i has moved i ranks.
//
// Example, P = 6, r = 2:
//   w = 1 moves 1, 3, 5      w = 2 moves 2, 3      w = 4 moves 4, 5
// Example, P = 6, r = 3:
//   w = 1, z = 1 moves 1, 4  w = 1, z = 2 moves 2, 5     w = 3, z = 1 moves 3, 4, 5
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "plan/problem.hpp"

namespace quadrille::plan::bruck {

// The digit values z = 1.. at weight `weight` that some block has: their largest.
inline int largest_digit(int ranks, std::int64_t radix, std::int64_t weight) {
  return static_cast<int>(std::min<std::int64_t>(radix - 1, (ranks - 1) / weight));
}

// Number of blocks whose digit at weight `weight` is not zero.
inline int blocks_moved(int ranks, std::int64_t radix, std::int64_t weight) {
  const std::int64_t period = weight * radix;
  const std::int64_t still = ranks / period * weight + std::min(ranks % period, weight);
  return static_cast<int>(ranks - still);
}

// Number of digit positions: ceil(log_r P).
inline int positions(int ranks, std::int64_t radix) {
  int count = 0;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) ++count;
  return count;
}

// Blocks that wait somewhere between their first move and their last: those with more than one digit that is not zero.
// The others are as many as there are messages: one for each digit value of each position.
inline int waiting_blocks(int ranks, std::int64_t radix) {
  int waiting = std::max(ranks - 1, 0);
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) waiting -= largest_digit(ranks, radix, weight);
  return waiting;
}

// The number of block `block` among these: of the blocks before it the first stays, and of each position the multiples
// of its weight move once.
inline int waiting_slot(std::int64_t radix, int block) {
  int slot = block - 1;
  std::int64_t weight = 1;
  for (; weight * radix <= block; weight *= radix) slot -= static_cast<int>(radix - 1);
  return slot - static_cast<int>(block / weight);
}

// A block that moves at some position.
struct Moved {
  int block;   // i
  int high;    // i / weight: its digits from this position upwards
  bool first;  // all lower digits are zero: this is the first time that the block moves
};

// Calls visit(Moved) for the blocks with digit `digit` at weight `weight`, in increasing order.
template <class Visit>
void for_each_moved(int ranks, std::int64_t radix, std::int64_t weight, int digit, Visit visit) {
  std::int64_t high = digit;
  for (std::int64_t run = digit * weight; run < ranks; run += weight * radix, high += radix) {
    const std::int64_t end = std::min<std::int64_t>(run + weight, ranks);
    for (std::int64_t block = run; block < end; ++block) {
      visit(Moved{static_cast<int>(block), static_cast<int>(high), block == run});
    }
  }
}

// ---- Rounds ----

// How the scattered blocks of a round travel.
//   packed  gathered into consecutive scratch blocks, sent, received into others, scattered
//   typed   sent from where they are with a derived datatype, received into consecutive scratch
//           blocks, scattered: what was sent is replaced only when it is gone
//   direct  sent from where they are, received where they belong; these places must differ
enum class Transfer { packed, typed, direct };

// Which way blocks travel: block i ends at rank me + i (up) or me - i (down).
enum class Direction : int { up = 1, down = -1 };

// Blocks that a rank sends in the round in which these are most.
inline int most_blocks(int ranks, std::int64_t radix) {
  int most = 0;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    most = std::max(most, blocks_moved(ranks, radix, weight));
  }
  return most;
}

inline std::int64_t radix_of(const Problem& problem) { return value_of(problem.parameters, "radix", 2); }

// What add_rounds() assumes unless told otherwise: every rank has every block.
struct Everywhere {
  bool operator()(int, int, std::int64_t) const { return true; }
};

// The plan of one rank while it is written.
struct Plan {
  // `waiting` blocks of scratch come before those of the transfers.
  Plan(const Problem& problem, Transfer how, int waiting) : Plan(problem, how, waiting, Builder(problem.me)) {}
  // Appends to the schedule in `begun`.
  Plan(const Problem& problem, Transfer how, int waiting, Builder begun)
      : ranks(problem.ranks),
        me(problem.me),
        radix(radix_of(problem)),
        transfer(how),
        staging(waiting),
        builder(std::move(begun)) {
    const int copies = how == Transfer::packed ? 2 : how == Transfer::typed ? 1 : 0;  // of each block
    builder.scratch(static_cast<std::uint32_t>(staging + copies * most_blocks(ranks, radix)));
  }

  // Where a block that travels down is sent from at first, and where it arrives.
  Span in_send(const Moved& moved) const { return {me, cyclic(me - moved.block, ranks), Buffer::send}; }
  Span in_recv(const Moved& moved) const { return {me, cyclic(me + moved.block, ranks), Buffer::recv}; }

  // Appends the rounds. `source(moved)` and `target(moved)` give the span that a block is sent from and the span that
  // the block of the same number, come from the other side, goes to. `is_there(rank, block, weight)`: whether a rank
  // has this block to send in the round of this weight.
  template <class Source, class Target, class IsThere = Everywhere>
  void add_rounds(Direction direction, Source source, Target target, IsThere is_there = {});

  // Appends the rounds of blocks that travel down, from send to recv. Between its moves each block waits in its own
  // slot of scratch.
  template <class IsThere = Everywhere>
  void add_rounds_with_slots(IsThere is_there = {}) {
    const auto slot = [this](const Moved& moved) {
      return Span{me, waiting_slot(radix, moved.block), Buffer::scratch};
    };
    const auto source = [&](const Moved& moved) { return moved.first ? in_send(moved) : slot(moved); };
    const auto target = [&](const Moved& moved) { return moved.high < radix ? in_recv(moved) : slot(moved); };
    add_rounds(Direction::down, source, target, is_there);
  }

  const int ranks, me;
  const std::int64_t radix;
  const Transfer transfer;
  const int staging;
  Builder builder;
};

template <class Source, class Target, class IsThere>
void Plan::add_rounds(Direction direction, Source source, Target target, IsThere is_there) {
  const int sign = static_cast<int>(direction);
  const bool packed = transfer == Transfer::packed;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    const int digits = largest_digit(ranks, radix, weight);
    const int landing = staging + (packed ? blocks_moved(ranks, radix, weight) : 0);
    const auto for_each = [&](int sender, int digit, auto visit) {
      for_each_moved(ranks, radix, weight, digit, [&](const Moved& moved) {
        if (is_there(sender, moved.block, weight)) visit(moved);
      });
    };
    const auto destination = [&](int digit) { return cyclic(me + sign * digit * static_cast<int>(weight), ranks); };
    const auto origin = [&](int digit) { return cyclic(me - sign * digit * static_cast<int>(weight), ranks); };

    builder.begin_round();
    if (packed) {
      int next = staging;
      for (int digit = 1; digit <= digits; ++digit) {
        for_each(me, digit, [&](const Moved& moved) {
          builder.copy(source(moved), Span{me, next++, Buffer::scratch});
        });
      }
    }
    int next = staging;
    for (int digit = 1; digit <= digits; ++digit) {
      builder.send(destination(digit));
      for_each(me, digit, [&](const Moved& moved) {
        const Span from = packed ? Span{me, next++, Buffer::scratch} : source(moved);
        builder.span(from.buffer, from.block);
      });
      builder.drop_empty_message();
    }
    next = landing;
    for (int digit = 1; digit <= digits; ++digit) {
      builder.receive(origin(digit));
      for_each(origin(digit), digit, [&](const Moved& moved) {
        const Span to = transfer == Transfer::direct ? target(moved) : Span{me, next++, Buffer::scratch};
        builder.span(to.buffer, to.block);
      });
      builder.drop_empty_message();
    }
    builder.drop_empty_round();
    if (transfer == Transfer::direct) continue;
    next = landing;
    for (int digit = 1; digit <= digits; ++digit) {
      for_each(origin(digit), digit, [&](const Moved& moved) {
        builder.copy(Span{me, next++, Buffer::scratch}, target(moved));
      });
    }
  }
}

}  // namespace quadrille::plan::bruck
