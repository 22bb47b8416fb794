// Recognition of isomorphic neighbourhoods in a graph whose processes form a grid (Träff et al., section 5: a
// distributed graph says only ranks, so that each process sees its own neighbours alone).
//
// The ranks of a grid of some extents are numbered in row-major order. Each process writes its destinations as
// offsets in that grid, sorted. The order of the neighbours may differ from process to process.
//
// A torus: the graph is isomorphic in it if all processes have the same sorted offsets. Every process can compute a
// number of its own from them, for every torus that its ranks may form; what is left is one comparison of these numbers
// over all processes. Cost: O(tori * s log s) and one allreduce of a number a torus.
//
// Example: 6 ranks; 0 sends to 1 and 3, 1 to 4 and 2, 2 to 0 and 5, and so on. In the torus 2 x 3 all have the sorted
// offsets (0,1), (1,0). In the ring ranks 0 and 1 have (1), (3), but rank 2 has (-2), (3): the ring does not fit.
//
// A mesh, with a border in some dimensions or all: a process there lacks neighbours. The graph is isomorphic if each
// process has those of the offsets of all that stay inside. In three steps, each with an allreduce:
//   1. how far the offsets reach in each dimension; meshes in which they reach far are dropped: in the wrong mesh they
//      nearly always do
//   2. how often each offset within that reach occurs: the largest number of all processes
//   3. whether every process finds its own neighbours by these offsets, and no others
// Cost: O(meshes * s log s), and allreduces of 2 d numbers a mesh, then of a number a cell within reach.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {

// All tori of so many ranks with extents of at least 2, in at most `dimensions` dimensions, at most `most` of
// them. First the ring, then by the number of dimensions.
std::vector<Grid> tori(int ranks, int dimensions, std::size_t most);

// Likewise all grids in which at least one dimension is not periodic.
std::vector<Grid> meshes(int ranks, int dimensions, std::size_t most);

// The neighbours of `me` as the grid numbers them: block `order[i]` of the destinations goes to the process at
// offset i of `around`, and recv block `received[i]` comes from the process at minus that offset; -1 if that is
// outside.
struct GridView {
  Neighborhood around;
  std::vector<int> order, received;
};

// Fills order and received. False unless the destinations are the processes at the offsets of `around`, and the sources
// those at minus the offsets. Equal offsets must lie together, and different ones lead to different processes. Of
// several edges between two processes, the k-th of the one's destinations is the k-th of the other's sources.
bool view_around(const Grid& grid, int me, std::span<const int> sources, std::span<const int> destinations,
                 GridView& view);

// The same with the destinations of `me` for `around`, sorted. False if the sources do not go with them.
bool view_in(const Grid& torus, int me, std::span<const int> sources, std::span<const int> destinations,
             GridView& view);

// A number of the offsets: processes with the same sorted offsets have the same.
std::uint64_t fingerprint(const Neighborhood& around);

// The destinations as offsets in a grid, in periodic dimensions to the nearest side.
Neighborhood offsets_in(const Grid& grid, int me, std::span<const int> destinations);

// For each dimension how far the offsets go down and up, [2 * d]. Over several processes: the largest.
using Reach = std::vector<int>;
Reach reach_of(const Neighborhood& around);
// Offsets within reach; `most` + 1 if there are more than `most`.
std::int64_t cells_in(std::span<const int> reach, std::int64_t most);

// How often each offset within reach occurs. Over several processes: the largest.
std::vector<int> count_offsets(const Neighborhood& around, std::span<const int> reach);
// The sorted offsets, each as often as it was counted.
Neighborhood counted_offsets(std::span<const int> counts, std::span<const int> reach);

}  // namespace quadrille::plan
