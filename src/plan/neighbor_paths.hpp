// The ways of the blocks through the grid, and the schedule that follows from them. What the
// algorithms for neighbourhoods share: each of them says which way the blocks go, no more.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/neighborhood.hpp"

namespace quadrille::plan::neighbors {

// A hop of a block by a step. In an allgather blocks are equal, and hops from one place by the same
// step on the same edge are made once, for all blocks that need them.
struct Hop {
  std::int32_t step;
  std::int32_t edge = 0;
  friend bool operator==(const Hop&, const Hop&) = default;
};

// The same on all ranks. Steps are numbered in the order in which they are served; the steps of a
// path rise. Between origin and target a path must stay in the box that these two span in the
// dimensions that are not periodic: then it stays inside the mesh.
struct Paths {
  explicit Paths(Neighborhood way) : offsets(std::move(way)), steps{offsets.dimensions, {}} {}

  Neighborhood offsets;  // travelled()
  Neighborhood steps;
  std::vector<std::vector<Hop>> hops;  // [block]

  int dimensions() const { return offsets.dimensions; }
  int blocks() const { return offsets.size(); }
};

Schedule schedule_along(const Paths& paths, const NeighborProblem& problem, Pattern pattern);

// Dimensions in decreasing number of neighbours that have the same coordinate.
std::vector<int> trie_order(const Neighborhood& neighborhood);

}  // namespace quadrille::plan::neighbors
