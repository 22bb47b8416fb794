// Spread-out allgather.
//
// Idea    Every rank sends its block straight to every other rank, all messages posted at once,
//         beginning with the rank above.
// Source  The exchange pattern of spread-out all-to-all (Fan et al., HPDC 2022, section 1).
// Cost    1 round, P - 1 messages, P - 1 blocks, 1 local copy, no scratch.
//
// Example, P = 4, rank 1:
//   copy  send[0] -> recv[1]
//   send  recv[1] to 2, 3, 0
//   recv  recv[0] from 0, recv[3] from 3, recv[2] from 2
#include "plan/algorithms.hpp"
#include "plan/cyclic.hpp"

namespace quadrille::plan {

Schedule allgather_spread_out(const Problem& problem) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  const auto messages = 2 * static_cast<std::size_t>(ranks - 1);
  Builder builder(me);
  builder.reserve(1, messages, messages, 1);
  builder.begin_round();
  builder.copy(Buffer::send, 0, Buffer::recv, me);
  for (int i = 1; i < ranks; ++i) builder.send(cyclic(me + i, ranks), Buffer::recv, me);
  for (int i = 1; i < ranks; ++i) {
    const int from = cyclic(me - i, ranks);
    builder.receive(from, Buffer::recv, from);
  }
  return builder.take();
}

}  // namespace quadrille::plan
