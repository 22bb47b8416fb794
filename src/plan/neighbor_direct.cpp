// Direct exchange with the neighbours in any directed graph.
//
// Idea    All messages at once. Without knowledge of the whole graph there is nothing to combine;
//         the k-th edge from one rank to another meets its receive because messages between two
//         ranks keep their order. Edges to the rank itself are local copies, the k-th out with the
//         k-th in.
// Source  What MPI says of its neighbourhood collectives on distributed graphs.
// Cost    1 round, a message and a block for each destination, no scratch. In an allgather every
//         destination gets send[0].
//
// Example, rank 0, sources 1 0 1, destinations 2 0:
//   copy  send[1] -> recv[1]
//   send  to 2: send[0]
//   recv  from 1: recv[0]    from 1: recv[2]
#include <cstddef>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {

Schedule neighbor_direct(int me, std::span<const int> sources, std::span<const int> destinations, Pattern pattern) {
  const auto block = [pattern](std::size_t k) { return pattern == Pattern::allgather ? 0 : static_cast<int>(k); };
  Builder builder(me);
  builder.begin_round();
  std::size_t own = 0;  // sources looked at for the edges to the rank itself
  for (std::size_t k = 0; k < destinations.size(); ++k) {
    if (destinations[k] != me) continue;
    while (own < sources.size() && sources[own] != me) ++own;
    if (own == sources.size()) break;
    builder.copy(Buffer::send, block(k), Buffer::recv, static_cast<int>(own++));
  }
  for (std::size_t k = 0; k < destinations.size(); ++k) {
    if (destinations[k] < 0 || destinations[k] == me) continue;
    builder.send(destinations[k], Buffer::send, block(k));
  }
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (sources[k] < 0 || sources[k] == me) continue;
    builder.receive(sources[k], Buffer::recv, static_cast<int>(k));
  }
  return builder.take();
}

}  // namespace quadrille::plan
