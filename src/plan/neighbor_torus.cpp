// Torus neighbourhood all-to-all and allgather: message combining over nearest neighbours.
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
//
// The allgather.
//
// Idea    As the torus all-to-all, but a block that goes to several neighbours is sent only once as
//         far as their ways are the same. The ways form a trie; the dimension in which most
//         neighbours have the same coordinate comes first, so that the ways part late.
// Source  Träff et al., 2016, section 3.2.
// Cost    D rounds, as the all-to-all. W blocks: the hops of all edges of the trie, an edge being a
//         coordinate. The paper counts the hops of each edge for itself: offsets 1, 2 and 3 make 6.
//         But a block on its way to 3 passes 1 and 2, where it can stay behind: 3 hops, and only
//         that is the optimum that the paper's proposition 2 speaks of. So we share hops of edges
//         that begin at one node; the parameter `share` = 0 does as the paper counts.
//         Scratch: the blocks that only pass through, at one time. Computed in O(s D).
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (1,0), rank 5 = (1,1). Dimension 0 first: two
// neighbours have its coordinate 1; so it is in dimension 1, and the lower one goes first.
//   round 0   down: send[0] to (2,1) = 9; from (0,1) = 1 into recv[2]
//   round 1   right: send[0] and recv[2] to (1,2) = 6; from (1,0) = 4 into recv[0..1]
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {

Schedule neighbor_torus(const NeighborProblem& problem) {
  return neighbors::schedule_along_axes(problem, neighbors::AxisSteps::hops, Pattern::alltoall);
}

Schedule neighbor_allgather_torus(const NeighborProblem& problem) {
  const bool shared = value_of(problem.parameters, "share", 1) != 0;
  const auto way = shared ? neighbors::AxisSteps::hops : neighbors::AxisSteps::own_hops;
  return neighbors::schedule_along_axes(problem, way, Pattern::allgather);
}

}  // namespace quadrille::plan
