// Recognition of isomorphic neighbourhoods in a graph whose processes form a torus (Träff et al., section 5: a
// distributed graph says only ranks, so that each process sees its own neighbours alone).
//
// The ranks of a torus of some extents are numbered in row-major order. Each process writes its destinations as
// offsets in that torus, sorted. The graph is isomorphic in the torus if all processes have the same sorted
// offsets. Every process can compute a number of its own from them, for every torus that its ranks may form; what
// is left is one comparison of these numbers over all processes. The order of the neighbours may differ from
// process to process. Cost: O(tori * s log s) and one allreduce of a number a torus.
//
// Example: 6 ranks; 0 sends to 1 and 3, 1 to 4 and 2, 2 to 0 and 5, and so on. In the torus 2 x 3 all have the sorted
// offsets (0,1), (1,0). In the ring ranks 0 and 1 have (1), (3), but rank 2 has (-2), (3): the ring does not fit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {

// All tori of so many ranks with extents of at least 2, in at most `dimensions` dimensions, at most `most` of
// them. First the ring, then by the number of dimensions.
std::vector<Grid> tori(int ranks, int dimensions, std::size_t most);

// The neighbours of `me` as the torus numbers them: block `order[i]` of the destinations goes to the process at
// offset i of `around`, and recv block `received[i]` comes from the process at minus that offset.
struct TorusView {
  Neighborhood around;
  std::vector<int> order, received;
};

// False if the sources are not the processes at minus the offsets of the destinations. Of several edges between
// two processes, the k-th of the one's destinations is the k-th of the other's sources.
bool view_in(const Grid& torus, int me, std::span<const int> sources, std::span<const int> destinations,
             TorusView& view);

// A number of the offsets: processes with the same sorted offsets have the same.
std::uint64_t fingerprint(const Neighborhood& around);

}  // namespace quadrille::plan
