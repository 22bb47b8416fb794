#include "plan/recognize.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "text/hash.hpp"

namespace quadrille::plan {
namespace {

// Appends all tori that begin with `extents` and have `dimensions` more.
void extend(std::vector<int> extents, int ranks, int dimensions, std::size_t most, std::vector<Grid>& found) {
  if (found.size() >= most) return;
  int& last = extents.emplace_back(ranks);
  if (dimensions == 1) return found.push_back({extents, std::vector<bool>(extents.size(), true)});
  for (last = 2; last <= ranks / 2; ++last) {
    if (ranks % last == 0) extend(extents, ranks / last, dimensions - 1, most, found);
  }
}

// The offset from `me` to `peer`; where it is periodic to the nearest side, half of an even extent upwards.
void append_offset(const Grid& grid, int me, int peer, std::vector<int>& offsets) {
  const std::size_t begin = offsets.size();
  for (std::size_t j = grid.extents.size(); j-- > 0;) {
    const int extent = grid.extents[j];
    int step = peer % extent - me % extent;
    if (grid.periodic[j] && step < 0) step += extent;
    if (grid.periodic[j] && step > extent / 2) step -= extent;
    offsets.push_back(step);
    me /= extent, peer /= extent;
  }
  std::reverse(offsets.begin() + static_cast<std::ptrdiff_t>(begin), offsets.end());
}

// Finds the peer at each offset: its place in `peers`, or -1 outside. False unless these are all peers.
bool match(const Grid& grid, int me, const Neighborhood& around, int sign, std::span<const int> peers,
           std::vector<int>& places) {
  // By rank, each rank's in their order; equal offsets lie together in `around`.
  std::vector<int> by_rank(peers.size());
  std::iota(by_rank.begin(), by_rank.end(), 0);
  const auto rank_of = [&](int k) { return peers[static_cast<std::size_t>(k)]; };
  std::ranges::stable_sort(by_rank, {}, rank_of);
  const int size = around.size();
  places.assign(static_cast<std::size_t>(size), -1);
  int last = -1;
  std::size_t next = 0, found = 0;
  for (int i = 0; i < size; ++i) {
    const int peer = rank_at(grid, me, around.offset(i), sign);
    if (peer < 0) continue;
    if (peer != last) {
      next = static_cast<std::size_t>(std::ranges::lower_bound(by_rank, peer, {}, rank_of) - by_rank.begin());
    }
    if (next >= peers.size() || rank_of(by_rank[next]) != peer) return false;
    places[static_cast<std::size_t>(i)] = by_rank[next++];
    last = peer;
    ++found;
  }
  return found == peers.size();
}

}  // namespace

std::vector<Grid> tori(int ranks, int dimensions, std::size_t most) {
  std::vector<Grid> found;
  if (ranks < 2) return found;
  for (int d = 1; d <= dimensions; ++d) extend({}, ranks, d, most, found);
  return found;
}

std::vector<Grid> meshes(int ranks, int dimensions, std::size_t most) {
  std::vector<Grid> found;
  for (const Grid& torus : tori(ranks, dimensions, most)) {
    const std::size_t d = torus.extents.size();
    for (unsigned open = (1U << d) - 1; open > 0; --open) {  // first the one that is open everywhere
      if (found.size() == most) return found;
      found.push_back(torus);
      for (std::size_t j = 0; j < d; ++j) found.back().periodic[j] = (open >> j & 1) == 0;
    }
  }
  return found;
}

bool view_around(const Grid& grid, int me, std::span<const int> sources, std::span<const int> destinations,
                 GridView& view) {
  return match(grid, me, view.around, 1, destinations, view.order) &&
         match(grid, me, view.around, -1, sources, view.received);
}

bool view_in(const Grid& torus, int me, std::span<const int> sources, std::span<const int> destinations,
             GridView& view) {
  const Neighborhood given = offsets_in(torus, me, destinations);
  std::vector<int> order(destinations.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(
      order, [&](int a, int b) { return std::ranges::lexicographical_compare(given.offset(a), given.offset(b)); });
  view.around = {given.dimensions, {}};
  for (const int i : order) view.around.add(given.offset(i));
  return view_around(torus, me, sources, destinations, view);
}

std::uint64_t fingerprint(const Neighborhood& around) {
  return text::Hash().add(around.dimensions).add_all(around.offsets).value();
}

Neighborhood offsets_in(const Grid& grid, int me, std::span<const int> destinations) {
  Neighborhood around{static_cast<int>(grid.extents.size()), {}};
  for (const int peer : destinations) append_offset(grid, me, peer, around.offsets);
  return around;
}

Reach reach_of(const Neighborhood& around) {
  const auto d = static_cast<std::size_t>(around.dimensions);
  Reach reach(2 * d, 0);
  for (std::size_t k = 0; k < around.offsets.size(); ++k) {
    int &down = reach[2 * (k % d)], &up = reach[2 * (k % d) + 1];
    down = std::max(down, -around.offsets[k]);
    up = std::max(up, around.offsets[k]);
  }
  return reach;
}

std::int64_t cells_in(std::span<const int> reach, std::int64_t most) {
  std::int64_t cells = 1;
  for (std::size_t j = 0; j < reach.size() && cells <= most; j += 2) {
    cells *= std::int64_t{1} + reach[j] + reach[j + 1];
  }
  return std::min(cells, most + 1);
}

std::vector<int> count_offsets(const Neighborhood& around, std::span<const int> reach) {
  std::vector<int> counts(static_cast<std::size_t>(cells_in(reach, std::numeric_limits<int>::max())), 0);
  for (int i = 0; i < around.size(); ++i) {
    std::size_t cell = 0;
    for (std::size_t j = 0; 2 * j < reach.size(); ++j) {
      const int width = reach[2 * j] + reach[2 * j + 1] + 1, from_below = around.offset(i)[j] + reach[2 * j];
      cell = cell * static_cast<std::size_t>(width) + static_cast<std::size_t>(from_below);
    }
    ++counts[cell];
  }
  return counts;
}

Neighborhood counted_offsets(std::span<const int> counts, std::span<const int> reach) {
  const std::size_t d = reach.size() / 2;
  Neighborhood around{static_cast<int>(d), {}};
  std::vector<int> offset(d);
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    auto rest = static_cast<int>(cell);
    for (std::size_t j = d; j-- > 0;) {
      const int width = reach[2 * j] + reach[2 * j + 1] + 1;
      offset[j] = rest % width - reach[2 * j];
      rest /= width;
    }
    for (int k = 0; k < counts[cell]; ++k) around.add(offset);
  }
  return around;
}

}  // namespace quadrille::plan
