// How long the schedules of neighbourhoods take to compute, by steps: the paper's propositions 1 and 2 say O(s D) for
// the torus algorithms, and section 5 says O(s d) for torus-direct. The plans are compiled so that each basic block
// calls the function below, which counts; so nothing here depends on a clock.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "plan/neighborhood.hpp"

namespace {
std::uint64_t steps = 0;
}

extern "C" void __sanitizer_cov_trace_pc();
extern "C" void __sanitizer_cov_trace_pc() { ++steps; }

namespace quadrille::plan {
namespace {

// s offsets with coordinates up to `radius`, which occurs upwards and downwards in each dimension.
Neighborhood neighborhood(int d, int s, int radius) {
  std::mt19937 random(static_cast<std::uint32_t>(s));
  Neighborhood n{d, std::vector<int>(static_cast<std::size_t>(d), radius)};
  n.offsets.insert(n.offsets.end(), static_cast<std::size_t>(d), -radius);
  while (n.size() < s) {
    for (int j = 0; j < d; ++j) {
      n.offsets.push_back(static_cast<int>(random() % static_cast<unsigned>(2 * radius + 1)) - radius);
    }
  }
  return n;
}

// For the rank in the middle of a torus on which no offset is shortened.
double steps_of(BuildNeighbors build, int d, int s, int radius) {
  const Neighborhood n = neighborhood(d, s, radius);
  const auto dimensions = static_cast<std::size_t>(d);
  const Grid grid{std::vector<int>(dimensions, 2 * radius + 1), std::vector<bool>(dimensions, true)};
  const NeighborProblem problem{&grid, &n, grid.ranks() / 2, {}};
  steps = 0;
  const Schedule schedule = build(problem);
  EXPECT_FALSE(schedule.rounds.empty());
  return static_cast<double>(steps);
}

// A computation that takes c * x steps and less for small x takes at most twice as many for 2 x; n log n has a little
// more, n * n four times as many.
constexpr double kTwice = 2.3;

TEST(StepsTest, AreCounted) { EXPECT_GT(steps_of(neighbor_torus, 3, 50, 5), 50 * 5); }

TEST(StepsTest, OfTorusGrowAsNeighboursTimesRounds) {
  for (const BuildNeighbors build : {neighbor_torus, neighbor_allgather_torus}) {
    for (int s = 50; s <= 1600; s *= 2) {
      EXPECT_LT(steps_of(build, 3, 2 * s, 5), kTwice * steps_of(build, 3, s, 5)) << s << " neighbours";
    }
    for (int radius = 5; radius <= 160; radius *= 2) {  // D = 6 * radius
      EXPECT_LT(steps_of(build, 3, 100, 2 * radius), kTwice * steps_of(build, 3, 100, radius)) << radius;
    }
  }
  EXPECT_LT(steps_of(neighbor_torus, 6, 200, 4), kTwice * steps_of(neighbor_torus, 3, 200, 4));  // D = 2 * d * radius
  // In few dimensions blocks of an allgather share more of their ways, so its steps may grow faster, but only so far.
  EXPECT_LT(steps_of(neighbor_allgather_torus, 6, 200, 4), 1.5 * steps_of(neighbor_torus, 6, 200, 4));
}

TEST(StepsTest, OfTorusDirectGrowAsNeighboursTimesDimensions) {
  for (const BuildNeighbors build : {neighbor_torus_direct, neighbor_allgather_torus_direct}) {
    for (int s = 50; s <= 1600; s *= 2) {
      EXPECT_LT(steps_of(build, 3, 2 * s, 200), kTwice * steps_of(build, 3, s, 200)) << s << " neighbours";
    }
    EXPECT_LT(steps_of(build, 6, 200, 4), kTwice * steps_of(build, 3, 200, 4));
    // However far: coordinates only come to be different ones.
    EXPECT_LT(steps_of(build, 2, 100, 20'000), 1.5 * steps_of(build, 2, 100, 200));
  }
}

}  // namespace
}  // namespace quadrille::plan
