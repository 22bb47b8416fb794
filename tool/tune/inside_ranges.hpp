// What `quadrille tune --neighbors` makes of the times that it has measured inside a node.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "choose/tuning_neighbors.hpp"

namespace quadrille::tools {

// The way that does blocks of this size better than all others; the default, 0, unless by enough: what another order
// costs in memory and waits for all is not to be paid for noise.
inline std::size_t winner_at(std::size_t size, const std::vector<std::vector<double>>& times) {
  constexpr double least_gain = 1.05;
  std::size_t best = 0;
  for (std::size_t way = 1; way < times.size(); ++way) {
    if (times[way][size] < times[best][size]) best = way;
  }
  return times[best][size] * least_gain <= times[0][size] ? best : 0;
}

// Sets the ranges by what was measured: times[w][i] of `sizes[i]` bytes the way w, where way 0 is the default and the
// others are `orders`. An order must be faster than the default by 5 %.
inline void set_ranges(choose::InsideEntry& entry, std::span<const std::size_t> sizes,
                       const std::vector<const choose::Algorithm*>& orders,
                       const std::vector<std::vector<double>>& times) {
  entry.count = 0;
  entry.ranges = {};
  std::string before;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t way = winner_at(i, times);
    const std::string name = way == 0 ? "default" : orders[way - 1]->name;
    if (name == before) --entry.count;  // its range reaches further
    if (!choose::add_range(entry, sizes[i], name).empty()) return;
    before = name;
  }
}

}  // namespace quadrille::tools
