// Additive bases, and the plans that use them.
#include "plan/additive_basis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plan/cost.hpp"
#include "plan/schedule.hpp"
#include "plan/verify.hpp"
#include "tool/bench/named_neighborhoods.hpp"

namespace quadrille::plan {
namespace {

int modulo(std::int64_t number, int ring) {
  return static_cast<int>(ring > 0 ? (number % ring + ring) % ring : number);
}

// Sums of all sets of elements; bit j of the index stands for element j.
std::vector<int> all_sums(const std::vector<int>& elements, int ring) {
  std::vector<int> sums = {0};
  for (const int element : elements) {
    for (std::size_t i = 0, n = sums.size(); i < n; ++i) {
      sums.push_back(modulo(std::int64_t{sums[i]} + element, ring));
    }
  }
  return sums;
}

// Checks a basis of `values` and returns its elements.
std::vector<int> basis_of(const std::vector<int>& values, int ring) {
  const std::vector<int> weights(values.size(), 1);
  const AdditiveBasis basis = line_basis(values, weights, ring);
  const std::vector<int>& elements = basis.elements.offsets;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t sum = 0;
    std::vector<int> used;
    for (const int number : basis.sums[i]) {
      const int element = elements.at(static_cast<std::size_t>(number));
      sum += element;
      EXPECT_EQ(std::count(used.begin(), used.end(), element), 0) << "used twice";
      used.push_back(element);
      if (ring == 0) {
        EXPECT_EQ(element > 0, values[i] > 0);
      } else {
        EXPECT_NE(element % ring, 0);
      }
    }
    EXPECT_EQ(modulo(sum - values[i], ring), 0);
    // No way goes in a circle.
    const std::vector<int> parts = all_sums(used, ring);
    EXPECT_EQ(std::count(parts.begin(), parts.end(), 0), 1);
    if (ring != 0 || elements.size() > 10) continue;
    const std::vector<int> sums = all_sums(elements, ring);
    for (std::size_t set = 0; set < sums.size(); ++set) {
      if (sums[set] != values[i]) continue;
      EXPECT_GE(std::popcount(set), static_cast<int>(used.size())) << "a shorter sum";
    }
  }
  return elements;
}

std::vector<int> numbers(int first, int last) {
  std::vector<int> all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  all.erase(std::remove(all.begin(), all.end(), 0), all.end());
  return all;
}

// Whether some set of `size` numbers up to the largest value has all values as sums.
bool exists(const std::vector<int>& values, int size) {
  const int largest = *std::max_element(values.begin(), values.end());
  for (std::uint32_t set = 1; set < 1u << largest; ++set) {
    if (std::popcount(set) != size) continue;
    std::set<int> sums = {0};
    for (int e = 1; e <= largest; ++e) {
      if ((set >> (e - 1) & 1) == 0) continue;
      for (const int s : std::vector<int>(sums.begin(), sums.end())) sums.insert(s + e);
    }
    if (std::all_of(values.begin(), values.end(), [&](int v) { return sums.contains(v); })) {
      return true;
    }
  }
  return false;
}

TEST(LineBasisTest, ThePapersExamples) {
  EXPECT_EQ(basis_of(numbers(1, 3), 0), (std::vector<int>{1, 2}));
  EXPECT_EQ(basis_of(numbers(1, 7), 0), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(basis_of(numbers(1, 8), 0).size(), 4u);
  EXPECT_EQ(basis_of(numbers(1, 7), 100).size(), 3u);
}

TEST(LineBasisTest, IsSmallestForSmallSets) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::set<int> set;
    for (int k = 0; k < 1 + round % 8; ++k) set.insert(1 + static_cast<int>(random() % 12));
    const std::vector<int> values(set.begin(), set.end());
    const std::vector<int> basis = basis_of(values, 0);
    const auto size = static_cast<int>(basis.size());
    EXPECT_TRUE(exists(values, size));
    EXPECT_TRUE(size == 1 || !exists(values, size - 1)) << testing::PrintToString(values);
  }
}

