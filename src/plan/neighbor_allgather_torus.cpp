// Torus neighbourhood allgather: message combining over nearest neighbours along a prefix trie.
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

Schedule neighbor_allgather_torus(const NeighborProblem& problem) {
  const std::vector<int> order = neighbors::trie_order(travelled(*problem.grid, *problem.neighborhood));
  const bool shared = value_of(problem.parameters, "share", 1) != 0;
  return neighbors::allgather_along(neighbors::torus_paths(problem, order, shared), problem);
}

}  // namespace quadrille::plan
