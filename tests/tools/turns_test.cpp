// The order in which implementations are measured favours none of them.
#include "tool/bench/turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace quadrille::tools {
namespace {

using Table = std::vector<std::vector<double>>;

Table square(std::size_t count) { return Table(count, std::vector<double>(count)); }

TEST(Turns, EachRoundHasEveryImplementationOnce) {
  EXPECT_TRUE(order_of_round(0, 0).empty());
  for (std::size_t count = 1; count <= 9; ++count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t round = 0; round < 50; ++round) {
      EXPECT_THAT(order_of_round(round, count), testing::UnorderedElementsAreArray(all));
      EXPECT_EQ(order_of_round(round, count), order_of_round(round, count));
    }
  }
}

TEST(Turns, EachPlaceIsTakenByEachEquallyOften) {
  constexpr std::size_t rounds = 6000;
  for (std::size_t count = 2; count <= 6; ++count) {
    Table share = square(count);  // [implementation][place]
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::vector<std::size_t> order = order_of_round(round, count);
      for (std::size_t place = 0; place < count; ++place) share[order[place]][place] += 1.0 / rounds;
    }
    const double fair = 1.0 / static_cast<double>(count);
    for (const auto& places : share) EXPECT_THAT(places, testing::Each(testing::DoubleNear(fair, 0.03)));
  }
}

// Over the ends of the rounds too. There an implementation may follow itself, as the calls of a batch do: at the
// reverse of a round the one that was last, at a new order by chance.
TEST(Turns, EachFollowsEveryOtherEquallyOften) {
  constexpr std::size_t rounds = 6000;
  for (std::size_t count = 2; count <= 6; ++count) {
    Table share = square(count);  // [implementation][predecessor]
    std::size_t last = order_of_round(rounds, count).back();
    for (std::size_t round = 0; round < rounds; ++round) {
      for (const std::size_t which : order_of_round(round, count)) {
        share[which][last] += 1.0 / rounds;
        last = which;
      }
    }
    for (std::size_t which = 0; which < count; ++which) {
      const double fair = 1 / static_cast<double>(count);
      const double others = (1 - share[which][which]) / static_cast<double>(count - 1);
      EXPECT_NEAR(share[which][which], (fair + fair * fair) / 2, 0.03) << count;
      for (std::size_t before = 0; before < count; ++before) {
        if (before == which) continue;
        EXPECT_NEAR(share[which][before], others, 0.03) << count << " " << which << " " << before;
      }
    }
  }
}

// A slow call has ten rounds only.
TEST(Turns, AlsoInFewRoundsEachOfTwoComesFirstEquallyOften) {
  for (std::size_t count = 2; count <= 6; ++count) {
    Table before = square(count);
    for (std::size_t round = 0; round < 10; ++round) {
      const std::vector<std::size_t> order = order_of_round(round, count);
      for (std::size_t a = 0; a < count; ++a) {
        for (std::size_t b = a + 1; b < count; ++b) before[order[a]][order[b]] += 1;
      }
    }
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) EXPECT_EQ(before[a][b], a == b ? 0 : 5);
    }
  }
}

}  // namespace
}  // namespace quadrille::tools