// On a mesh an element must not lead beyond, so up and down are apart.
TEST(LineBasisTest, UpAndDown) {
  EXPECT_EQ(basis_of({-1, 1}, 0).size(), 2u);
  EXPECT_EQ(basis_of(numbers(-3, 3), 0).size(), 4u);
  EXPECT_EQ(basis_of(numbers(-3, 3), 100).size(), 3u);  // 1, 2, -3
  EXPECT_EQ(basis_of(numbers(-1, 2), 100).size(), 2u);  // -1, 2
  EXPECT_EQ(basis_of(numbers(-7, 7), 100).size(), 4u);
}

// All others on a ring: Bruck's algorithm.
TEST(LineBasisTest, Bruck) {
  for (int ring = 2; ring <= 64; ++ring) {
    const std::vector<int> basis = basis_of(numbers(-(ring - 1) / 2, ring / 2), ring);
    EXPECT_EQ(static_cast<int>(basis.size()), std::bit_width(static_cast<unsigned>(ring - 1)));
  }
}

TEST(LineBasisTest, LargeSetsAreGuessed) {
  EXPECT_EQ(basis_of(numbers(1, 1000), 0).size(), 10u);
  EXPECT_EQ(basis_of(numbers(-500, 500), 5000).size(), 10u);
  EXPECT_EQ(basis_of({1000, 7, 100000}, 0).size(), 3u);
  EXPECT_EQ(basis_of({-1000, 1000000000}, 2100000000).size(), 2u);
  EXPECT_TRUE(basis_of({}, 0).empty());
}

// --- neighbourhoods ------------------------------------------------------------------------------

Grid torus(int dimensions, int extent, bool periodic = true) {
  const auto d = static_cast<std::size_t>(dimensions);
  return {std::vector<int>(d, extent), std::vector<bool>(d, periodic)};
}

AdditiveBasis checked_basis(const Grid& grid, const Neighborhood& given) {
  const Neighborhood n = travelled(grid, given);
  AdditiveBasis basis = additive_basis(grid, n);
  int others = 0;  // offsets that are not zero
  for (int i = 0; i < n.size(); ++i) {
    const auto offset = n.offset(i);
    others += std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; }) ? 0 : 1;
    const std::vector<int>& sum = basis.sums[static_cast<std::size_t>(i)];
    EXPECT_TRUE(std::is_sorted(sum.begin(), sum.end()));
    EXPECT_EQ(std::adjacent_find(sum.begin(), sum.end()), sum.end());
    for (std::size_t j = 0; j < grid.extents.size(); ++j) {
      int rest = n.offset(i)[j];
      for (const int e : sum) {
        EXPECT_TRUE(grid.periodic[j] || basis.element(e)[j] == 0 || (basis.element(e)[j] > 0) == (n.offset(i)[j] > 0));
        rest -= basis.element(e)[j];
      }
      EXPECT_EQ(grid.periodic[j] ? rest % grid.extents[j] : rest, 0);
    }
  }
  EXPECT_LE(basis.counts().rounds, torus_direct_counts(n).rounds);
  EXPECT_LE(basis.counts().rounds, others);
  return basis;
}

TEST(AdditiveBasisTest, OfStencils) {
  for (int d = 1; d <= 4; ++d) {
    // The unit vectors and minus their sum: what goes down goes up in all other dimensions first.
    EXPECT_EQ(checked_basis(torus(d, 9), von_neumann(d)).size(), d + 1);
    EXPECT_EQ(checked_basis(torus(d, 9, false), von_neumann(d)).size(), 2 * d);
    EXPECT_EQ(checked_basis(torus(d, 9), moore(d, 1)).size(), 2 * d);
    EXPECT_EQ(checked_basis(torus(d, 9, false), moore(d, 1)).size(), 2 * d);
    EXPECT_EQ(checked_basis(torus(d, 3), moore(d, 1)).size(), 2 * d);
  }
  for (int d = 1; d <= 3; ++d) {
    EXPECT_EQ(checked_basis(torus(d, 9), moore(d, 2)).size(), 3 * d);
    EXPECT_EQ(checked_basis(torus(d, 9), moore(d, 3)).size(), 3 * d);
    EXPECT_EQ(checked_basis(torus(d, 9, false), moore(d, 3)).size(), 4 * d);
  }
}

