#include "plan/neighbor_paths.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>

#include "plan/additive_basis.hpp"

namespace quadrille::plan::neighbors {

Paths straightforward_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  for (int i = 0; i < paths.blocks(); ++i) {
    const std::span<const int> offset = paths.offsets.offset(i);
    const bool zero = std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
    if (!zero) {
      paths.hops.push_back({paths.steps.size()});
      paths.steps.add(offset);
    }
    paths.end_path();
  }
  return paths;
}

Paths torus_paths(const NeighborProblem& problem, std::span<const int> order, bool shared) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  const auto d = static_cast<std::size_t>(paths.dimensions());
  std::vector<int> first_up(d), first_down(d);  // [dimension] steps of one hop follow each other
  for (const int dimension : order) {
    const auto j = static_cast<std::size_t>(dimension);
    int up = 0, down = 0;
    for (int i = 0; i < paths.blocks(); ++i) {
      up = std::max(up, paths.offsets.offset(i)[j]);
      down = std::max(down, -paths.offsets.offset(i)[j]);
    }
    first_up[j] = paths.steps.size();
    for (int h = 0; h < up; ++h) paths.add_step(dimension, 1);
    first_down[j] = paths.steps.size();
    for (int h = 0; h < down; ++h) paths.add_step(dimension, -1);
  }
  for (int i = 0; i < paths.blocks(); ++i) {
    for (const int dimension : order) {
      const auto j = static_cast<std::size_t>(dimension);
      const int c = paths.offsets.offset(i)[j];
      const int first = c > 0 ? first_up[j] : first_down[j];
      for (int h = 0; h < std::abs(c); ++h) paths.hops.push_back({first + h, shared ? 0 : c});
    }
    paths.end_path();
  }
  return paths;
}

Paths torus_direct_paths(const NeighborProblem& problem, std::span<const int> order) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  const auto d = static_cast<std::size_t>(paths.dimensions());
  std::vector<std::vector<int>> lengths(d);  // [dimension] in the order of the steps
  std::vector<int> first(d);
  // Upwards from the nearest, then downwards from the nearest, as the torus algorithm.
  const auto key = [](int c) { return std::pair(c < 0, std::abs(c)); };
  const auto before = [key](int a, int b) { return key(a) < key(b); };
  for (const int dimension : order) {
    const auto j = static_cast<std::size_t>(dimension);
    for (int i = 0; i < paths.blocks(); ++i) {
      if (paths.offsets.offset(i)[j] != 0) lengths[j].push_back(paths.offsets.offset(i)[j]);
    }
    std::sort(lengths[j].begin(), lengths[j].end(), before);
    lengths[j].erase(std::unique(lengths[j].begin(), lengths[j].end()), lengths[j].end());
    first[j] = paths.steps.size();
    for (const int length : lengths[j]) paths.add_step(dimension, length);
  }
  for (int i = 0; i < paths.blocks(); ++i) {
    for (const int dimension : order) {
      const auto j = static_cast<std::size_t>(dimension);
      const int c = paths.offsets.offset(i)[j];
      if (c == 0) continue;
      const auto at = std::lower_bound(lengths[j].begin(), lengths[j].end(), c, before);
      paths.hops.push_back({first[j] + static_cast<int>(at - lengths[j].begin())});
    }
    paths.end_path();
  }
  return paths;
}

Paths basis_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  const AdditiveBasis basis = problem.last_basis != nullptr ? problem.last_basis->of(*problem.grid, paths.offsets)
                                                            : additive_basis(*problem.grid, paths.offsets);
  paths.steps = basis.elements;
  for (const std::vector<int>& sum : basis.sums) {
    for (const int e : sum) paths.hops.push_back({e});
    paths.end_path();
  }
  return paths;
}

std::vector<int> natural_order(int dimensions) {
  std::vector<int> order(static_cast<std::size_t>(dimensions));
  std::iota(order.begin(), order.end(), 0);
  return order;
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
