// Torus neighbourhood all-to-all: message combining over nearest neighbours.
//
// Idea    Blocks hop from process to process, first in dimension 0, then in dimension 1, and so on.
//         All blocks that hop the same way travel in one message. A block alternates between the
//         receive buffer and scratch, so that the last hop ends in the receive buffer and the block
//         that leaves is never where the next one arrives: nothing is copied.
// Source  Träff et al., 2016, sections 3.1 and 3.3, algorithm 1. Ours: the border of a mesh.
// Cost    D rounds: for each dimension the largest coordinate upwards and the largest downwards.
//         V blocks: the sum of all coordinates' sizes. Scratch: s blocks; near the border of a mesh
//         2 s. Computed in O(s D). With two ports, upwards and downwards share rounds.
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (-1,-1), rank 5 = (1,1):
//   round 0   down: send[1] to (2,1) = 9; from (0,1) = 1 into scratch[1], as a hop is left
//   round 1   up: send[2] to (0,1) = 1; from (2,1) = 9 into scratch[2]
//   round 2   right: send[0] and scratch[1] to (1,2) = 6; from (1,0) = 4 into recv[0..1]
//   round 3   left: scratch[2] to (1,0) = 4; from (1,2) = 6 into recv[2]
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {

Schedule neighbor_torus(const NeighborProblem& problem) {
  const std::vector<int> order = neighbors::natural_order(problem.neighborhood->dimensions);
  return neighbors::alltoall_along(neighbors::torus_paths(problem, order, true), problem);
}

}  // namespace quadrille::plan
