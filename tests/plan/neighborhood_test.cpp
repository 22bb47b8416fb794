// Neighbourhood collectives: every algorithm is proved on small grids of all shapes, with all kinds of
// neighbourhoods, and its costs are compared with the closed forms of the paper.
#include "plan/neighborhood.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plan/draw.hpp"
#include "plan/verify_neighbors.hpp"

namespace quadrille::plan {
namespace {

struct Algorithm {
  const char* name;
  BuildNeighbors build;
  Pattern pattern;
};

void PrintTo(const Algorithm& algorithm, std::ostream* out) { *out << algorithm.name; }

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = {
      {"straightforward", neighbor_straightforward, Pattern::alltoall},
      {"torus", neighbor_torus, Pattern::alltoall},
      {"torus_direct", neighbor_torus_direct, Pattern::alltoall},
      {"allgather_straightforward", neighbor_allgather_straightforward, Pattern::allgather},
      {"allgather_torus", neighbor_allgather_torus, Pattern::allgather},
      {"allgather_torus_direct", neighbor_allgather_torus_direct, Pattern::allgather},
  };
  return all;
}

std::string describe(const Grid& grid, const Neighborhood& neighborhood) {
  std::string text = "grid";
  for (std::size_t j = 0; j < grid.extents.size(); ++j) {
    text += ' ' + std::to_string(grid.extents[j]) + (grid.periodic[j] ? "p" : "");
  }
  text += ", offsets";
  for (int i = 0; i < std::min(neighborhood.size(), 30); ++i) {
    text += " (";
    for (const int c : neighborhood.offset(i)) text += std::to_string(c) + ',';
    text.back() = ')';
  }
  return text;
}

Neighborhood random_neighborhood(int dimensions, int size, int radius, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> coordinate(-radius, radius);
  Neighborhood result{dimensions, {}};
  for (int k = 0; k < size * dimensions; ++k) result.offsets.push_back(coordinate(random));
  return result;
}

Neighborhood with(Neighborhood neighborhood, const std::vector<int>& more) {
  neighborhood.offsets.insert(neighborhood.offsets.end(), more.begin(), more.end());
  return neighborhood;
}

// Neighbourhoods of all kinds, small enough for many grids.
std::vector<Neighborhood> neighborhoods(int d) {
  const auto n = static_cast<std::size_t>(d);
  const std::vector<int> zero(n, 0), far(n, 5), back(n, -3);
  std::vector<int> corner(n, 1), mixed(n, 0);
  corner.back() = 2;
  mixed.front() = -6;
  std::vector<Neighborhood> all = {
      von_neumann(d),
      {d, {}},
      {d, zero},
      {d, corner},
      with(with(with(von_neumann(d), zero), corner), corner),  // duplicates
      with(with(with({d, corner}, far), back), mixed),         // larger than the extents
      with(with({d, zero}, zero), far),
      random_neighborhood(d, 7, 2, 1),
      random_neighborhood(d, 9, 4, 2),
  };
  if (d <= 3) all.push_back(moore(d, 1));
  if (d <= 2) all.push_back(moore(d, 2));
  return all;
}

// All grids with extents up to `largest` in d dimensions, each dimension periodic or not. With `thin`
// only some of them, well mixed.
void for_grids(int d, int largest, int thin, const std::function<void(const Grid&)>& visit) {
  int count = 1, at = 0;
  for (int j = 0; j < d; ++j) count *= 2 * largest;
  for (int number = 0; number < count; ++number) {
    // Sparing by a number that has nothing to do with the digits of `number`.
    if ((static_cast<std::uint32_t>(number) * 2654435761u >> 8) % static_cast<std::uint32_t>(thin) != 0) {
      continue;
    }
    Grid grid;
    at = number;
    for (int j = 0; j < d; ++j) {
      grid.extents.push_back(at / 2 % largest + 1);
      grid.periodic.push_back(at % 2 == 1);
      at /= 2 * largest;
    }
    visit(grid);
  }
}

class NeighborTest : public testing::TestWithParam<Algorithm> {
 protected:
  void prove(const Grid& grid, const Neighborhood& neighborhood, const Parameters& parameters = {},
             int orders = 2) {
    const auto schedules = build_all(GetParam().build, grid, neighborhood, parameters);
    const Report report =
        verify_neighbors(schedules, grid, neighborhood, GetParam().pattern, orders);
    ASSERT_TRUE(report.ok) << report.what << "\n" << describe(grid, neighborhood);
  }

  void prove_all(int d, int largest, int thin) {
    for (const Neighborhood& neighborhood : neighborhoods(d)) {
      for_grids(d, largest, thin, [&](const Grid& grid) {
        if (HasFatalFailure()) return;
        prove(grid, neighborhood);
        prove(grid, neighborhood, {{"ports", 2}}, 1);
      });
    }
  }
};

TEST_P(NeighborTest, IsProvedInOneDimension) { prove_all(1, 7, 1); }
TEST_P(NeighborTest, IsProvedInTwoDimensions) { prove_all(2, 4, 1); }
TEST_P(NeighborTest, IsProvedInThreeDimensions) { prove_all(3, 4, 2); }
TEST_P(NeighborTest, IsProvedInFourDimensions) { prove_all(4, 4, 60); }

INSTANTIATE_TEST_SUITE_P(All, NeighborTest, testing::ValuesIn(algorithms()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quadrille::plan
