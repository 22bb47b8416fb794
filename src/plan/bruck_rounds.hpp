// The rounds that all Bruck algorithms share: one round a digit position, one message a digit
// value. An algorithm says where a block is before and after it moves; the rest is the same for
// all.
#pragma once

#include <utility>

#include "plan/bruck_index.hpp"
#include "plan/problem.hpp"

namespace quadrille::plan::bruck {

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
