// Neighbourhoods that have a name: for command lines, figures and tests. Inline, so that tests of plans need nothing
// else of the tool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <vector>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {

// All offsets but zero with coordinates from -radius to radius, in row order.
inline Neighborhood moore(int dimensions, int radius) {
  Neighborhood result{dimensions, {}};
  std::vector<int> offset(static_cast<std::size_t>(dimensions), -radius);
  while (true) {
    const bool zero = std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
    if (!zero) result.add(offset);
    auto j = offset.size();
    while (j > 0 && offset[j - 1] == radius) offset[--j] = -radius;
    if (j == 0) return result;
    ++offset[j - 1];
  }
}

template <class Keep>
Neighborhood part_of_moore(int dimensions, int radius, Keep keep) {
  const Neighborhood all = moore(dimensions, radius);
  Neighborhood result{dimensions, {}};
  for (int i = 0; i < all.size(); ++i) {
    if (keep(all.offset(i))) result.add(all.offset(i));
  }
  return result;
}

// Those of a Moore neighbourhood without a negative coordinate: an asymmetric one (Traff et al., figure 2(f)).
inline Neighborhood positive_moore(int dimensions, int radius) {
  return part_of_moore(dimensions, radius, [](std::span<const int> offset) {
    return std::all_of(offset.begin(), offset.end(), [](int c) { return c >= 0; });
  });
}

// Those at the Chebyshev distances `near` and `far`: the "shales" of Traff et al., figure 4(b).
inline Neighborhood shales(int dimensions, int near, int far) {
  return part_of_moore(dimensions, std::max(near, far), [&](std::span<const int> offset) {
    int distance = 0;
    for (const int c : offset) distance = std::max(distance, std::abs(c));
    return distance == near || distance == far;
  });
}

// The two nearest processes in each dimension, as MPI orders them: -1 and +1 in dimension 0, and so
// on. Mind that MPI numbers the recv blocks of a Cartesian communicator by where they come from:
// its recv block k is the recv block k ^ 1 of this neighbourhood.
inline Neighborhood von_neumann(int dimensions) {
  const auto d = static_cast<std::size_t>(dimensions);
  Neighborhood result{dimensions, std::vector<int>(2 * d * d, 0)};
  for (std::size_t j = 0; j < d; ++j) {
    result.offsets[2 * j * d + j] = -1;
    result.offsets[(2 * j + 1) * d + j] = 1;
  }
  return result;
}

}  // namespace quadrille::plan
