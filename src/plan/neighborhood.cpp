#include "plan/neighborhood.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace quadrille::plan {

int Grid::ranks() const {
  int ranks = 1;
  for (const int extent : extents) ranks *= extent;
  return ranks;
}

int Neighborhood::size() const {
  return dimensions == 0 ? 0 : static_cast<int>(offsets.size()) / dimensions;
}

std::span<const int> Neighborhood::offset(int i) const {
  const auto d = static_cast<std::size_t>(dimensions);
  return std::span(offsets).subspan(static_cast<std::size_t>(i) * d, d);
}

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

Neighborhood moore(int dimensions, int radius) {
  Neighborhood result{dimensions, {}};
  std::vector<int> offset(static_cast<std::size_t>(dimensions), -radius);
  while (true) {
    const bool zero = std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
    if (!zero) result.offsets.insert(result.offsets.end(), offset.begin(), offset.end());
    auto j = offset.size();
    while (j > 0 && offset[j - 1] == radius) offset[--j] = -radius;
    if (j == 0) return result;
    ++offset[j - 1];
  }
}

Neighborhood von_neumann(int dimensions) {
  const auto d = static_cast<std::size_t>(dimensions);
  Neighborhood result{dimensions, std::vector<int>(2 * d * d, 0)};
  for (std::size_t j = 0; j < d; ++j) {
    result.offsets[2 * j * d + j] = -1;
    result.offsets[(2 * j + 1) * d + j] = 1;
  }
  return result;
}

Neighborhood travelled(const Grid& grid, const Neighborhood& neighborhood) {
  Neighborhood result = neighborhood;
  const std::size_t d = grid.extents.size();
  for (std::size_t first = 0; first < result.offsets.size(); first += d) {
    const std::span<int> offset = std::span(result.offsets).subspan(first, d);
    bool leaves = false;
    for (std::size_t j = 0; j < d; ++j) {
      const int extent = grid.extents[j];
      if (grid.periodic[j]) {
        const int up = (offset[j] % extent + extent) % extent;
        offset[j] = up > extent / 2 ? up - extent : up;
      } else {
        leaves = leaves || offset[j] >= extent || offset[j] <= -extent;
      }
    }
    if (leaves) std::fill(offset.begin(), offset.end(), 0);
  }
  return result;
}

void renumber_received(Schedule& schedule, std::span<const int> slots) {
  const auto renumber = [slots](Span& span) {
    if (span.buffer == Buffer::recv) span.block = slots[static_cast<std::size_t>(span.block)];
  };
  for (Span& span : schedule.spans) renumber(span);
  for (Copy& copy : schedule.copies) renumber(copy.from), renumber(copy.to);
}

NeighborCounts straightforward_counts(const Neighborhood& neighborhood) {
  NeighborCounts counts;
  for (int i = 0; i < neighborhood.size(); ++i) {
    const auto offset = neighborhood.offset(i);
    const bool zero = std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
    counts.rounds += zero ? 0 : 1;
  }
  counts.blocks = counts.rounds;
  return counts;
}

NeighborCounts torus_counts(const Neighborhood& neighborhood) {
  NeighborCounts counts;
  for (int j = 0; j < neighborhood.dimensions; ++j) {
    std::int64_t up = 0, down = 0;
    for (int i = 0; i < neighborhood.size(); ++i) {
      const std::int64_t c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      up = std::max(up, c);
      down = std::max(down, -c);
      counts.blocks += std::max(c, -c);
    }
    counts.rounds += up + down;
  }
  return counts;
}

NeighborCounts torus_direct_counts(const Neighborhood& neighborhood) {
  NeighborCounts counts;
  for (int j = 0; j < neighborhood.dimensions; ++j) {
    std::vector<int> coordinates;
    for (int i = 0; i < neighborhood.size(); ++i) {
      const int c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      if (c != 0) coordinates.push_back(c);
    }
    counts.blocks += static_cast<std::int64_t>(coordinates.size());
    std::sort(coordinates.begin(), coordinates.end());
    counts.rounds += std::unique(coordinates.begin(), coordinates.end()) - coordinates.begin();
  }
  return counts;
}

double cut_off(const Machine& machine, std::int64_t s, std::int64_t D, std::int64_t V) {
  if (D >= s) return 0;
  if (V <= s) return std::numeric_limits<double>::infinity();
  return machine.alpha / machine.beta * static_cast<double>(s - D) / static_cast<double>(V - s);
}

}  // namespace quadrille::plan
