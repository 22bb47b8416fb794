// Straightforward neighbourhood all-to-all.
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
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {

Schedule neighbor_straightforward(const NeighborProblem& problem) {
  return neighbors::alltoall_along(neighbors::straightforward_paths(problem), problem);
}

}  // namespace quadrille::plan
