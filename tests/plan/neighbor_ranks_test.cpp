// The ranks around a process against the plain formula.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {
namespace {

constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();

// One coordinate after the other, by division; -1 outside of the grid.
int plain_rank(const Grid& grid, int me, const int* offset, int sign) {
  std::vector<std::int64_t> place(grid.extents.size());
  for (std::size_t j = place.size(); j-- > 0;) {
    place[j] = me % grid.extents[j];
    me /= grid.extents[j];
  }
  std::int64_t rank = 0;
  for (std::size_t j = 0; j < place.size(); ++j) {
    const std::int64_t extent = grid.extents[j];
    std::int64_t at = place[j] + sign * static_cast<std::int64_t>(offset[j]);
    if ((at < 0 || at >= extent) && !grid.periodic[j]) return -1;
    at = (at % extent + extent) % extent;
    rank = rank * extent + at;
  }
  return static_cast<int>(rank);
}

void expect_plain(const Grid& grid, const std::vector<int>& offsets, int me) {
  const std::size_t d = grid.extents.size(), s = offsets.size() / d;
  const RanksAround ranks = ranks_around(grid, {static_cast<int>(d), offsets}, me);
  ASSERT_EQ(ranks.sources.size(), s);
  ASSERT_EQ(ranks.destinations.size(), s);
  for (std::size_t i = 0; i < s; ++i) {
    ASSERT_EQ(ranks.sources[i], plain_rank(grid, me, &offsets[i * d], -1)) << "offset " << i << " of rank " << me;
    ASSERT_EQ(ranks.destinations[i], plain_rank(grid, me, &offsets[i * d], 1)) << "offset " << i << " of rank " << me;
  }
}

// Visits all vectors of `d` values.
template <class Visit>
void for_vectors(std::size_t d, const std::vector<int>& values, Visit visit) {
  std::vector<std::size_t> at(d, 0);
  std::vector<int> vector(d);
  while (true) {
    for (std::size_t j = 0; j < d; ++j) vector[j] = values[at[j]];
    visit(vector);
    std::size_t j = d;
    while (j > 0 && ++at[j - 1] == values.size()) at[--j] = 0;
    if (j == 0) return;
  }
}

std::vector<int> all_offsets(std::size_t d, const std::vector<int>& coordinates) {
  std::vector<int> offsets;
  for_vectors(d, coordinates,
              [&](const std::vector<int>& offset) { offsets.insert(offsets.end(), offset.begin(), offset.end()); });
  return offsets;
}

// Every rank of every grid with `extents`, dimensions periodic or not.
void expect_plain_everywhere(std::size_t d, const std::vector<int>& extents, const std::vector<int>& offsets) {
  for_vectors(d, extents, [&](const std::vector<int>& shape) {
    for_vectors(d, {0, 1}, [&](const std::vector<int>& periodic) {
      const Grid grid{shape, {periodic.begin(), periodic.end()}};
      for (int me = 0; me < grid.ranks(); ++me) ASSERT_NO_FATAL_FAILURE(expect_plain(grid, offsets, me));
    });
  });
}

std::vector<int> from_to(int first, int last) {
  std::vector<int> values;
  for (int c = first; c <= last; ++c) values.push_back(c);
  return values;
}

TEST(NeighborRanksTest, AreThoseOfThePlainFormula) {
  expect_plain_everywhere(1, {1, 2, 3, 4}, all_offsets(1, from_to(-9, 9)));
  expect_plain_everywhere(2, {1, 2, 3, 4}, all_offsets(2, from_to(-9, 9)));
  expect_plain_everywhere(3, {1, 2, 3, 4}, all_offsets(3, {-9, -4, -2, -1, 0, 1, 3, 8}));
}

TEST(NeighborRanksTest, InMoreDimensions) {
  expect_plain_everywhere(4, {1, 3}, all_offsets(4, {-9, -1, 0, 2}));
  expect_plain_everywhere(5, {1, 3}, all_offsets(5, {-1, 2}));
  expect_plain_everywhere(6, {1, 2}, all_offsets(6, {0, 1}));
}

TEST(NeighborRanksTest, OfFewNeighbours) {
  for (const int c : {-9, -1, 0, 1, 9}) expect_plain_everywhere(2, {1, 2, 3, 4}, {c, -c});
  expect_plain_everywhere(2, {1, 2, 3, 4}, {});
  expect_plain_everywhere(2, {1, 2, 3, 4}, {0, 1, 0, 1, 0, 0, 0, -3, 0, -3});  // repeated
}

TEST(NeighborRanksTest, CoordinatesThatDoNotFitInBytes) {
  // Enough neighbours for tables.
  expect_plain_everywhere(1, {1, 3, 200, 1000}, from_to(-500, 511));
  expect_plain_everywhere(2, {1, 40}, all_offsets(2, {-300, -129, -128, -127, -1, 0, 1, 39, 127, 128, 300}));
}

TEST(NeighborRanksTest, CoordinatesAtTheEndsOfInt) {
  const std::vector<int> ends = {least, least + 1, -1, 0, 1, most - 1, most};
  expect_plain_everywhere(1, {1, 2, 3, 7}, ends);
  expect_plain_everywhere(2, {1, 2, 3, 7}, all_offsets(2, ends));
  // One among many: a table that reaches so far would not fit into memory.
  std::vector<int> many = all_offsets(2, from_to(-9, 9));
  many.insert(many.end(), {least, 0, 1, most});
  expect_plain_everywhere(2, {1, 3, 4}, many);
}

TEST(NeighborRanksTest, OfManyRanks) {
  // Tables: the last rank, and a mesh where both directions leave it in all dimensions.
  // The last two have too many ranks for them.
  const std::vector<std::vector<int>> shapes = {{32000, 32000}, {800, 800, 800}, {46340, 46340}, {1290, 1290, 1290}};
  for (const std::vector<int>& shape : shapes) {
    const std::vector<int> offsets = all_offsets(shape.size(), {-1, 0, 1, -5, 6});
    for (const bool periodic : {false, true}) {
      const Grid grid{shape, std::vector<bool>(shape.size(), periodic)};
      for (const int me : {0, grid.ranks() / 2, grid.ranks() - 1}) {
        ASSERT_NO_FATAL_FAILURE(expect_plain(grid, offsets, me));
      }
    }
  }
  expect_plain({{most}, {true}}, from_to(-20, 20), most - 3);
  expect_plain({{most}, {false}}, from_to(-20, 20), most - 3);
}

TEST(NeighborRanksTest, OfRandomGrids) {
  std::mt19937 random(7);
  for (int run = 0; run < 2000; ++run) {
    const auto draw = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    const auto d = static_cast<std::size_t>(draw(1, 6));
    Grid grid{std::vector<int>(d), std::vector<bool>(d)};
    for (std::size_t j = 0; j < d; ++j) grid.extents[j] = draw(1, 5), grid.periodic[j] = draw(0, 2) > 0;
    std::vector<int> offsets(d * static_cast<std::size_t>(draw(0, 60)));
    const int reach = draw(1, 40);
    for (int& c : offsets) c = draw(-reach, reach);
    ASSERT_NO_FATAL_FAILURE(expect_plain(grid, offsets, draw(0, grid.ranks() - 1)));
  }
}

TEST(NeighborRanksTest, DoubleEdges) {
  const auto twice = [](const std::vector<int>& extents, bool periodic, const std::vector<int>& offsets) {
    const Grid grid{extents, std::vector<bool>(extents.size(), periodic)};
    return has_double_edges(grid, {static_cast<int>(extents.size()), offsets});
  };
  EXPECT_FALSE(twice({3}, true, {}));
  EXPECT_FALSE(twice({3}, true, {-1, 0, 1}));
  EXPECT_TRUE(twice({2}, true, {-1, 1}));
  EXPECT_TRUE(twice({5}, true, {2, -3}));
  EXPECT_TRUE(twice({5}, true, {2, most, 2}));
  EXPECT_TRUE(twice({3}, true, {0, 1, 2, 3}));
  EXPECT_TRUE(twice({2}, false, {-1, 1}));  // no rank has both
  EXPECT_FALSE(twice({3, 4}, true, {1, 2, 2, 2, 0, 0, 1, -1}));
  EXPECT_TRUE(twice({3, 4}, true, {1, 2, 2, 2, 0, 0, -2, -2}));
}

}  // namespace
}  // namespace quadrille::plan
