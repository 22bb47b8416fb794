// Bruck allgather of radix r, for any number of ranks.
//
// Idea    A rank that has the w blocks p, p + 1, ..., p + w - 1 (cyclic) sends them to the ranks
//         p - w, p - 2 w, ..., p - (r - 1) w and so has r w blocks after the round. The last round
//         sends only what is missing. Blocks go straight to their place in recv: there is no
//         rotation.
// Source  Bruck et al., 1997, in the form of Thakur, Rabenseifner and Gropp, IJHPCA 2005;
//         there r = 2 and the blocks are rotated at the end.
// Cost    ceil(log_r P) rounds, P - 1 blocks, 1 local copy, no scratch. A message that passes
//         the end of recv has two runs of blocks.
//
// Example, P = 6, r = 2, rank 4:
//   copy         send[0] -> recv[4]
//   round w = 1  recv[4] to 3                 recv[5] from 5
//   round w = 2  recv[4], recv[5] to 2        recv[0], recv[1] from 0
//   round w = 4  recv[4], recv[5] to 0        recv[2], recv[3] from 2
#include <algorithm>

#include "plan/algorithms.hpp"
#include "plan/bruck_index.hpp"
#include "plan/bruck_rounds.hpp"
#include "plan/cyclic.hpp"

namespace quadrille::plan {
namespace {

void add_cyclic_run(Builder& builder, int ranks, int first, int count) {
  for (int i = 0; i < count; ++i) builder.span(Buffer::recv, cyclic(first + i, ranks));
}

}  // namespace

Schedule allgather_bruck(const Problem& problem) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  const std::int64_t radix = bruck::radix_of(problem);
  const bruck::Totals sum = bruck::totals(ranks, radix);
  Builder builder(me);
  builder.reserve(static_cast<std::size_t>(sum.rounds) + 1, 2 * sum.messages, 2 * static_cast<std::size_t>(ranks - 1),
                  1);
  builder.begin_round();
  builder.copy(Buffer::send, 0, Buffer::recv, me);
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    const int width = static_cast<int>(weight);
    const int digits = bruck::largest_digit(ranks, radix, weight);
    const auto blocks = [&](int digit) { return std::min(width, ranks - digit * width); };
    builder.begin_round();
    for (int digit = 1; digit <= digits; ++digit) {
      builder.send(cyclic(me - digit * width, ranks));
      add_cyclic_run(builder, ranks, me, blocks(digit));
    }
    for (int digit = 1; digit <= digits; ++digit) {
      const int from = cyclic(me + digit * width, ranks);
      builder.receive(from);
      add_cyclic_run(builder, ranks, from, blocks(digit));
    }
  }
  return builder.take();
}

}  // namespace quadrille::plan
