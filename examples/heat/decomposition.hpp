// The blocks of a field, and the parts of a block that its neighbours need. Without MPI.
//
// Everything has three dimensions, x first and contiguous in memory. A two-dimensional field has one
// point along z, and its blocks have no ghost points along z.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace heat {

using Extents = std::array<int, 3>;
// The offset of a neighbour: -1, 0 or 1 along each dimension.
using Offset = std::array<int, 3>;

// The reach of the stencils: one point.
constexpr int kGhostWidth = 1;

inline std::size_t point_count(const Extents& extents) {
  return static_cast<std::size_t>(extents[0]) * extents[1] * extents[2];
}

// The whole field. Point (x, y, z) is values[x + extents[0] * (y + extents[1] * z)].
struct Field {
  Extents extents{};
  std::vector<double> values;
};

// A part of an array.
struct Box {
  Extents begin{};
  Extents extents{};
};

// A block in memory: its own points, `ghosts` more on both sides of each dimension.
struct Layout {
  Extents own{};
  Extents ghosts{};

  Extents padded() const { return {own[0] + 2 * ghosts[0], own[1] + 2 * ghosts[1], own[2] + 2 * ghosts[2]}; }
};

// The block of the process at `coordinates`. Blocks differ by one point at most along a dimension.
Box block_of(const Extents& field, const Extents& grid, const Extents& coordinates);

Layout layout_of(const Extents& own, int dimensions);

// In the padded array of a block: its own points; those of them that the neighbour at `side` needs;
// the ghost points that this neighbour fills.
Box own_points(const Layout& layout);
Box edge_points(const Layout& layout, const Offset& side);
Box ghost_points(const Layout& layout, const Offset& side);

// The offsets of the neighbours whose points a stencil reads: for 5 and 7 points in the order in which
// MPI lists the neighbours of a Cartesian communicator.
std::vector<Offset> neighbor_offsets(int dimensions, int stencil);

// The stencil reads the points across corners too.
inline bool reads_corners(int stencil) { return stencil == 9 || stencil == 27; }

// Numbers joined by 'x', for example 4x2; beyond `dimensions` they are 1. Throws std::runtime_error
// with `what` in its message.
Extents parse_product(const std::string& text, int dimensions, const std::string& what);
std::string product_text(const Extents& numbers, int dimensions, const char* between = "x");

// Throws std::runtime_error unless the grid has a place for each rank, and each block is as wide as
// the ghost points that others need of it.
void check_grid(const Extents& field, const Extents& grid, int dimensions, int ranks);

// Throws std::runtime_error if the arrays do not fit into `memory` bytes.
void check_memory(const Extents& field, int dimensions, double arrays, double memory);

// All blocks have the same extents.
bool divides_evenly(const Extents& field, const Extents& grid);

}  // namespace heat
