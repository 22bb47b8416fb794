#include "tool/bench/overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quadrille::tools {
namespace {

// Alone, computation, both.
TEST(HiddenPercent, IsWhatTakesNoTimeOfItsOwn) {
  EXPECT_DOUBLE_EQ(hidden_percent({10, 10, 10}), 100) << "all of it hides";
  EXPECT_DOUBLE_EQ(hidden_percent({10, 10, 20}), 0) << "one comes after the other";
  EXPECT_DOUBLE_EQ(hidden_percent({10, 10, 15}), 50);
  EXPECT_DOUBLE_EQ(hidden_percent({4, 10, 11}), 75) << "of the time alone, not of that of the computation";
  EXPECT_DOUBLE_EQ(hidden_percent({10, 4, 11}), 30) << "a computation that is shorter";
}

TEST(HiddenPercent, StaysBetweenNothingAndAll) {
  EXPECT_DOUBLE_EQ(hidden_percent({10, 10, 25}), 0) << "it costs more than both apart";
  EXPECT_DOUBLE_EQ(hidden_percent({10, 10, 8}), 100) << "the clock is not that exact";
  EXPECT_DOUBLE_EQ(hidden_percent({0, 10, 10}), 0) << "nothing is there to hide";
}

TEST(Work, IsDividedWithNothingLeftOver) {
  for (const long units : {0L, 1L, 7L, 1000L, 1001L}) {
    for (const int parts : {1, 2, 7, 11}) {
      long sum = 0;
      for (int part = 0; part < parts; ++part) {
        const long some = units_of_part(units, parts, part);
        EXPECT_LE(std::abs(some - units / parts), 1);
        sum += some;
      }
      EXPECT_EQ(sum, units) << parts;
    }
  }
}

TEST(Work, EachUnitTakesTheResultOfTheOneBefore) {
  EXPECT_EQ(work(work(5, 3), 4), work(5, 7));
  EXPECT_EQ(work(5, 0), 5u);
  EXPECT_NE(work(5, 1), work(5, 2));
}

TEST(Work, IsTestedSoOftenUntilTheCallIsComplete) {
  int made = 0;
  const auto tests_of = [&made](int tests, int until) {
    made = 0;
    compute_and_test(100, tests, [&] { return ++made == until; });
    return made;
  };
  EXPECT_EQ(tests_of(0, -1), 0);
  EXPECT_EQ(tests_of(1, -1), 1);
  EXPECT_EQ(tests_of(200, -1), 200) << "more tests than units";
  EXPECT_EQ(tests_of(10, 3), 3);
}

TEST(Overlap, IsFoundRoundByRound) {
  // 100, 50 and 0 percent; and what the last round alone would say of the medians is none of them.
  const std::vector<double> alone = {10, 10, 20}, compute = {10, 10, 10}, both = {10, 15, 30};
  const OverlapSide side = overlap_side(alone, compute, both);
  EXPECT_DOUBLE_EQ(side.percent.low, 25);
  EXPECT_DOUBLE_EQ(side.percent.median, 50);
  EXPECT_DOUBLE_EQ(side.percent.high, 75);
  EXPECT_DOUBLE_EQ(side.both.low, 12.5);
  EXPECT_DOUBLE_EQ(side.both.median, 15);
  EXPECT_DOUBLE_EQ(side.both.high, 22.5);
  EXPECT_DOUBLE_EQ(overlap_side({}, {}, {}).percent.median, 0);
}

TEST(Overlap, EachImplementationHasItsOwnTimesBesideTheOneComputation) {
  OverlapTiming timing;
  timing.alone.microseconds = {{10, 10}, {4, 4}, {5, 5}};
  timing.compute = {10, 10};
  timing.both = {{20, 20}, {11, 11}, {10, 40}};
  timing.both_calls = {3, 6, 7};
  const OverlapColumns first = overlap_columns(timing, 1, 8), second = overlap_columns(timing, 2, 8);
  EXPECT_EQ(first.tests, 8);
  EXPECT_DOUBLE_EQ(first.compute, 10);
  EXPECT_DOUBLE_EQ(first.mpi.percent.median, 0);
  EXPECT_DOUBLE_EQ(first.quadrille.percent.median, 75);
  EXPECT_DOUBLE_EQ(first.both_ratio, 0.55);
  EXPECT_DOUBLE_EQ(first.both_pair_ratio, 0.55);
  EXPECT_EQ(first.mpi.calls_per_batch, 3);
  EXPECT_EQ(first.quadrille.calls_per_batch, 6);
  EXPECT_DOUBLE_EQ(second.quadrille.percent.median, 50);
  EXPECT_DOUBLE_EQ(second.both_ratio, 1.25);
  EXPECT_DOUBLE_EQ(second.both_pair_ratio, 1.25);
  EXPECT_EQ(second.quadrille.calls_per_batch, 7);
}

}  // namespace
}  // namespace quadrille::tools
