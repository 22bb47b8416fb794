#include "choose/best_cut.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::choose {
namespace {

using Times = std::vector<double>;

TEST(BestCut, IsWhereTheWaysCross) {
  EXPECT_EQ(best_cut(Times{1, 2, 4, 8}, Times{2, 3, 3, 4}), 2U);
  EXPECT_EQ(best_cut(Times{1, 2}, Times{2, 3}), 2U) << "the first way always";
  EXPECT_EQ(best_cut(Times{3, 4}, Times{2, 3}), 0U) << "never";
  EXPECT_EQ(best_cut(Times{}, Times{}), 0U);
}

TEST(BestCut, OneDisturbedMeasurementDoesNotMoveIt) {
  EXPECT_EQ(best_cut(Times{1, 1, 1, 1, 9, 9}, Times{2, 2, 0.9, 2, 2, 2}), 4U);
  EXPECT_EQ(best_cut(Times{1, 1, 9, 9, 9, 9}, Times{2, 2, 2, 2, 9.5, 2}), 2U);
}

TEST(BestCut, OfEqualWaysTheFirst) { EXPECT_EQ(best_cut(Times{1, 2, 3}, Times{1, 2, 3}), 3U); }

TEST(BestCut, AsSizes) {
  const std::vector<std::size_t> sizes = {100, 200, 300};
  EXPECT_EQ(largest_of_first(sizes, 0, 4096), 99U);
  EXPECT_EQ(largest_of_first(sizes, 2, 4096), 200U);
  EXPECT_EQ(largest_of_first(sizes, 3, 4096), 4096U);
  EXPECT_EQ(largest_of_first({}, 0, 4096), 4096U);
  EXPECT_EQ(least_of_second(sizes, 0), 0U);
  EXPECT_EQ(least_of_second(sizes, 1), 200U);
  EXPECT_EQ(least_of_second(sizes, 3), 301U);
}

TEST(BestCut, TimesThatWereNotMeasuredDoNotCount) { EXPECT_EQ(best_cut(Times{1, 0, 9}, Times{2, 5, 2}), 2U); }

}  // namespace
}  // namespace quadrille::choose