// Vectors off the axes, where they serve.
TEST(AdditiveBasisTest, OfDiagonals) {
  EXPECT_EQ(checked_basis(torus(2, 9), {2, {1, 1}}).size(), 1);
  EXPECT_EQ(checked_basis(torus(2, 9), {2, {1, 1, 2, 2, 3, 3}}).size(), 2);
  EXPECT_EQ(checked_basis(torus(3, 9), {3, {1, 1, 1, -1, -1, -1, 0, 0, 0}}).size(), 2);
  EXPECT_EQ(checked_basis(torus(2, 9), {2, {}}).size(), 0);
}

// The smallest basis need not be made of offsets.
TEST(AdditiveBasisTest, OfVectorsThatAreNoOffsets) {
  for (const bool periodic : {true, false}) {
    const Grid grid = torus(2, 100, periodic);
    const AdditiveBasis line = checked_basis(grid, {2, {3, 3, 4, 4, 5, 5, 6, 6, 7, 7}});
    EXPECT_EQ(line.size(), 3);  // (2,2) (3,3) (4,4), say
    // x + y, x + z, y + z and x + y + z, for x = (1,2), y = (3,1), z = (5,7): each of these is a difference.
    const AdditiveBasis sums = checked_basis(grid, {2, {4, 3, 6, 9, 8, 8, 9, 10}});
    EXPECT_EQ(sums.size(), 3);
  }
  // The search takes 31 vectors at most; of more the powers of two are a basis.
  for (const int vectors : {30, 40}) {
    Neighborhood diagonal{2, {}};
    for (int c = 1; c <= vectors; ++c) diagonal.offsets.insert(diagonal.offsets.end(), {2 * c, -3 * c});
    const int size = vectors == 30 ? 5 : 6;
    EXPECT_EQ(checked_basis(torus(2, 1000), diagonal).size(), size);
    EXPECT_EQ(checked_basis(torus(2, 1000, false), diagonal).size(), size);
  }
}

// --- compared with all sets of vectors -----------------------------------------------------------

using Vectors = std::vector<std::vector<int>>;

// All vectors that can be in a basis: on a torus every one, on a mesh those in the box of the offsets.
Vectors all_vectors(const Grid& grid, const Vectors& offsets) {
  Vectors all = {{}};
  for (std::size_t j = 0; j < grid.extents.size(); ++j) {
    int low = 0, high = grid.extents[j] - 1;
    if (!grid.periodic[j]) {
      high = 0;
      for (const auto& v : offsets) low = std::min(low, v[j]), high = std::max(high, v[j]);
    }
    Vectors longer;
    for (const auto& v : all) {
      for (int c = low; c <= high; ++c) longer.push_back(v), longer.back().push_back(c);
    }
    all = std::move(longer);
  }
  std::erase_if(all, [](const auto& v) { return std::all_of(v.begin(), v.end(), [](int c) { return c == 0; }); });
  return all;
}

// Adds an element to each sum, as a block may travel; the same vector always looks the same.
Vectors with_element(const Grid& grid, Vectors sums, const std::vector<int>& element) {
  for (std::size_t i = 0, n = sums.size(); i < n; ++i) {
    std::vector<int> sum = sums[i];
    bool turns = false;
    for (std::size_t j = 0; j < sum.size(); ++j) {
      turns = turns || (!grid.periodic[j] && sum[j] * element[j] < 0);
      sum[j] += element[j];
      if (grid.periodic[j]) sum[j] = modulo(sum[j], grid.extents[j]);
    }
    if (!turns) sums.push_back(std::move(sum));
  }
  return sums;
}

