// Basis neighbourhood all-to-all and allgather: message combining over an additive basis.
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
//
// The allgather.
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
#include "plan/additive_basis.hpp"
#include "plan/neighbor_paths.hpp"

namespace quadrille::plan {
namespace {

using neighbors::Hop, neighbors::Paths;

Paths basis_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  const AdditiveBasis basis = problem.last_basis != nullptr ? problem.last_basis->of(*problem.grid, paths.offsets)
                                                            : additive_basis(*problem.grid, paths.offsets);
  paths.steps = basis.elements;
  for (const std::vector<int>& sum : basis.sums) {
    std::vector<Hop>& hops = paths.hops.emplace_back();
    for (const int e : sum) hops.push_back({e});
  }
  return paths;
}

}  // namespace

Schedule neighbor_basis(const NeighborProblem& problem) {
  return neighbors::schedule_along(basis_paths(problem), problem, Pattern::alltoall);
}

Schedule neighbor_allgather_basis(const NeighborProblem& problem) {
  return neighbors::schedule_along(basis_paths(problem), problem, Pattern::allgather);
}

}  // namespace quadrille::plan
