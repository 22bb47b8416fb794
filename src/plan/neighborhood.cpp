#include "plan/neighborhood.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

namespace quadrille::plan {

int Grid::ranks() const { return std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>()); }

bool Grid::is_torus() const { return std::find(periodic.begin(), periodic.end(), false) == periodic.end(); }

int rank_at(const Grid& grid, int me, std::span<const int> offset, int sign) {
  std::int64_t rank = 0, stride = 1;
  for (std::size_t j = grid.extents.size(); j-- > 0;) {
    const std::int64_t extent = grid.extents[j];
    std::int64_t at = me % extent + sign * static_cast<std::int64_t>(offset[j]);
    me /= static_cast<int>(extent);
    if (at < 0 || at >= extent) {
      if (!grid.periodic[j]) return -1;
      at = (at % extent + extent) % extent;
    }
    rank += at * stride;
    stride *= extent;
  }
  return static_cast<int>(rank);
}

namespace {

// Dimension j of all offsets, in a ring.
void shorten(std::span<int> offsets, std::size_t j, std::size_t d, int extent) {
  int up = 0, down = 0;  // the furthest, but for half of an even extent
  for (std::size_t k = j; k < offsets.size(); k += d) {
    int c = offsets[k] % extent;
    c += c < 0 ? extent : 0;
    c -= c > extent / 2 ? extent : 0;
    if (2 * static_cast<std::int64_t>(c) != extent) up = std::max(up, c), down = std::max(down, -c);
    offsets[k] = c;
  }
  if (down <= up) return;
  for (std::size_t k = j; k < offsets.size(); k += d) {
    if (2 * static_cast<std::int64_t>(offsets[k]) == extent) offsets[k] -= extent;
  }
}

}  // namespace

Neighborhood travelled(const Grid& grid, const Neighborhood& neighborhood) {
  Neighborhood result = neighborhood;
  const std::size_t d = grid.extents.size();
  const auto leaves = [&grid](std::size_t j, int c) {
    return !grid.periodic[j] && (c >= grid.extents[j] || c <= -grid.extents[j]);
  };
  for (int i = 0, s = grid.is_torus() ? 0 : result.size(); i < s; ++i) {
    const std::span<int> offset = std::span(result.offsets).subspan(static_cast<std::size_t>(i) * d, d);
    bool stays = true;
    for (std::size_t j = 0; j < d; ++j) stays = stays && !leaves(j, offset[j]);
    if (!stays) std::fill(offset.begin(), offset.end(), 0);
  }
  for (std::size_t j = 0; j < d; ++j) {
    if (grid.periodic[j]) shorten(result.offsets, j, d, grid.extents[j]);
  }
  return result;
}

NeighborCounts torus_direct_counts(const Neighborhood& neighborhood) {
  NeighborCounts counts;
  for (int j = 0; j < neighborhood.dimensions; ++j) {
    std::set<int> coordinates;
    for (int i = 0; i < neighborhood.size(); ++i) {
      const int c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      if (c != 0) coordinates.insert(c), ++counts.blocks;
    }
    counts.rounds += std::ssize(coordinates);
  }
  return counts;
}

double cut_off(const Machine& machine, std::int64_t s, std::int64_t D, std::int64_t V) {
  const double saved = machine.alpha * static_cast<double>(s - D) - machine.rho * static_cast<double>(D - 1);
  const double more = machine.beta * static_cast<double>(V - s);
  if (D >= s || saved <= 0) return 0;
  return more <= 0 ? std::numeric_limits<double>::infinity() : saved / more;
}

}  // namespace quadrille::plan
