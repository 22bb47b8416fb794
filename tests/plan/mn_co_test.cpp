// Morton order between ranks: the counts of the paper, for powers of two, and bounds for the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "plan/algorithms.hpp"
#include "plan/cost.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {
namespace {

struct Sent {
  std::uint32_t first = 0, second = 0;  // messages of each round
};
Sent sent(const Schedule& schedule) { return {schedule.rounds[0].sends.count, schedule.rounds[1].sends.count}; }

// The one at the head of mn_co.cpp.
TEST(MnCo, TheExample) {
  const NodeMap nodes = one_node(4);
  EXPECT_EQ(draw(mn_co({4, 1, &nodes, {}}), 1),
            "scratch 2 blocks\nround 0\n  copy  send[1] -> recv[1]\n  send  to 2: send[2..3]\n  send  to 0: send[0]\n"
            "  recv  from 3: scratch[1], recv[3]\n  recv  from 2: scratch[0], recv[2]\n"
            "round 1\n  send  to 0: scratch[0..1]\n  recv  from 0: recv[0]\n");
}

// sqrt(P) messages twice where log2 P is even; sqrt(2 P), then sqrt(P / 2) where it is odd. A rank that is its own
// carrier, or whose destination it is itself, sends one fewer.
TEST(MnCo, SendsAsManyMessagesAsThePaperSays) {
  for (int power = 1; power <= 10; ++power) {
    const int ranks = 1 << power;
    const NodeMap nodes = one_node(ranks);
    const int first = 1 << ((power + 1) / 2), second = 1 << (power / 2);
    int fewer_first = 0, fewer_second = 0;
    for (int me = 0; me < ranks; ++me) {
      const Sent counts = sent(mn_co({ranks, me, &nodes, {}}));
      ASSERT_LE(counts.first, static_cast<std::uint32_t>(first));
      ASSERT_GE(counts.first + 1, static_cast<std::uint32_t>(first));
      // Of a rectangle with one destination nothing but its own block may be left.
      ASSERT_LE(counts.second, static_cast<std::uint32_t>(second));
      ASSERT_GE(counts.second + 1, static_cast<std::uint32_t>(second));
      fewer_first += counts.first < static_cast<std::uint32_t>(first) ? 1 : 0;
      fewer_second += counts.second < static_cast<std::uint32_t>(second) ? 1 : 0;
    }
    EXPECT_GE(fewer_first, 1);
    EXPECT_GE(fewer_second, 1);
  }
}

// Each block moves at most twice, so all ranks together send less than twice what they have.
TEST(MnCo, MovesEachBlockAtMostTwice) {
  for (const int ranks : {2, 3, 7, 12, 16, 31, 64, 100}) {
    const NodeMap nodes = one_node(ranks);
    std::uint64_t blocks = 0, gathered = 0;
    for (int me = 0; me < ranks; ++me) {
      blocks += count(mn_co({ranks, me, &nodes, {}})).blocks_sent;
      gathered += count(allgather_mn_co({ranks, me, &nodes, {}})).blocks_sent;
    }
    const auto others = static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(ranks - 1);
    EXPECT_GE(blocks, others);
    EXPECT_LE(blocks, 2 * others);
    EXPECT_EQ(gathered, others) << "a block comes to each rank once";
  }
}

TEST(MnCo, OtherNumbersOfRanksSendLittleMore) {
  for (int ranks = 2; ranks <= 300; ++ranks) {
    const NodeMap nodes = one_node(ranks);
    const double root = std::sqrt(ranks);
    for (int me = 0; me < ranks; me += 1 + ranks / 10) {
      const Sent counts = sent(mn_co({ranks, me, &nodes, {}}));
      EXPECT_LE(counts.first, 2 * root + 2) << ranks;
      EXPECT_LE(counts.second, 2 * root + 2) << ranks;
    }
  }
}

}  // namespace
}  // namespace quadrille::plan
