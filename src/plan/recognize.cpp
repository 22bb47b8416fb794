#include "plan/recognize.hpp"

#include <algorithm>
#include <numeric>

namespace quadrille::plan {
namespace {

// Appends all tori that begin with `extents` and have `dimensions` more.
void extend(std::vector<int>& extents, int ranks, int dimensions, std::size_t most, std::vector<Grid>& found) {
  if (found.size() >= most) return;
  if (dimensions == 1) {
    extents.push_back(ranks);
    found.push_back({extents, std::vector<bool>(extents.size(), true)});
    extents.pop_back();
    return;
  }
  for (int extent = 2; extent <= ranks / 2; ++extent) {
    if (ranks % extent != 0) continue;
    extents.push_back(extent);
    extend(extents, ranks / extent, dimensions - 1, most, found);
    extents.pop_back();
  }
}

// The offset from `me` to `peer`, to the nearest side; half of an even extent upwards.
void append_offset(const Grid& torus, int me, int peer, std::vector<int>& offsets) {
  const std::size_t begin = offsets.size();
  for (std::size_t j = torus.extents.size(); j-- > 0;) {
    const int extent = torus.extents[j];
    int step = (peer % extent - me % extent + extent) % extent;
    if (step > extent / 2) step -= extent;
    offsets.push_back(step);
    me /= extent, peer /= extent;
  }
  std::reverse(offsets.begin() + static_cast<std::ptrdiff_t>(begin), offsets.end());
}

}  // namespace

std::vector<Grid> tori(int ranks, int dimensions, std::size_t most) {
  std::vector<Grid> found;
  if (ranks < 2) return found;
  std::vector<int> extents;
  for (int d = 1; d <= dimensions; ++d) extend(extents, ranks, d, most, found);
  return found;
}

bool view_in(const Grid& torus, int me, std::span<const int> sources, std::span<const int> destinations,
             TorusView& view) {
  const std::size_t s = destinations.size(), d = torus.extents.size();
  if (sources.size() != s) return false;
  Neighborhood given{static_cast<int>(d), {}};
  for (const int peer : destinations) append_offset(torus, me, peer, given.offsets);

  view.order.resize(s);
  std::iota(view.order.begin(), view.order.end(), 0);
  // Stable: edges to one process stay in their order.
  std::stable_sort(view.order.begin(), view.order.end(), [&](int a, int b) {
    return std::ranges::lexicographical_compare(given.offset(a), given.offset(b));
  });
  view.around = {static_cast<int>(d), {}};
  for (const int i : view.order) {
    const std::span<const int> offset = given.offset(i);
    view.around.offsets.insert(view.around.offsets.end(), offset.begin(), offset.end());
  }

  // The sources by rank, each rank's in their order; equal offsets lie together in `around`.
  std::vector<int> by_rank(s);
  std::iota(by_rank.begin(), by_rank.end(), 0);
  const auto rank_of = [&](int k) { return sources[static_cast<std::size_t>(k)]; };
  std::ranges::stable_sort(by_rank, {}, rank_of);
  view.received.assign(s, -1);
  int last = -1;
  std::size_t next = 0;
  for (std::size_t i = 0; i < s; ++i) {
    const int from = rank_at(torus, me, view.around.offset(static_cast<int>(i)), -1);
    if (i == 0 || from != last) {
      next = static_cast<std::size_t>(std::ranges::lower_bound(by_rank, from, {}, rank_of) - by_rank.begin());
    }
    if (next >= s || rank_of(by_rank[next]) != from) return false;
    view.received[i] = by_rank[next++];
    last = from;
  }
  return true;
}

std::uint64_t fingerprint(const Neighborhood& around) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  const auto mix = [&value](int number) {
    value = (value ^ static_cast<unsigned>(number)) * 0x100000001b3ULL;
    value ^= value >> 29;
  };
  mix(around.dimensions);
  for (const int coordinate : around.offsets) mix(coordinate);
  return value;
}

}  // namespace quadrille::plan
