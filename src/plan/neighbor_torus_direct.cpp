// Torus-direct neighbourhood all-to-all and allgather: message combining over the axes.
//
// Idea    As the torus algorithm, but a block moves its whole way in a dimension at once, together
//         with all blocks that have the same coordinate there.
// Source  Träff et al., 2016, section 5 (the additive basis of all projected vectors).
// Cost    Rounds: for each dimension the number of different coordinates but zero. Blocks: one for
//         each coordinate but zero. Scratch as the torus algorithm. Computed in O(s d), up to the
//         sorting of the coordinates. `ports` puts that many coordinates of a dimension into a
//         round.
//
// Example, torus of 5 x 5, offsets (0,2) (2,2) (2,-1), rank 6 = (1,1):
//   round 0   down by 2: send[1..2] to (3,1) = 16; from (4,1) = 21 into scratch[1..2]
//   round 1   right by 2: send[0] and scratch[1] to (1,3) = 8; from (1,4) = 9 into recv[0..1]
//   round 2   left by 1: scratch[2] to (1,0) = 5; from (1,2) = 7 into recv[2]
//
// The allgather.
//
// Idea    The trie of the torus allgather, with the steps of the torus-direct all-to-all: an edge
//         of the trie is one message's block.
// Source  Träff et al., 2016, sections 3.2 and 5.
// Cost    Rounds of the torus-direct all-to-all. W blocks: the edges of the trie but those of
//         coordinate zero. Scratch: the blocks that only pass through, at one time.
//
// Example, torus of 5 x 5, offsets (0,2) (2,2) (2,-1), rank 6 = (1,1). Dimension 0 first, as two
// neighbours share its coordinate 2; in dimension 1 two share 2 as well.
//   round 0   down by 2: send[0] to (3,1) = 16; from (4,1) = 21 into scratch[0]
//   round 1   right by 2: send[0] and scratch[0] to (1,3) = 8; from (1,4) = 9 into recv[0..1]
//   round 2   left by 1: scratch[0] to (1,0) = 5; from (1,2) = 7 into recv[2]
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {

Schedule neighbor_torus_direct(const NeighborProblem& problem) {
  return neighbors::schedule_along_axes(problem, neighbors::AxisSteps::whole, Pattern::alltoall);
}

Schedule neighbor_allgather_torus_direct(const NeighborProblem& problem) {
  return neighbors::schedule_along_axes(problem, neighbors::AxisSteps::whole, Pattern::allgather);
}

}  // namespace quadrille::plan
