// The ranks of a process's neighbours, which a call that makes a communicator has to find for every offset.
//
// Coordinate c in dimension j adds ((place[j] + c) mod extent[j]) * stride[j] to the rank of the destination, and the
// same with -c to that of the source. Offsets repeat few coordinates, so there is a table of both for each dimension,
// as one number, and an offset costs d look-ups: no division, and no branch at a border. Example: a ring of 4, me = 3,
// coordinates -1 to 1: destinations 2, 3, 0, sources 0, 3, 2.
//
// Tables of coordinates that are large for the few neighbours there are would cost more than they save. Then, and in
// grids of more ranks than the tables' numbers allow, each coordinate is divided: rank_at().
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {
namespace {

struct Axis {
  int extent, place, stride;
  bool periodic;
};

std::int64_t modulo(std::int64_t at, std::int64_t extent) { return (at % extent + extent) % extent; }

// What a coordinate adds to the source, times 2^32, and to the destination. Their sums come apart again as long as
// either is less than 2^31 in size.
std::int64_t packed(std::int64_t source, std::int64_t destination) {
  return source * (std::int64_t{1} << 32) + destination;
}

// The table for coordinates from -reach on. Outside of the grid is `absent`, which makes any sum negative.
void fill(std::int64_t* table, std::int64_t reach, const Axis& axis, std::int64_t absent) {
  std::int64_t up = modulo(axis.place - reach, axis.extent), down = modulo(axis.place + reach, axis.extent);
  const auto part = [&axis, absent](std::int64_t at, std::int64_t wrapped) {
    return axis.periodic || at == wrapped ? wrapped * axis.stride : absent;
  };
  for (std::int64_t c = -reach; c < reach; ++c) {
    *table++ = packed(part(axis.place - c, down), part(axis.place + c, up));
    up = up + 1 == axis.extent ? 0 : up + 1;
    down = down == 0 ? axis.extent - 1 : down - 1;
  }
}

// `known` dimensions, if they are not 0: the loop over them is unrolled. Torus: no sum is negative.
template <std::size_t known, bool torus>
void look_up(const std::vector<int>& offsets, const std::int64_t* zeros, std::size_t width, std::size_t d,
             RanksAround& ranks) {
  if (known != 0) d = known;
  std::array<const std::int64_t*, std::max<std::size_t>(known, 1)> zero;  // [dimension], if known
  for (std::size_t j = 0; j < known; ++j) zero[j] = zeros + j * width;
  const int* offset = offsets.data();
  int *sources = ranks.sources.data(), *destinations = ranks.destinations.data();
  for (std::size_t i = 0, s = ranks.sources.size(); i < s; ++i, offset += d) {
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < d; ++j) sum += (known != 0 ? zero[j] : zeros + j * width)[offset[j]];
    const auto to = static_cast<std::int32_t>(sum);
    const auto from = static_cast<std::int32_t>((torus ? sum : sum - to) >> 32);
    sources[i] = torus ? from : std::max(from, -1);
    destinations[i] = torus ? to : std::max(to, -1);
  }
}

template <bool torus>
void look_up(const Neighborhood& around, const std::vector<std::int64_t>& tables, std::size_t reach,
             RanksAround& ranks) {
  const auto d = static_cast<std::size_t>(around.dimensions);
  using LookUp = void (*)(const std::vector<int>&, const std::int64_t*, std::size_t, std::size_t, RanksAround&);
  static constexpr LookUp of_dimensions[] = {look_up<0, torus>, look_up<1, torus>, look_up<2, torus>,
                                             look_up<3, torus>, look_up<4, torus>, look_up<5, torus>};
  of_dimensions[d < std::size(of_dimensions) ? d : 0](around.offsets, tables.data() + reach, 2 * reach, d, ranks);
}

// A power of two: a coordinate is at least -reach and less than reach.
std::size_t reach_around(const Neighborhood& around) {
  std::uint32_t bits = 0;  // of the largest coordinate: -1 has none, as 0
  for (const int c : around.offsets) bits |= static_cast<std::uint32_t>(c ^ (c >> 31));
  return std::bit_ceil(bits + 1);
}

std::vector<std::int64_t> tables_of(const Grid& grid, int me, std::size_t reach, std::int64_t absent) {
  const std::size_t width = 2 * reach;
  std::vector<std::int64_t> tables(width * grid.extents.size());
  int stride = 1;
  for (std::size_t j = grid.extents.size(); j-- > 0;) {
    const int extent = grid.extents[j];
    fill(&tables[width * j], static_cast<std::int64_t>(reach), {extent, me % extent, stride, grid.periodic[j]}, absent);
    me /= extent;
    stride *= extent;
  }
  return tables;
}

}  // namespace

RanksAround ranks_around(const Grid& grid, const Neighborhood& around, int me) {
  const auto s = static_cast<std::size_t>(around.size());
  RanksAround ranks{std::vector<int>(s), std::vector<int>(s)};
  if (s == 0) return ranks;  // a grid without dimensions has no tables
  const std::int64_t size = grid.ranks();
  const std::size_t reach = reach_around(around);
  if (reach <= s / 2 + 8 && size * around.dimensions < INT32_MAX) {
    const std::vector<std::int64_t> tables = tables_of(grid, me, reach, -size);
    grid.is_torus() ? look_up<true>(around, tables, reach, ranks) : look_up<false>(around, tables, reach, ranks);
  } else {
    for (std::size_t i = 0; i < s; ++i) {
      ranks.sources[i] = rank_at(grid, me, around.offset(static_cast<int>(i)), -1);
      ranks.destinations[i] = rank_at(grid, me, around.offset(static_cast<int>(i)), 1);
    }
  }
  return ranks;
}

bool has_double_edges(const Grid& grid, const Neighborhood& around) {
  if (around.size() > grid.ranks()) return true;
  Grid torus = grid;
  torus.periodic.assign(torus.extents.size(), true);
  std::vector<bool> seen(static_cast<std::size_t>(torus.ranks()));
  for (const int rank : ranks_around(torus, around, 0).destinations) {
    if (seen[static_cast<std::size_t>(rank)]) return true;
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return false;
}

}  // namespace quadrille::plan
