// The copy phase: how fast an order is depends on the machine; that all data arrive, and that each
// order is measured, does not.
#include "lab/copy_phase/copy_phase.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/sys.hpp"
#include "tool/bench/named_neighborhoods.hpp"

namespace quadrille::tools {
namespace {

CopyPhaseCase small_case(int ranks, int threads, std::size_t bytes) {
  CopyPhaseCase c;
  c.what.ranks = ranks;
  c.threads = threads;
  c.bytes = bytes;
  c.orders = {plan::Order::row, plan::Order::column, plan::Order::morton, plan::Order::hilbert};
  c.seconds = 0;
  return c;
}

void expect_right(const CopyPhaseCase& c) {
  const CopyPhaseResult result = measure_copy_phase(c);
  EXPECT_EQ(result.errors, 0u) << c.what.ranks << " ranks, " << c.threads << " threads";
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

TEST(CopyPhase, MovesTheBlocksOfOtherCollectives) {
  for (const Collective collective :
       {Collective::allgather, Collective::neighbor_alltoall, Collective::neighbor_allgather}) {
    for (const std::size_t evict : {std::size_t{0}, std::size_t{4096}}) {
      CopyPhaseCase c = small_case(12, 2, 24);
      c.what = {collective, 12, 3, plan::moore(2, 1), {4, 3}};
      c.orders = {plan::Order::row, plan::Order::morton, plan::Order::row_numa, plan::Order::morton_numa};
      c.evict_bytes = evict;
      expect_right(c);
    }
  }
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
  const auto read = [&](const char* text, Collective of) { return parse_orders(text, of, orders); };
  EXPECT_EQ(read("morton,row", Collective::alltoall), "");
  EXPECT_EQ(orders, (std::vector{plan::Order::morton, plan::Order::row}));
  EXPECT_EQ(read("square-row,square-column,square-morton", Collective::allgather), "");
  EXPECT_EQ(orders.size(), 3u);
  EXPECT_THAT(read("row,", Collective::alltoall), testing::HasSubstr("unknown order ''"));
  EXPECT_THAT(read("peano", Collective::alltoall), testing::HasSubstr("row, column, morton, hilbert"));
  EXPECT_EQ(read("row-numa,morton-numa", Collective::neighbor_allgather), "");
  EXPECT_THAT(read("hilbert", Collective::neighbor_alltoall),
              testing::EndsWith("for neighbours are row, morton, row-numa, morton-numa"));
}

std::vector<plan::EdgeCopy> all_of(plan::Order order, const Copied& what) {
  std::vector<plan::EdgeCopy> all;
  for (const std::vector<plan::EdgeCopy>& part : parts_of(order, what)) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Copied among(Collective collective, int ranks, int domains = 1) {
  Copied what{collective, ranks, domains, plan::moore(2, 1), {}};
  what.extents = even_extents(ranks, 2);
  return what;
}

constexpr Collective copied[] = {Collective::alltoall, Collective::allgather, Collective::neighbor_alltoall,
                                 Collective::neighbor_allgather};

TEST(Copied, EachOrderHasTheSameCopies) {
  for (const Collective collective : copied) {
    for (const int ranks : {1, 2, 6, 20}) {
      const Copied what = among(collective, ranks, std::min(ranks, 3));
      const std::vector<plan::EdgeCopy> rows = all_of(plan::Order::row, what);
      const auto [send, recv] = blocks_of(what);
      EXPECT_EQ(rows.size(), static_cast<std::size_t>(ranks * recv));
      for (const plan::EdgeCopy& copy : rows) EXPECT_TRUE(copy.send_block < send && copy.recv_block < recv);
      for (const plan::Order order : {plan::Order::morton, plan::Order::row_numa, plan::Order::morton_numa}) {
        EXPECT_THAT(all_of(order, what), testing::UnorderedElementsAreArray(rows)) << name_of(order);
      }
    }
  }
}

TEST(Copied, OrdersForNumaHeedTheDomains) {
  for (const Collective collective : copied) {
    const auto one = parts_of(plan::Order::morton_numa, among(collective, 12));
    const auto three = parts_of(plan::Order::morton_numa, among(collective, 12, 3));
    EXPECT_NE(one, three);
    // A rank of the second domain writes there alone.
    for (const plan::EdgeCopy& copy : three[5]) EXPECT_EQ(copy.destination / 4, 1);
    EXPECT_EQ(parts_of(plan::Order::morton, among(collective, 12)),
              parts_of(plan::Order::morton, among(collective, 12, 3)));
  }
}

TEST(Copied, BlocksOfEachKind) {
  const auto sides = [](Collective collective) {
    const BlocksOfRank blocks = blocks_of(among(collective, 6));
    return std::pair(blocks.send, blocks.recv);
  };
  EXPECT_EQ(sides(Collective::alltoall), std::pair(6, 6));
  EXPECT_EQ(sides(Collective::allgather), std::pair(1, 6));
  EXPECT_EQ(sides(Collective::neighbor_alltoall), std::pair(8, 8));
  EXPECT_EQ(sides(Collective::neighbor_allgather), std::pair(1, 8));
}

TEST(Copied, ExtentsAreEven) {
  EXPECT_EQ(even_extents(60, 2), (std::vector{10, 6}));
  EXPECT_EQ(even_extents(72, 3), (std::vector{6, 4, 3}));
  EXPECT_EQ(even_extents(64, 3), (std::vector{4, 4, 4}));
  EXPECT_EQ(even_extents(7, 2), (std::vector{7, 1}));
}

}  // namespace
}  // namespace quadrille::tools
