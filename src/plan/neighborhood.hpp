// Neighbourhood collectives: who a neighbour is, and the schedules that exchange blocks with the
// neighbours. After Träff et al., "Message-Combining Algorithms for Isomorphic, Sparse Collective
// Communication", 2016.
//
// Glossary
//   Grid          the ranks as a mesh; a dimension that is periodic is a ring. All periodic: a
//                 torus
//   Offset        a vector from a process to a neighbour, in any size and direction
//   Neighborhood  the s offsets, in the same order on all ranks ("isomorphic"): send block i goes
//                 to the process at +offset i, recv block i comes from the process at -offset i
//   Hop           a block moves from one process to the next on its way
//   Step          a displacement that all ranks serve together: every block that hops by it travels
//                 in one message
//
// What the schedules keep to, beside what plan/verify.hpp proves:
//   - A block whose target lies outside the mesh is not sent at all; a recv block whose source lies
//     outside is not touched, not even for a block in transit.
//   - Blocks travel the shortest way: in a periodic dimension an offset is taken modulo the extent,
//     to the nearest side (half of an even extent: to the side to which other offsets lead further,
//     else upwards). All ranks do this alike, it can only save rounds, and no message to oneself is
//     left: an offset that leads back to the process itself is a local copy. A block that leaves
//     the mesh on every rank costs no round either.
//   - All-to-all: recv[i], scratch[i] and scratch[s + i] hold nothing but blocks number i. So a
//     caller whose blocks differ in size makes scratch[k] as large as block k mod s.
//   - Allgather: all blocks are equally large, so scratch blocks are used again and again.
//   - A rank at the border of a mesh leaves out the rounds in which it has nothing to do.
//
// Parameters: `ports` is the number of steps that may share a round, if no block needs two of them
// (standard 1, the one-ported system of the paper; 0: no limit).
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/problem.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {

// Ranks in row-major order, as MPI_Cart_create without reordering.
struct Grid {
  std::vector<int> extents;
  std::vector<bool> periodic;

  int ranks() const;
  bool is_torus() const;  // all dimensions are periodic
  friend bool operator==(const Grid&, const Grid&) = default;
};

struct Neighborhood {
  int dimensions = 0;
  std::vector<int> offsets;  // s * d, row-major

  int size() const { return dimensions == 0 ? 0 : static_cast<int>(offsets.size()) / dimensions; }
  std::span<const int> offset(int i) const {
    const auto d = static_cast<std::size_t>(dimensions);
    return std::span(offsets).subspan(static_cast<std::size_t>(i) * d, d);
  }
  void add(std::span<const int> offset) { offsets.insert(offsets.end(), offset.begin(), offset.end()); }
  friend bool operator==(const Neighborhood&, const Neighborhood&) = default;
};

// Rank at `me` + sign * offset, or -1: outside of a dimension that is not periodic. Offsets may be
// larger than the extent.
int rank_at(const Grid& grid, int me, std::span<const int> offset, int sign);

// rank_at() for all offsets.
struct RanksAround {
  std::vector<int> sources, destinations;  // [offset]
};
RanksAround ranks_around(const Grid& grid, const Neighborhood& around, int me);
// Do two offsets lead to one process, or would if all dimensions were periodic? The same on all ranks.
bool has_double_edges(const Grid& grid, const Neighborhood& around);

// The offsets as the blocks travel: shortened in periodic dimensions. Zero for blocks that are
// copied, and for those that no rank sends because they leave the mesh everywhere.
Neighborhood travelled(const Grid& grid, const Neighborhood& neighborhood);

class LastBasis;  // additive_basis.hpp

struct NeighborProblem {
  const Grid* grid;
  const Neighborhood* neighborhood;
  int me;
  Parameters parameters;
  LastBasis* last_basis = nullptr;  // for several problems of one neighbourhood
};

// All-to-all.
Schedule neighbor_straightforward(const NeighborProblem& problem);
Schedule neighbor_torus(const NeighborProblem& problem);
Schedule neighbor_torus_direct(const NeighborProblem& problem);
Schedule neighbor_basis(const NeighborProblem& problem);

// Allgather: send has only block 0.
Schedule neighbor_allgather_straightforward(const NeighborProblem& problem);
Schedule neighbor_allgather_torus(const NeighborProblem& problem);
Schedule neighbor_allgather_torus_direct(const NeighborProblem& problem);
Schedule neighbor_allgather_basis(const NeighborProblem& problem);

// Any directed graph, as MPI's distributed graphs give it: send block k goes to destinations[k],
// recv block k comes from sources[k]; the k-th edge from one rank to another is the same on both
// sides. A negative rank is no neighbour. One round, all messages at once.
Schedule neighbor_direct(int me, std::span<const int> sources, std::span<const int> destinations,
                         Pattern pattern = Pattern::alltoall);

// What a schedule costs a process far from any border: rounds with one port (the paper's D), and
// blocks sent (V). For the offsets as given: pass travelled(), if the grid is small.
struct NeighborCounts {
  std::int64_t rounds = 0;
  std::int64_t blocks = 0;
  friend auto operator<=>(const NeighborCounts&, const NeighborCounts&) = default;
};

// D: for each dimension the number of different coordinates but zero. V: coordinates but zero.
NeighborCounts torus_direct_counts(const Neighborhood& neighborhood);

namespace neighbors {

// Dimensions in decreasing number of neighbours that have the same coordinate.
std::vector<int> trie_order(const Neighborhood& neighborhood);

}  // namespace neighbors
}  // namespace quadrille::plan
