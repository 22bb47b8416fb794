// Whether a machine is quiet, judged from numbers that are given here.
#include "tool/machine/quiet.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace quadrille::tools {
namespace {

TEST(Quiet, ReadsTheTasksThatRun) {
  EXPECT_EQ(running_in("0.31 0.22 0.15 3/512 4711"), 3);
  EXPECT_EQ(running_in("12.00 5.57 2.31 12/159 24708"), 12);
  EXPECT_EQ(running_in(""), 0);
  EXPECT_EQ(running_in("3/512"), 0);
}

TEST(Quiet, SummarizesALoop) {
  std::vector<double> seconds(200, 1e-3);
  EXPECT_DOUBLE_EQ(summarize_loop(seconds, {}).p99_over_median, 1);
  for (int i = 0; i < 4; ++i) seconds[static_cast<std::size_t>(50 * i)] = 5e-3;
  const LoopTimes disturbed = summarize_loop(seconds, std::vector<double>{1, 3});
  EXPECT_DOUBLE_EQ(disturbed.p99_over_median, 5);
  EXPECT_DOUBLE_EQ(disturbed.running, 2);
}

TEST(Quiet, JudgesWhatDisturbs) {
  EXPECT_TRUE(judge_loop({1.1, 4}, 4, 4, 8).quiet);
  EXPECT_FALSE(judge_loop({3.0, 4}, 4, 4, 8).quiet) << "the loop is interrupted";
  EXPECT_FALSE(judge_loop({1.1, 8}, 8, 4, 8).quiet) << "ranks share processors";
  EXPECT_FALSE(judge_loop({1.1, 9}, 4, 4, 8).quiet) << "others fill the machine";
  EXPECT_TRUE(judge_loop({1.1, 6}, 4, 4, 8).quiet) << "others have processors of their own";
  EXPECT_TRUE(judge_loop({1.1, 2.6}, 2, 2, 2).quiet) << "daemons wake up now and then";
  EXPECT_TRUE(judge_loop({1.1, 0}, 2, 2, 2).quiet) << "the system does not say";
  const Quietness quietness = judge_loop({1.1, 9}, 4, 8, 8);
  EXPECT_DOUBLE_EQ(quietness.load, 5);
  EXPECT_DOUBLE_EQ(quietness.ranks_per_processor, 0.5);
}

TEST(Quiet, SaysItInOneLineAndInJson) {
  const Quietness loud{false, 16.2, 2.1, 2};
  EXPECT_EQ(quiet_line(loud),
            "machine is NOT quiet, times may mislead: p99 / median of a fixed loop 16.20, load beside it 2.1, ranks / "
            "processors 2.00");
  EXPECT_EQ(quiet_line({}), "machine is quiet: p99 / median of a fixed loop 1.00, load beside it 0.0");
  EXPECT_EQ(quietness_from(to_json(loud)), loud);
  EXPECT_EQ(quietness_from(nullptr), Quietness{});
}

TEST(Quiet, LooksAtThisMachine) {
  const LoopTimes times = time_fixed_loop();
  EXPECT_GE(times.p99_over_median, 1);
  EXPECT_EQ(check_quiet_here().ranks_per_processor, 0) << "there are no ranks";
}

}  // namespace
}  // namespace quadrille::tools
