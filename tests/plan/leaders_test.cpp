// The plans of leaders: the example, the counts, and what the engine relies on.
#include "plan/leaders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "plan/algorithms.hpp"
#include "plan/cost.hpp"
#include "plan/schedule.hpp"
#include "plan/verify.hpp"
#include "tests/plan/maps.hpp"

namespace quadrille::plan {
namespace {

Parameters with(std::int64_t leaders, Build exchange = spread_out) {
  return {{"leaders", leaders}, {"exchange", 0, exchange}, {"radix", 2}, {"stride", 5}};
}
// Of an allgather.
Parameters gathering(std::int64_t leaders) { return with(leaders, allgather_spread_out); }

// The one at the head of leaders.cpp.
TEST(Leaders, TheExample) {
  const NodeMap nodes = map_of("blocked:2", 4);
  EXPECT_EQ(
      draw(leaders({4, 0, &nodes, with(1)}), 0),
      "scratch 16 blocks\nround 0\n  fence of the node\n"
      "round 1\n  copy  send[0] -> scratch[0]\n  copy  send[1] -> scratch[2]\n"
      "  copy  send[2] -> scratch[8]\n  copy  send[3] -> scratch[10]\n  fence of the node\n"
      "round 2\n  send  to 2: scratch[8..11]\n  recv  from 2: scratch[12..15]\n"
      "round 3\n  fence of the node\n"
      "round 4\n  copy  scratch[0..1] -> recv[0..1]\n  copy  scratch[12..13] -> recv[2..3]\n  fence of the node\n");
  const Schedule other = leaders({4, 1, &nodes, with(1)});
  EXPECT_TRUE(other.messages.empty());
}

std::uint64_t messages_of(const NodeMap& nodes, Build build, const Parameters& parameters) {
  std::uint64_t all = 0;
  for (int r = 0; r < nodes.ranks(); ++r) all += count(build({nodes.ranks(), r, &nodes, parameters})).messages;
  return all;
}

// N nodes of p ranks, k leaders: N - 1 messages a leader of p * p / k blocks; of an allgather p / k blocks.
TEST(Leaders, MessagesAndBlocksAreThoseOfTheClosedForm) {
  for (const auto& [nodes_count, here, leading] :
       {std::tuple(4, 4, 1), std::tuple(4, 4, 2), std::tuple(4, 4, 4), std::tuple(3, 8, 4), std::tuple(5, 6, 3)}) {
    const int ranks = nodes_count * here;
    const NodeMap nodes = map_of("blocked:" + std::to_string(here), ranks);
    for (const bool gathers : {false, true}) {
      for (int r = 0; r < ranks; ++r) {
        const Problem problem{ranks, r, &nodes, gathers ? gathering(leading) : with(leading)};
        const bool leads = leaders_plan(problem, gathers ? LeadersKind::gather : LeadersKind::uniform).leads >= 0;
        const Counts counts = count(gathers ? allgather_leaders(problem) : leaders(problem));
        const auto each = static_cast<std::uint64_t>(gathers ? here / leading : here * here / leading);
        const auto others = static_cast<std::uint64_t>(nodes_count - 1);
        EXPECT_EQ(counts.messages, leads ? others : 0);
        EXPECT_EQ(counts.blocks_sent, leads ? others * each : 0);
        EXPECT_EQ(counts.blocks_copied, static_cast<std::uint64_t>(gathers ? 1 + ranks : 2 * ranks)) << "each twice";
      }
    }
  }
}

TEST(Leaders, AsManyLeadAsAreWantedAndThere) {
  const NodeMap nodes = map_of("ragged:1,3,4", 8);
  for (const auto& [wanted, expected] : {std::pair(1, 3), std::pair(2, 5), std::pair(3, 7), std::pair(100, 8)}) {
    int leading = 0;
    for (int r = 0; r < 8; ++r)
      leading += leaders_plan({8, r, &nodes, with(wanted)}, LeadersKind::uniform).leads >= 0 ? 1 : 0;
    EXPECT_EQ(leading, expected);
  }
  // Between the first node and the others one stream, between those two as many as three.
  EXPECT_EQ(messages_of(nodes, leaders, with(100)), 2u * (1 + 1 + 3));
  // Of an allgather as many on each node as on the smallest.
  EXPECT_EQ(messages_of(nodes, allgather_leaders, gathering(100)), 6u);
}

TEST(Leaders, AreSpreadOverTheDomains) {
  const NodeMap nodes = map_of("blocked:8", 16);
  const std::vector<int> domains = {0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  std::set<int> leading;
  for (int r = 0; r < 16; ++r) {
    if (leaders_plan({16, r, &nodes, with(2), domains}, LeadersKind::uniform).leads >= 0) leading.insert(r);
  }
  EXPECT_EQ(leading, (std::set<int>{0, 4, 8, 9}));
}

TEST(Leaders, BruckOnNodesOfOneSizeAlone) {
  const NodeMap even = map_of("blocked:4", 32), ragged = map_of("ragged:3,4,1", 32);
  EXPECT_EQ(messages_of(even, leaders, with(1, zero_rotation_bruck)), 8u * 3) << "8 nodes, 3 rounds";
  EXPECT_EQ(leaders({32, 0, &ragged, with(1, zero_rotation_bruck)}), leaders({32, 0, &ragged, with(1)}));
}

// What runs is made from the places; ranks of a node must mean the same by them, and parts may not overlap.
TEST(Leaders, APlaceIsWrittenByOneAndReadByOne) {
  for (const std::string text : {"blocked:4", "ragged:1,3,4", "permuted:3"}) {
    const NodeMap nodes = map_of(text, 16);
    std::map<std::pair<int, std::size_t>, int> written, read;  // (node, place)
    for (int r = 0; r < 16; ++r) {
      const int node = nodes.node_of[static_cast<std::size_t>(r)];
      const LeadersPlan plan = leaders_plan({16, r, &nodes, with(2)}, LeadersKind::uniform);
      EXPECT_TRUE(std::is_sorted(plan.parts.begin(), plan.parts.end()));
      for (int to = 0; to < 16; ++to) {
        const std::size_t at = plan.send_at[static_cast<std::size_t>(to)];
        const bool stays = nodes.node_of[static_cast<std::size_t>(to)] == node;
        EXPECT_EQ(at < plan.own_places(), stays);
        EXPECT_LT(at, plan.first_of(LeadersPart::in));
        ++written[{node, at}];
      }
      int blocks = 0;
      for (const LeadersRun& run : plan.received) {
        for (int i = 0; i < run.count; ++i) ++read[{node, run.at + static_cast<std::size_t>(i)}];
        blocks += run.count;
        EXPECT_TRUE(run.at + static_cast<std::size_t>(run.count) <= plan.own_places() ||
                    run.at >= plan.first_of(LeadersPart::in));
      }
      EXPECT_EQ(blocks, 16);
    }
    EXPECT_EQ(written.size(), 16u * 16u);
    EXPECT_EQ(read.size(), 16u * 16u);
  }
}

// A group is a node to all who do not know better, so what is proved of nodes holds for groups.
TEST(Leaders, GroupsActAsNodes) {
  for (const auto& [text, group, same] :
       {std::tuple("blocked:8", 4, "blocked:4"), std::tuple("blocked:8", 3, "ragged:2,3,3"),
        std::tuple("blocked:4", 4, "blocked:4"), std::tuple("ragged:5,3", 3, "ragged:2,3,3"),
        std::tuple("blocked:4", 1, "blocked:1")}) {
    const NodeMap nodes = map_of(text, 16), groups = map_of(same, 16);
    for (const Build build : {&leaders, &uneven_leaders, &allgather_leaders}) {
      for (int r = 0; r < 16; ++r) {
        const Parameters whole = build == allgather_leaders ? gathering(2) : with(2);
        Parameters split = whole;
        split.push_back({"group", group});
        EXPECT_EQ(build({16, r, &nodes, split}), build({16, r, &groups, whole})) << text << " by " << group;
      }
    }
  }
}

TEST(Leaders, GroupsKeepToTheDomains) {
  const NodeMap nodes = map_of("blocked:8", 8);
  const std::vector<int> domains = {0, 1, 0, 1, 0, 1, 0, 1};
  const NodeMap groups = leaders_groups({8, 0, &nodes, {{"group", 4}}, domains});
  EXPECT_EQ(groups.node_of, (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(Leaders, EveryOrderPacksForEachRankOnce) {
  for (const std::string text : {"blocked:4", "ragged:1,3,4", "ragged:5,3", "permuted:3"}) {
    const NodeMap nodes = map_of(text, 16);
    for (std::size_t order = 0; order < leaders_order_names.size(); ++order) {
      for (int r = 0; r < 16; ++r) {
        Parameters parameters = with(2);
        parameters.push_back({"order", static_cast<std::int64_t>(order)});
        std::vector<int> packs = leaders_plan({16, r, &nodes, parameters}, LeadersKind::uniform).packs;
        std::sort(packs.begin(), packs.end());
        for (int to = 0; to < 16; ++to) EXPECT_EQ(packs.at(static_cast<std::size_t>(to)), to);
        EXPECT_EQ(packs.size(), 16U);
      }
    }
  }
}

// On nodes of as many ranks, and a power of two, no two ranks of a node pack for the same at the same time.
TEST(Leaders, OrdersOtherThanByRowsKeepApart) {
  const NodeMap nodes = map_of("blocked:4", 16);
  for (const LeadersOrder order : {LeadersOrder::rotated, LeadersOrder::morton}) {
    std::vector<std::vector<int>> all;
    for (int r = 0; r < 4; ++r) {
      Parameters parameters = with(1);
      parameters.push_back({"order", static_cast<std::int64_t>(order)});
      all.push_back(leaders_plan({16, r, &nodes, parameters}, LeadersKind::uniform).packs);
    }
    for (std::size_t step = 0; step < 16; ++step) {
      EXPECT_EQ((std::set<int>{all[0][step], all[1][step], all[2][step], all[3][step]}.size()), 4U);
    }
  }
}

TEST(Leaders, AnAreaOfAThousandRanksIsSmall) {
  const NodeMap nodes = map_of("blocked:16", 1024);
  const LeadersPlan plan = leaders_plan({1024, 17, &nodes, with(16)}, LeadersKind::uniform);
  EXPECT_EQ(plan.places(), 16u * (2 * 1024 - 2 * 16 + 2 * 16));
  EXPECT_EQ(plan.received.size(), 64u) << "a run a node";
  EXPECT_EQ(plan.streams.size(), 64u);
}

std::string exchanges_among_leaders(Collective collective) {
  std::string names;
  for (const choose::ParameterRange& range : choose::find(collective, "leaders")->parameters) {
    if (range.name != "exchange") continue;
    for (std::size_t v = 0; v < range.names.size(); ++v) {
      names += std::string(range.names[v]) + " ";
      EXPECT_EQ(range.builds[v], choose::find(collective, range.names[v])->build) << range.names[v];
    }
  }
  return names;
}

// All schedules of the registry that send blocks straight, or forward them without the own one.
TEST(Leaders, ExchangesAreThoseOfTheRegistry) {
  const std::string direct = "spread-out pairwise nonblocking waitall-stride waitany-stride testany-stride ";
  EXPECT_EQ(exchanges_among_leaders(Collective::alltoall), direct + "modified-bruck zero-rotation-bruck mn-co ");
  EXPECT_EQ(exchanges_among_leaders(Collective::alltoallv), direct);
  EXPECT_EQ(exchanges_among_leaders(Collective::allgather), "spread-out ring recursive-doubling mn-co bruck ");
}

TEST(Leaders, OnlyExchangesWithoutTheOwnBlockFit) {
  EXPECT_TRUE(fits_among_leaders(zero_rotation_bruck, LeadersKind::uniform));
  EXPECT_FALSE(fits_among_leaders(basic_bruck, LeadersKind::uniform)) << "it rotates the own block through scratch";
  EXPECT_FALSE(fits_among_leaders(zero_rotation_bruck, LeadersKind::uneven));
  EXPECT_FALSE(fits_among_leaders(allgather_ring, LeadersKind::uniform));
  EXPECT_FALSE(fits_among_leaders(spread_out, LeadersKind::gather));
}

}  // namespace
}  // namespace quadrille::plan
