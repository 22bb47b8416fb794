// Schedules played in lock step. That the moves of real algorithms bring all blocks home is seen by
// tests/tools/html_runs.sh.
#include "tool/plans/moves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quadrille::plan {
namespace {

using testing::HasSubstr;

// Rank 0 sends `messages` blocks to rank 1, one message each.
std::vector<Schedule> one_way(int messages, Window window, bool receives = true) {
  Builder sender(0), receiver(1);
  sender.begin_round(window);
  receiver.begin_round(window);
  for (int i = 0; i < messages; ++i) sender.send(1, Buffer::send, i);
  for (int i = 0; receives && i < messages; ++i) receiver.receive(0, Buffer::recv, i);
  return {sender.take(), receiver.take()};
}

std::vector<std::size_t> moves_a_step(const std::vector<Schedule>& schedules) {
  std::vector<Step> steps;
  EXPECT_EQ(play(schedules, one_node(static_cast<int>(schedules.size())), steps), "");
  std::vector<std::size_t> counts;
  for (const Step& step : steps) counts.push_back(step.size());
  return counts;
}

TEST(MovesTest, AWindowBoundsAStep) {
  EXPECT_EQ(moves_a_step(one_way(5, {})), (std::vector<std::size_t>{5}));
  EXPECT_EQ(moves_a_step(one_way(5, {Window::Wait::all, 2})), (std::vector<std::size_t>{2, 2, 1}));
  EXPECT_EQ(moves_a_step(one_way(5, {Window::Wait::any, 3})), (std::vector<std::size_t>{3, 2}));
}

TEST(MovesTest, AMessageNeedsItsReceive) {
  std::vector<Step> steps;
  EXPECT_THAT(play(one_way(1, {}, false), one_node(2), steps), HasSubstr("no rank can proceed"));
}

// Rank 2 copies what rank 1 has from rank 0 after two steps: the fence keeps it back.
TEST(MovesTest, AFenceHoldsTheNodeTogether) {
  std::vector<Schedule> schedules = one_way(2, {Window::Wait::all, 1});
  for (Schedule& schedule : schedules) schedule.rounds.back().node_fence = true;
  Builder third(2);
  third.begin_round();
  third.node_fence();
  third.begin_round();
  third.copy({1, 1, Buffer::recv}, {2, 0, Buffer::recv});
  schedules.push_back(third.take());
  std::vector<Step> steps;
  ASSERT_EQ(play(schedules, one_node(3), steps), "");
  ASSERT_EQ(steps.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(steps[i].size(), 1u);
    EXPECT_EQ(steps[i][0].by, i < 2 ? 0 : 2);
  }
}

TEST(MovesTest, CopyByCopyKeepsTheOrderOfEachRank) {
  std::vector<Schedule> schedules;
  for (int me = 0; me < 2; ++me) {
    Builder builder(me);
    builder.begin_round();
    for (int i = 0; i <= me; ++i) builder.copy(Buffer::send, i, Buffer::recv, i);
    schedules.push_back(builder.take());
  }
  std::vector<Step> steps;
  ASSERT_EQ(play(schedules, one_node(2), steps), "");
  ASSERT_EQ(steps.size(), 1u);
  steps = copy_by_copy(std::move(steps));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].size(), 2u);
  ASSERT_EQ(steps[1].size(), 1u);
  EXPECT_EQ(steps[1][0].by, 1);
  EXPECT_EQ(steps[1][0].blocks[0].from.block, 1);
}

}  // namespace
}  // namespace quadrille::plan