// Whether `size` more of the candidates from `first` on make sums of all offsets.
bool basis_exists(const Grid& grid, const Vectors& offsets, const Vectors& candidates, std::size_t first, int size,
                  const Vectors& sums) {
  if (size == 0) {
    return std::all_of(offsets.begin(), offsets.end(),
                       [&](const auto& v) { return std::find(sums.begin(), sums.end(), v) != sums.end(); });
  }
  for (std::size_t c = first; c < candidates.size(); ++c) {
    const Vectors more = with_element(grid, sums, candidates[c]);
    if (basis_exists(grid, offsets, candidates, c + 1, size - 1, more)) return true;
  }
  return false;
}

// The size of the smallest basis among the candidates, if it is at most `most`; else most + 1.
int smallest_basis(const Grid& grid, const Vectors& offsets, const Vectors& candidates, int most) {
  const Vectors zero = {std::vector<int>(grid.extents.size(), 0)};
  int size = 0;
  while (size <= most && !basis_exists(grid, offsets, candidates, 0, size, zero)) ++size;
  return size;
}

// Offsets as they are travelled, that differ and are not zero.
Vectors different_offsets(const Grid& grid, const Neighborhood& given) {
  const Neighborhood n = travelled(grid, given);
  std::set<std::vector<int>> different;
  for (int i = 0; i < n.size(); ++i) {
    std::vector<int> v(n.offset(i).begin(), n.offset(i).end());
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = modulo(v[j], grid.periodic[j] ? grid.extents[j] : 0);
    if (std::any_of(v.begin(), v.end(), [](int c) { return c != 0; })) different.insert(v);
  }
  return {different.begin(), different.end()};
}

// Bases of up to three vectors are found whatever they are; of four nearly always.
TEST(AdditiveBasisTest, IsSmallestForSmallSets) {
  const std::vector<Grid> grids = {{{4, 4}, {true, true}},
                                   {{3, 5}, {true, true}},
                                   {{4, 4}, {false, false}},
                                   {{3, 4}, {true, false}},
                                   {{2, 2, 3}, {true, true, true}},
                                   {{6, 2}, {true, true}},
                                   {{2, 3, 3}, {false, false, false}},
                                   {{2, 3, 2}, {true, false, true}}};
  std::mt19937 random(11);
  int of_no_offsets = 0, of_four = 0, smallest_of_four = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int rounds = 3;  // several times as slow
#else
  constexpr int rounds = 12;
#endif
  for (int round = 0; round < rounds * static_cast<int>(grids.size()); ++round) {
    const Grid& grid = grids[static_cast<std::size_t>(round) % grids.size()];
    Neighborhood n{static_cast<int>(grid.extents.size()), {}};
    for (int k = 0; k < 2 + round % 7; ++k) {
      for (const int extent : grid.extents) {
        n.offsets.push_back(static_cast<int>(random() % static_cast<unsigned>(2 * extent - 1)) - extent + 1);
      }
    }
    const AdditiveBasis basis = checked_basis(grid, n);
    const Vectors offsets = different_offsets(grid, n);
    const int smallest = smallest_basis(grid, offsets, all_vectors(grid, offsets), 4);
    SCOPED_TRACE(testing::PrintToString(offsets));
    EXPECT_GE(basis.size(), smallest);
    if (smallest <= 3) {
      EXPECT_EQ(basis.size(), smallest);
    }
    if (smallest == 4) ++of_four, smallest_of_four += basis.size() == 4 ? 1 : 0;
    if (smallest <= 3) of_no_offsets += smallest_basis(grid, offsets, offsets, 3) > smallest ? 1 : 0;
  }
  if (rounds < 12) return;  // too few to count
  EXPECT_GT(of_no_offsets, 2);
  EXPECT_GT(smallest_of_four, of_four * 9 / 10);
}

TEST(AdditiveBasisTest, OfRandomNeighborhoods) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const int d = 1 + round % 3;
    Neighborhood n{d, {}};
    for (int k = 0; k < d * (1 + round % 9); ++k) {
      n.offsets.push_back(static_cast<int>(random() % 9) - 4);
    }
    for (const int extent : {3, 4, 8, 20}) {
      for (const bool periodic : {true, false}) checked_basis(torus(d, extent, periodic), n);
    }
  }
}

