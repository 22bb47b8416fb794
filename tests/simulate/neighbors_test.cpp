// Neighbour collectives: times worked out by hand, and that all that can be simulated comes to its end.
#include <gtest/gtest.h>

#include "cases.hpp"
#include "tool/bench/neighborhood_text.hpp"

namespace quadrille::simulate {
namespace {

using enum Collective;

Asked around(Collective collective, const std::string& algorithm, const std::string& grid,
             const std::string& neighborhood, int per_node = 1) {
  Around around;
  EXPECT_EQ(tools::parse_grid(grid, around.grid), "");
  EXPECT_EQ(tools::parse_neighborhood(neighborhood, around.neighborhood), "");
  const int ranks = around.grid.ranks();
  Asked asked = asked_for(collective, algorithm, map_of(ranks, fmt::format("blocked:{}", per_node)));
  asked.around = around;
  return asked;
}

// Of 8 bytes: 100 to send, 1000 on the way, 18 by the adapter, 100 to receive.
constexpr double message = 100 + 1000 + 18 + 100;

TEST(Neighbors, OneAfterTheOtherTakesAMessageEach) {
  const Outcome outcome =
      outcome_of(around(neighbor_alltoall, "straightforward", "4", "von-neumann:1"), plain_network(), 8);
  EXPECT_EQ(outcome.problem, "");
  EXPECT_DOUBLE_EQ(nanoseconds(outcome), 2 * message);
  EXPECT_EQ(outcome.messages, 4 * 2);
}

// The second message leaves 100 later, and is received when the first has been.
TEST(Neighbors, AllAtOnceWaitsForThemTogether) {
  const Outcome outcome = outcome_of(around(neighbor_alltoall, "direct", "4", "von-neumann:1"), plain_network(), 8);
  EXPECT_EQ(outcome.problem, "");
  EXPECT_DOUBLE_EQ(nanoseconds(outcome), message + 100);
}

// All 8 around: 4 messages of 3 blocks, of 24 bytes, instead of 8 of one.
TEST(Neighbors, CombinedBlocksTravelTogether) {
  const Outcome outcome = outcome_of(around(neighbor_alltoall, "torus", "3x3", "moore:2,1"), plain_network(), 8);
  EXPECT_EQ(outcome.problem, "");
  EXPECT_DOUBLE_EQ(nanoseconds(outcome), 4 * (message + 2 * 8));
  EXPECT_EQ(outcome.messages, 9 * 4);
  EXPECT_EQ(outcome.bytes, 9 * 4 * 24);
}

// A line of 3 nodes: its ends have one neighbour.
TEST(Neighbors, NobodyIsBeyondTheEdgeOfAMesh) {
  const Outcome outcome = outcome_of(around(neighbor_allgather, "direct", "3m", "von-neumann:1"), plain_network(), 8);
  EXPECT_EQ(outcome.problem, "");
  EXPECT_EQ(outcome.messages, 4);
}

TEST(Neighbors, AllThatCanBeSimulatedComesToItsEnd) {
  for (const Collective collective : {neighbor_alltoall, neighbor_alltoallv, neighbor_allgather}) {
    int simulated = 0;
    for (const choose::Algorithm& algorithm : choose::algorithms()) {
      if (!choose::serves(algorithm, collective)) continue;
      const Asked asked = around(collective, std::string(algorithm.name), "4x3x2m", "moore:3,1", 4);
      if (!why_not(asked.choice, asked.map).empty()) continue;
      const Outcome outcome = outcome_of(asked, plain_network(), 8);
      EXPECT_EQ(outcome.problem, "") << algorithm.name;
      EXPECT_GT(outcome.seconds, 0) << algorithm.name;
      ++simulated;
    }
    EXPECT_GE(simulated, 5);
  }
}

}  // namespace
}  // namespace quadrille::simulate
