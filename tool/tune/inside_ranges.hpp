// What `quadrille tune --neighbors` makes of the times that it has measured inside a node.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "choose/tuning.hpp"

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

// Sets the choices by what was measured: times[w][i] of `sizes[i]` bytes the way w, where way 0 is the default and the
// others are `orders`. An order must be faster than the default by 5 %.
inline void set_ranges(choose::InsideEntry& entry, std::span<const std::size_t> sizes,
                       const std::vector<const choose::Algorithm*>& orders,
                       const std::vector<std::vector<double>>& times) {
  entry.choices.clear();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t way = winner_at(i, times);
    const choose::Choice choice = way == 0 ? choose::Choice() : choose::plain(entry.collective, orders[way - 1]->name);
    const bool is_as_before = i > 0 && entry.choices.back().choice.algorithm == choice.algorithm;
    if (is_as_before) entry.choices.pop_back();  // its range reaches further
    entry.choices.push_back({sizes[i], choice});
  }
}

}  // namespace quadrille::tools
