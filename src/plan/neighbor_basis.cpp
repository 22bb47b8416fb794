// Basis neighbourhood all-to-all: message combining over an additive basis.
//
// Idea    Every offset is written as a sum of different vectors of a small set, the basis. In the
//         round of a vector all blocks that have it in their sum travel by it, in one message. On a
//         ring with all others as neighbours this is Bruck's algorithm.
// Source  Träff et al., 2016, section 5; how a basis is found is ours: see additive_basis.hpp.
// Cost    A round for each vector of the basis, a block for each vector of each sum. No more rounds
//         than torus-direct; radius 3 in d dimensions: 3 d rounds on a torus, 4 d on a mesh,
//         instead of 6 d. Scratch as the torus algorithm. The search for a basis takes longer than
//         other plans: up to some milliseconds a dimension.
//
// Example, ring of 9, offsets 1 2 3 4, rank 0. Basis 1, 2, 4, for 3 = 1 + 2:
//   round 0   send[0] and send[2] to 1; from 8 into recv[0] and scratch[2]
//   round 1   send[1] and scratch[2] to 2; from 7 into recv[1..2]
//   round 2   send[3] to 4; from 5 into recv[3]
#include "plan/additive_basis.hpp"
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {

Schedule neighbor_basis(const NeighborProblem& problem) {
  return neighbors::alltoall_along(neighbors::basis_paths(problem), problem);
}

}  // namespace quadrille::plan
