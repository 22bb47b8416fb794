// Who is late, and how it is said.
#include "tool/bench/late.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace quadrille::tools {
namespace {

TEST(Late, IsSaidInMicroseconds) {
  std::optional<Late> late;
  EXPECT_EQ(parse_late("500", late), "");
  ASSERT_TRUE(late);
  EXPECT_DOUBLE_EQ(late->seconds, 500e-6);
  EXPECT_TRUE(late->is_drawn());
  EXPECT_EQ(parse_late("20:3", late), "");
  ASSERT_TRUE(late);
  EXPECT_DOUBLE_EQ(late->seconds, 20e-6);
  EXPECT_EQ(late->rank, 3);
  EXPECT_FALSE(late->is_drawn());
  EXPECT_EQ(parse_late("", late), "");
  EXPECT_FALSE(late);
  for (const char* wrong : {"0", "-1", "x", "5us", "1:", ":1", "1:-1", "1:2:3", "10000001", "1.5"}) {
    EXPECT_THAT(parse_late(wrong, late), testing::HasSubstr(wrong)) << wrong;
    EXPECT_FALSE(late) << wrong;
  }
}

TEST(Late, EachRankIsDrawn) {
  const Late late{1e-3, -1};
  std::set<int> seen;
  for (std::size_t round = 0; round < 200; ++round) {
    const int rank = late_rank(late, round, 5);
    EXPECT_TRUE(0 <= rank && rank < 5);
    seen.insert(rank);
    EXPECT_EQ(rank, late_rank(late, round, 5));
    EXPECT_EQ(late_rank({1e-3, 2}, round, 5), 2);
  }
  EXPECT_EQ(seen.size(), 5u);
}

}  // namespace
}  // namespace quadrille::tools
