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
#include <algorithm>

#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {
namespace {

using neighbors::Paths;

Paths straightforward_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  for (int i = 0; i < paths.blocks(); ++i) {
    const std::span<const int> offset = paths.offsets.offset(i);
    const bool zero = std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
    std::vector<neighbors::Hop>& hops = paths.hops.emplace_back();
    if (zero) continue;
    hops.push_back({paths.steps.size()});
    paths.steps.add(offset);
  }
  return paths;
}

}  // namespace

Schedule neighbor_straightforward(const NeighborProblem& problem) {
  return neighbors::schedule_along(straightforward_paths(problem), problem, Pattern::alltoall);
}

Schedule neighbor_allgather_straightforward(const NeighborProblem& problem) {
  return neighbors::schedule_along(straightforward_paths(problem), problem, Pattern::allgather);
}

}  // namespace quadrille::plan