TEST(AdditiveBasisTest, CountsAreThoseOfThePlans) {
  for (const Neighborhood& n :
       {moore(2, 3), von_neumann(3), Neighborhood{2, {1, 1, 2, 2, 3, 3}}, Neighborhood{1, numbers(1, 20)}}) {
    const Grid grid = torus(n.dimensions, 50);
    const NeighborCounts expected = checked_basis(grid, n).counts();
    const Counts alltoall = count(neighbor_basis({&grid, &n, 0, {}}));
    EXPECT_EQ(alltoall.rounds, static_cast<std::uint64_t>(expected.rounds));
    EXPECT_EQ(alltoall.blocks_sent, static_cast<std::uint64_t>(expected.blocks));
    const Counts allgather = count(neighbor_allgather_basis({&grid, &n, 0, {}}));
    EXPECT_EQ(allgather.rounds, alltoall.rounds);
    EXPECT_LE(allgather.blocks_sent, alltoall.blocks_sent);
  }
}

TEST(AdditiveBasisTest, OfTheLastProblemAlone) {
  LastBasis last;
  const Neighborhood near = von_neumann(2), far{2, {3, 0, 0, 3}};
  for (const Neighborhood& n : {near, near, far}) {
    for (const bool periodic : {true, true, false}) {
      const Grid grid = torus(2, 9, periodic);
      EXPECT_EQ(last.of(grid, n).elements, additive_basis(grid, n).elements);
      EXPECT_EQ(last.of(grid, n).sums, additive_basis(grid, n).sums);
    }
  }
}

// Larger rings than the general tests have: long bases, in both collectives.
TEST(AdditiveBasisTest, PlansAreProvedOnLargerGrids) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const bool flat = round % 2 == 0;
    const Grid grid = flat ? torus(2, 4 + round % 3, round % 4 == 0) : torus(1, 5 + round, round % 3 != 0);
    const int d = flat ? 2 : 1;
    Neighborhood n{d, {}};
    for (int k = 0; k < 12 * d; ++k) n.offsets.push_back(static_cast<int>(random() % 25) - 12);
    for (const std::int64_t ports : {1, 2}) {
      const Parameters parameters = {{"ports", ports}};
      const Report alltoall =
          verify_neighbors(build_all(neighbor_basis, grid, n, parameters), grid, n, Pattern::alltoall, 1);
      ASSERT_TRUE(alltoall.ok) << alltoall.what;
      const Report allgather =
          verify_neighbors(build_all(neighbor_allgather_basis, grid, n, parameters), grid, n, Pattern::allgather, 1);
      ASSERT_TRUE(allgather.ok) << allgather.what;
    }
  }
}

std::string drawn(BuildNeighbors build) {
  const Grid grid{{9}, {true}};
  const Neighborhood n{1, {1, 2, 3, 4}};
  return draw(build({&grid, &n, 0, {}}), 0);
}

TEST(NeighborExampleTest, Basis) {
  EXPECT_EQ(drawn(neighbor_basis), R"(scratch 3 blocks
round 0
  send  to 1: send[0], send[2]
  recv  from 8: recv[0], scratch[2]
round 1
  send  to 2: send[1], scratch[2]
  recv  from 7: recv[1..2]
round 2
  send  to 4: send[3]
  recv  from 5: recv[3]
)");
}

TEST(NeighborExampleTest, AllgatherBasis) {
  EXPECT_EQ(drawn(neighbor_allgather_basis), R"(scratch 0 blocks
round 0
  send  to 1: send[0]
  recv  from 8: recv[0]
round 1
  send  to 2: send[0], recv[0]
  recv  from 7: recv[1..2]
round 2
  send  to 4: send[0]
  recv  from 5: recv[3]
)");
}

}  // namespace
}  // namespace quadrille::plan
