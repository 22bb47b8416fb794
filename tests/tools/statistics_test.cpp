#include "tool/bench/statistics.hpp"

#include <gtest/gtest.h>

#include "tool/bench/timing.hpp"

namespace quadrille::tools {
namespace {

TEST(Statistics, QuantilesLieBetweenNeighbours) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 40);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 37);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(Statistics, QuartilesOfFourValues) {
  const Quartiles quartiles = quartiles_of(std::vector<double>{40, 10, 30, 20});
  EXPECT_DOUBLE_EQ(quartiles.low, 17.5);
  EXPECT_DOUBLE_EQ(quartiles.median, 25);
  EXPECT_DOUBLE_EQ(quartiles.high, 32.5);
  EXPECT_DOUBLE_EQ(quartiles_of({}).median, 0);
}

TEST(Statistics, SummaryOfAHundredValues) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Summary summary = summarize(values);
  EXPECT_DOUBLE_EQ(summary.least, 0);
  EXPECT_DOUBLE_EQ(summary.median, 50);
  EXPECT_DOUBLE_EQ(summary.p90, 90);
  EXPECT_DOUBLE_EQ(summary.p99, 99);
  EXPECT_DOUBLE_EQ(summarize({}).median, 0);
}

TEST(Statistics, AnOutlierDoesNotMoveTheMedianOfRatios) {
  EXPECT_DOUBLE_EQ(median_of_ratios(std::vector<double>{1, 2, 900}, std::vector<double>{2, 4, 3}), 0.5);
  EXPECT_DOUBLE_EQ(median_of_ratios(std::vector<double>{1, 2}, std::vector<double>{0, 4}), 0.5);
}

TEST(Batches, SmallCallsAreTimedTogetherAndLargeOnesAlone) {
  TimingOptions options;
  EXPECT_EQ(plan_batches({1e-6, 1e-3, 1e-12}, 0, options).calls, (std::vector<long>{200, 1, 20'000}));
  options.cold = true;
  EXPECT_EQ(plan_batches({1e-6, 2e-6}, 0, options).calls, (std::vector<long>{1, 1}));
}

// Ranks that share a core leave a barrier a time slice apart. In batches of one call each, two
// implementations would seem as fast as each other.
TEST(Batches, LastLongerThanTheRanksNeedToLeaveABarrier) {
  const TimingOptions options;
  const BatchPlan plan = plan_batches({1e-5, 1e-3}, 5e-3, options);
  EXPECT_EQ(plan.calls, (std::vector<long>{5000, 50}));
  EXPECT_EQ(plan.batches, 10);
  // But not for ever.
  EXPECT_EQ(plan_batches({1e-3}, 100, options).calls, (std::vector<long>{100}));
}

TEST(Batches, TheNumberOfCallsIsObeyed) {
  TimingOptions options;
  for (const long iterations : {1L, 7L, 20L, 1000L, 12345L}) {
    options.iterations = iterations;
    const BatchPlan plan = plan_batches({1e-6, 2e-6}, 1e-3, options);
    EXPECT_EQ(plan.calls[0], plan.calls[1]);
    EXPECT_GE(plan.calls[0] * plan.batches, iterations);
    EXPECT_LT((plan.batches - 1) * plan.calls[0], iterations);
    EXPECT_GE(plan.batches, std::min(iterations, 10L));
  }
}

// The call before each batch takes its part of the time, where there is one.
TEST(Batches, TheUntimedCallBeforeABatchIsPlannedFor) {
  TimingOptions options;
  EXPECT_EQ(plan_batches({1e-2, 1e-2}, 0, options).batches, 25);
  options.warmup = 0;
  EXPECT_EQ(plan_batches({1e-2, 1e-2}, 0, options).batches, 50);
  options.warmup = 10;
  options.cold = true;
  EXPECT_EQ(plan_batches({1e-2, 1e-2}, 0, options).batches, 50);
}

TEST(Batches, AutomaticNumbersStayWithinBounds) {
  const TimingOptions options;
  EXPECT_EQ(plan_batches({5, 5}, 0, options).batches, 10);
  EXPECT_LE(plan_batches({1e-9}, 0, options).batches, 1000);
}

TEST(Statistics, GeometricMean) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{2, 8}), 4);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 0);
}

}  // namespace
}  // namespace quadrille::tools
