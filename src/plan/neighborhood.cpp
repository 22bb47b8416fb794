#include "plan/neighborhood.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
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

// Direct exchange with the neighbours in any directed graph.
//
// Idea    All messages at once. Without knowledge of the whole graph there is nothing to combine;
//         the k-th edge from one rank to another meets its receive because messages between two
//         ranks keep their order. Edges to the rank itself are local copies, the k-th out with the
//         k-th in.
// Source  What MPI says of its neighbourhood collectives on distributed graphs.
// Cost    1 round, a message and a block for each destination, no scratch. In an allgather every
//         destination gets send[0].
//
// Example, rank 0, sources 1 0 1, destinations 2 0:
//   copy  send[1] -> recv[1]
//   send  to 2: send[0]
//   recv  from 1: recv[0]    from 1: recv[2]
Schedule neighbor_direct(int me, std::span<const int> sources, std::span<const int> destinations, Pattern pattern) {
  const auto block = [pattern](std::size_t k) { return pattern == Pattern::allgather ? 0 : static_cast<int>(k); };
  Builder builder(me);
  builder.begin_round();
  std::size_t own = 0;  // sources looked at for the edges to the rank itself
  for (std::size_t k = 0; k < destinations.size(); ++k) {
    if (destinations[k] != me) continue;
    while (own < sources.size() && sources[own] != me) ++own;
    if (own == sources.size()) break;
    builder.copy(Buffer::send, block(k), Buffer::recv, static_cast<int>(own++));
  }
  for (std::size_t k = 0; k < destinations.size(); ++k) {
    if (destinations[k] < 0 || destinations[k] == me) continue;
    builder.send(destinations[k], Buffer::send, block(k));
  }
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (sources[k] < 0 || sources[k] == me) continue;
    builder.receive(sources[k], Buffer::recv, static_cast<int>(k));
  }
  return builder.take();
}

}  // namespace quadrille::plan
