// Straightforward neighbourhood allgather.
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
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {

Schedule neighbor_allgather_straightforward(const NeighborProblem& problem) {
  return neighbors::allgather_along(neighbors::straightforward_paths(problem), problem);
}

}  // namespace quadrille::plan
