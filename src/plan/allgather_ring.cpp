// Ring allgather.
//
// Idea    In each round a rank passes the block that it received last to the rank above. Neighbours
//         talk only to neighbours; the bandwidth is the best possible.
// Source  Thakur, Rabenseifner and Gropp, IJHPCA 2005.
// Cost    P - 1 rounds of one message and one block, 1 local copy, no scratch.
//
// Example, P = 4, rank 1:
//   copy     send[0] -> recv[1]
//   round 1  recv[1] to 2, recv[0] from 0
//   round 2  recv[0] to 2, recv[3] from 0
//   round 3  recv[3] to 2, recv[2] from 0
#include "plan/algorithms.hpp"
#include "plan/cyclic.hpp"

namespace quadrille::plan {

Schedule allgather_ring(const Problem& problem) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  const auto rounds = static_cast<std::size_t>(ranks - 1);
  Builder builder(me);
  builder.reserve(rounds + 1, 2 * rounds, 2 * rounds, 1);
  builder.begin_round();
  builder.copy(Buffer::send, 0, Buffer::recv, me);
  for (int step = 1; step < ranks; ++step) {
    builder.begin_round();
    builder.send(cyclic(me + 1, ranks), Buffer::recv, cyclic(me - step + 1, ranks));
    builder.receive(cyclic(me - 1, ranks), Buffer::recv, cyclic(me - step, ranks));
  }
  return builder.take();
}

}  // namespace quadrille::plan
