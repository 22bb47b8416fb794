// Zero-copy Bruck all-to-all with derived datatypes (zero-copy-bruck-dt).
//
// Idea    Modified Bruck without copies in the rounds. Beside recv there is a second buffer T of P
//         scratch blocks. A block that is sent from one of them is replaced in the other, so
//         nothing that is still being sent is overwritten. A block must end in recv: if it has b
//         moves left (its digits, from this position upwards, that are not zero), it is sent from T
//         and received into recv for odd b, and the other way round for even b. The first rotation
//         puts it where its first move starts.
// Source  Fan et al., HPDC 2022, section 2.1 (after Traeff et al., ICS 2014); there r = 2. The
//         paper prints the two cases of b the other way round, which would leave all blocks in T.
// Cost    Rounds, messages and blocks of basic Bruck. Copies: P for the rotation, none in the
//         rounds. Messages need derived datatypes on both sides. Scratch: P blocks.
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d; block i has
// index i + 1 mod 4.
//   rotate        i = 0: recv[1] = 11   i = 1: T[2] = 10   i = 2: T[3] = 13   i = 3: recv[0] = 12
//   round w = 1   i = 1: T[2] to rank 0, recv[2] = 21     i = 3: recv[0] to rank 0, T[0] = 23
//   round w = 2   i = 2: T[3] to rank 3, recv[3] = 31     i = 3: T[0] to rank 3, recv[0] = 01
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {
namespace {

// For each number below `ranks`: whether an odd number of its base-r digits is not zero.
std::vector<bool> odd_moves(int ranks, std::int64_t radix) {
  std::vector<bool> odd(static_cast<std::size_t>(ranks), false);
  for (int i = 1; i < ranks; ++i) {
    const auto rest = static_cast<std::size_t>(i / radix);
    odd[static_cast<std::size_t>(i)] = odd[rest] != (i % radix != 0);
  }
  return odd;
}

}  // namespace

Schedule zero_copy_bruck_dt(const Problem& problem) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  bruck::Plan plan(problem, bruck::Transfer::direct, ranks > 1 ? ranks : 0, 1, static_cast<std::size_t>(ranks));
  const std::vector<bool> odd = odd_moves(ranks, plan.radix);
  plan.builder.begin_round();
  for (int i = 0; i < ranks; ++i) {
    const Buffer first = odd[static_cast<std::size_t>(i)] ? Buffer::scratch : Buffer::recv;
    plan.builder.copy(Buffer::send, cyclic(me - i, ranks), first, cyclic(me + i, ranks));
  }
  const auto source = [&](const bruck::Moved& moved) {
    const bool to_recv = odd[static_cast<std::size_t>(moved.high)];
    return Span{me, cyclic(me + moved.block, ranks), to_recv ? Buffer::scratch : Buffer::recv};
  };
  const auto target = [&](const bruck::Moved& moved) {
    const bool to_recv = odd[static_cast<std::size_t>(moved.high)];
    return Span{me, cyclic(me + moved.block, ranks), to_recv ? Buffer::recv : Buffer::scratch};
  };
  plan.add_rounds(bruck::Direction::down, source, target);
  return plan.builder.take();
}

}  // namespace quadrille::plan
