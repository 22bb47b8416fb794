// Basis neighbourhood allgather: message combining over an additive basis along a prefix trie.
//
// Idea    The vectors of the basis in a fixed order, those that serve most offsets first. Offsets
//         whose sums begin alike share these hops, as in the torus allgather.
// Source  Träff et al., 2016, sections 3.2 and 5; the basis as the basis all-to-all.
// Cost    Rounds of the basis all-to-all, and no more blocks: one for each different beginning of a
//         sum.
//
// Example, ring of 9, offsets 1 2 3 4, rank 0. Basis 1, 2, 4, for 3 = 1 + 2:
//   round 0   send[0] to 1; from 8 into recv[0]
//   round 1   send[0] and recv[0] to 2; from 7 into recv[1..2]
//   round 2   send[0] to 4; from 5 into recv[3]
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {

Schedule neighbor_allgather_basis(const NeighborProblem& problem) {
  return neighbors::allgather_along(neighbors::basis_paths(problem), problem);
}

}  // namespace quadrille::plan
