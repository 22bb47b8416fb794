// Plans of many ranks: still right, and small enough.
#include <gtest/gtest.h>

#include "choose/registry.hpp"
#include "plan/algorithms.hpp"
#include "plan/cost.hpp"
#include "plan/verify.hpp"

namespace quadrille::plan {
namespace {

struct Large {
  Build build;
  int ranks;
  Parameters parameters;
  Goal goal;
};

TEST(LargeTest, AboutAThousandRanksAreProved) {
  const Goal alltoall = {Pattern::alltoall, false};
  const Goal allgatherv = {Pattern::allgather, true};
  const std::vector<Large> cases = {
      {spread_out, 1000, {}, {Pattern::alltoall, true}},     {zero_rotation_bruck, 1000, {{"radix", 4}}, alltoall},
      {zero_copy_bruck_dt, 1024, {{"radix", 32}}, alltoall}, {allgather_recursive_doubling, 1000, {}, allgatherv},
      {allgather_bruck, 1000, {{"radix", 3}}, allgatherv},
  };
  for (const Large& c : cases) {
    const NodeMap nodes = one_node(c.ranks);
    const Report report = verify(build_all(c.build, nodes, c.parameters), nodes, c.goal, 1);
    EXPECT_TRUE(report.ok) << report.what;
  }
}

TEST(LargeTest, ABruckPlanFor32768RanksIsSmall) {
  const NodeMap nodes = one_node(32768);
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (algorithm.build == nullptr || algorithm.name.find("bruck") == std::string_view::npos) continue;
    for (const std::int64_t radix : {2, 3, 8, 181, 32768}) {
      const Schedule schedule = algorithm.build({32768, 12345, &nodes, {{"radix", radix}}});
      EXPECT_LT(memory_bytes(schedule), std::size_t{64} << 20) << algorithm.name << ' ' << radix;
      // Without memory to spare.
      EXPECT_EQ(schedule.messages.capacity(), schedule.messages.size());
      EXPECT_EQ(schedule.spans.capacity(), schedule.spans.size());
      EXPECT_EQ(schedule.copies.capacity(), schedule.copies.size());
      EXPECT_EQ(schedule.rounds.capacity(), schedule.rounds.size());
    }
  }
}

TEST(LargeTest, RoundsAndBlocksOf32768Ranks) {
  const NodeMap nodes = one_node(32768);
  const Counts c = count(zero_rotation_bruck({32768, 1, &nodes, {}}));
  EXPECT_EQ(c.rounds, 15u);
  EXPECT_EQ(c.blocks_sent, 15u * 16384u);
}

}  // namespace
}  // namespace quadrille::plan
