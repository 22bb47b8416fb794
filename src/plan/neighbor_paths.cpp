#include "plan/neighbor_paths.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>

namespace quadrille::plan::neighbors {
namespace {

// `order`: the dimensions as they are served.
Paths axis_paths(const Neighborhood& offsets, std::span<const int> order, AxisSteps way) {
  Paths paths(offsets);
  const bool whole = way == AxisSteps::whole;
  const auto d = static_cast<std::size_t>(paths.dimensions());
  std::vector<std::vector<int>> reached(d);  // [dimension] the coordinates that its steps lead to, in their order
  std::vector<int> first(d);
  // Upwards from the nearest, then downwards from the nearest.
  const auto before = [](int a, int b) { return std::pair(a < 0, std::abs(a)) < std::pair(b < 0, std::abs(b)); };
  for (const int dimension : order) {
    const auto j = static_cast<std::size_t>(dimension);
    std::vector<int>& coordinates = reached[j];
    int up = 0, down = 0;
    for (int i = 0; i < paths.blocks(); ++i) {
      const int c = paths.offsets.offset(i)[j];
      up = std::max(up, c), down = std::max(down, -c);
      if (whole && c != 0) coordinates.push_back(c);
    }
    for (int c = 1; c <= up && !whole; ++c) coordinates.push_back(c);
    for (int c = 1; c <= down && !whole; ++c) coordinates.push_back(-c);
    std::sort(coordinates.begin(), coordinates.end(), before);
    coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
    first[j] = paths.steps.size();
    std::vector<int> step(d, 0);
    for (const int c : coordinates) {
      step[j] = whole ? c : c > 0 ? 1 : -1;
      paths.steps.add(step);
    }
  }
  for (int i = 0; i < paths.blocks(); ++i) {
    std::vector<Hop>& hops = paths.hops.emplace_back();
    for (const int dimension : order) {
      const auto j = static_cast<std::size_t>(dimension);
      const int c = paths.offsets.offset(i)[j];
      if (c == 0) continue;
      const auto begin = reached[j].begin(), end = reached[j].end();
      const auto last = std::lower_bound(begin, end, c, before) - begin;
      for (auto hop = whole ? last : last + 1 - std::abs(c); hop <= last; ++hop) {
        hops.push_back({first[j] + static_cast<int>(hop), way == AxisSteps::own_hops ? c : 0});
      }
    }
  }
  return paths;
}

std::vector<int> natural_order(int dimensions) {
  std::vector<int> order(static_cast<std::size_t>(dimensions));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

Schedule schedule_along_axes(const NeighborProblem& problem, AxisSteps way, Pattern pattern) {
  const Neighborhood offsets = travelled(*problem.grid, *problem.neighborhood);
  const bool gathers = pattern == Pattern::allgather;
  const std::vector<int> order = gathers ? trie_order(offsets) : natural_order(offsets.dimensions);
  return schedule_along(axis_paths(offsets, order, way), problem, pattern);
}

std::vector<int> trie_order(const Neighborhood& neighborhood) {
  std::vector<int> most;  // [dimension] neighbours that share a coordinate
  for (int j = 0; j < neighborhood.dimensions; ++j) {
    std::map<int, int> neighbors;  // [coordinate]
    int& largest = most.emplace_back(0);
    for (int i = 0; i < neighborhood.size(); ++i) {
      const int c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      largest = std::max(largest, ++neighbors[c]);
    }
  }
  std::vector<int> order = natural_order(neighborhood.dimensions);
  std::stable_sort(order.begin(), order.end(), [&most](int a, int b) {
    return most[static_cast<std::size_t>(a)] > most[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace quadrille::plan::neighbors
