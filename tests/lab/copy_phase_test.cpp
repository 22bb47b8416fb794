// The copy phase: how fast an order is depends on the machine; that all data arrive, and that each
// order is measured, does not.
#include "lab/copy_phase/copy_phase.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/sys.hpp"

namespace quadrille::tools {
namespace {

CopyPhaseCase small_case(int ranks, int threads, std::size_t bytes) {
  CopyPhaseCase c;
  c.ranks = ranks;
  c.threads = threads;
  c.bytes = bytes;
  c.orders = {plan::Order::row, plan::Order::column, plan::Order::morton, plan::Order::hilbert};
  c.seconds = 0;
  return c;
}

void expect_right(const CopyPhaseCase& c) {
  const CopyPhaseResult result = measure_copy_phase(c);
  EXPECT_EQ(result.errors, 0u) << c.ranks << " ranks, " << c.threads << " threads";
  ASSERT_EQ(result.microseconds.size(), c.orders.size());
  for (const std::vector<double>& times : result.microseconds) {
    EXPECT_EQ(times.size(), static_cast<std::size_t>(result.rounds));
    for (const double time : times) EXPECT_GE(time, 0);
  }
}

TEST(CopyPhase, MovesEveryBlockOfEveryOrder) {
  for (const int ranks : {1, 2, 5, 8, 33}) {
    for (const int threads : {1, 2, ranks}) {
      if (threads <= ranks) expect_right(small_case(ranks, threads, 24));
    }
  }
  expect_right(small_case(64, 2, 1));
}

TEST(CopyPhase, MovesThemColdAndStaggeredToo) {
  CopyPhaseCase c = small_case(6, 2, 4096);
  c.staggered = true;
  expect_right(c);
  c.evict_bytes = 4096;
  expect_right(c);
  EXPECT_EQ(measure_copy_phase(c).calls_per_batch, 1);
}

TEST(CopyPhase, WithoutOrdersIsNothing) {
  CopyPhaseCase c = small_case(2, 1, 8);
  c.orders.clear();
  EXPECT_TRUE(measure_copy_phase(c).microseconds.empty());
}

TEST(CopyPhase, CountsEventsOrSaysWhyNot) {
  CopyPhaseCase c = small_case(4, 2, 64);
  c.events = {{"nonsense", 4'000'000, 1, ""}, {"unknown", 0, 0, "not available: for a test"}};
  const CopyPhaseResult result = measure_copy_phase(c);
  ASSERT_EQ(result.events.size(), c.orders.size());
  for (const std::vector<Count>& counts : result.events) {
    ASSERT_EQ(counts.size(), 2u);
    EXPECT_FALSE(counts[0].value);
    EXPECT_EQ(counts[1].reason, "not available: for a test");
  }
}

TEST(CopyPhase, LeavesNothingBehind) {
  const int before = dup(0);
  close(before);
  const int processors = sys::count(sys::allowed_processors());
  measure_copy_phase(small_case(8, 2, 8));
  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before);
  EXPECT_EQ(sys::count(sys::allowed_processors()), processors);
}

TEST(Orders, AreReadByName) {
  std::vector<plan::Order> orders;
  EXPECT_EQ(parse_orders("morton,row", orders), "");
  EXPECT_EQ(orders, (std::vector{plan::Order::morton, plan::Order::row}));
  EXPECT_EQ(parse_orders("square-row,square-column,square-morton", orders), "");
  EXPECT_EQ(orders.size(), 3u);
  EXPECT_THAT(parse_orders("row,", orders), testing::HasSubstr("unknown order ''"));
  EXPECT_THAT(parse_orders("peano", orders), testing::HasSubstr("row, column, morton, hilbert"));
}

}  // namespace
}  // namespace quadrille::tools
