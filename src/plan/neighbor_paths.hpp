// The ways of the blocks through the grid, and the schedule that follows from them. What the
// algorithms for neighbourhoods share: each of them says which way the blocks go, no more.
#pragma once

#include <cstdint>
#include <span>
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
  std::vector<std::uint32_t> first = {0};  // [block] its first hop; one more at the end
  std::vector<Hop> hops;

  int dimensions() const { return offsets.dimensions; }
  int blocks() const { return offsets.size(); }
  std::span<const Hop> path(int block) const {
    const auto b = static_cast<std::size_t>(block);
    return std::span(hops).subspan(first[b], first[b + 1] - first[b]);
  }

  // A step by `length` in one dimension.
  void add_step(int dimension, int length) {
    steps.offsets.resize(steps.offsets.size() + static_cast<std::size_t>(dimensions()), 0);
    steps.offsets[steps.offsets.size() - static_cast<std::size_t>(dimensions() - dimension)] = length;
  }
  // Paths are written block by block.
  void end_path() { first.push_back(static_cast<std::uint32_t>(hops.size())); }
};

Schedule alltoall_along(const Paths& paths, const NeighborProblem& problem);
Schedule allgather_along(const Paths& paths, const NeighborProblem& problem);

// How a block moves in a dimension: hop by hop; so that others share no hop (neighbor_torus.cpp); at once.
enum class AxisSteps : std::uint8_t { hops, own_hops, whole };
// The ways along the axes. `order`: the dimensions as they are served.
Paths axis_paths(const NeighborProblem& problem, std::span<const int> order, AxisSteps way);

std::vector<int> natural_order(int dimensions);
// Dimensions in decreasing number of neighbours that have the same coordinate.
std::vector<int> trie_order(const Neighborhood& neighborhood);

}  // namespace quadrille::plan::neighbors
