// The schedules of the orders: their counts, and that the proof sees when one is broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "plan/algorithms.hpp"
#include "plan/cost.hpp"
#include "plan/schedule.hpp"
#include "plan/verify.hpp"
#include "tests/plan/named_orders.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::plan {
namespace {

using testing::HasSubstr;

const std::vector<const choose::Algorithm*>& node_algorithms() {
  static const std::vector<const choose::Algorithm*> list = [] {
    std::vector<const choose::Algorithm*> found;
    for (const choose::Algorithm& algorithm : choose::algorithms()) {
      if (algorithm.engine == choose::Engine::node) found.push_back(&algorithm);
    }
    return found;
  }();
  return list;
}

TEST(OrderPlanTest, CostsPCopiesAndTwoFences) {
  ASSERT_EQ(node_algorithms().size(), 17u);
  for (const choose::Algorithm* algorithm : node_algorithms()) {
    for (const int ranks : {1, 2, 6, 16, 1024}) {
      const NodeMap nodes = one_node(ranks);
      const Schedule schedule = algorithm->build({ranks, ranks / 3, &nodes, {}});
      Counts expected;
      expected.blocks_copied = static_cast<std::uint64_t>(ranks);
      EXPECT_EQ(count(schedule), expected) << algorithm->name;
      ASSERT_EQ(schedule.rounds.size(), 2u) << algorithm->name;
      EXPECT_TRUE(schedule.rounds[0].node_fence && schedule.rounds[1].node_fence);
      EXPECT_LE(memory_bytes(schedule), 1024u + sizeof(Copy) * static_cast<std::size_t>(ranks));
    }
  }
}

// HINT, algorithm 5: the node's part by copies, the rest by messages.
TEST(OrderPlanTest, OnSeveralNodesTheOthersGetMessages) {
  NodeMap ragged;
  parse_node_map("ragged:5,3", 16, ragged);  // 5, 3, 5 and 3 ranks
  for (const choose::Algorithm* algorithm : node_algorithms()) {
    for (const int me : {0, 6}) {
      const std::uint64_t here = me == 0 ? 5 : 3;
      const Schedule schedule = algorithm->build({16, me, &ragged, {}});
      Counts expected;
      // Step by step: ranks 5 and 7 are both on the node of rank 6.
      expected.rounds = algorithm->name != "hint-network" ? 1 : me == 0 ? 15 : 13;
      expected.messages = expected.blocks_sent = 16 - here;
      expected.blocks_copied = here;
      EXPECT_EQ(count(schedule), expected) << algorithm->name;
    }
  }
}

TEST(OrderPlanTest, AllPairsOfRanksUpTo64AreProvedOnAllDomains) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int step = 6;  // several times as slow
#else
  constexpr int step = 1;
#endif
  for (const choose::Algorithm* algorithm : node_algorithms()) {
    for (int ranks = 34; ranks <= 64; ranks += step) {
      long cases = 0;
      const Report report = tools::prove(*algorithm, algorithm->collectives[0], ranks, 1, cases);
      ASSERT_TRUE(report.ok) << report.what;
      ASSERT_GT(cases, 5);
    }
  }
}

TEST(OrderPlanTest, AThousandRanksAreProved) {
  NodeMap ragged;
  ASSERT_EQ(parse_node_map("ragged:1,30,64,7", 1000, ragged), "");
  const NodeMap nodes = one_node(1000);
  const auto schedules = build_all(sh_numa_co, nodes, {}, ragged.node_of);
  EXPECT_NE(schedules[500], build_all(sh_numa_co, nodes, {})[500]);
  EXPECT_EQ(verify(schedules, nodes, {Pattern::alltoall, true}, 1).what, "");
  const NodeMap power = one_node(1024);
  EXPECT_EQ(verify(build_all(hint_hilbert, power, {}), power, {Pattern::alltoall, true}, 1).what, "");
}

TEST(OrderPlanTest, TheExampleOfTheFile) {
  const NodeMap nodes = one_node(4);
  EXPECT_EQ(draw(sh_co({4, 1, &nodes, {}}), 1),
            "scratch 0 blocks\n"
            "round 0\n"
            "  fence of the node\n"
            "round 1\n"
            "  copy  send[0] of 2 -> recv[2] of 0\n"
            "  copy  send[0] of 3 -> recv[3] of 0\n"
            "  copy  send[1] of 2 -> recv[2]\n"
            "  copy  send[1] of 3 -> recv[3]\n"
            "  fence of the node\n");
  EXPECT_EQ(draw(allgather_hint_column({4, 1, &nodes, {}}), 1),
            "scratch 0 blocks\n"
            "round 0\n"
            "  fence of the node\n"
            "round 1\n"
            "  copy  send[0] -> recv[1] of 0\n"
            "  copy  send[0] -> recv[1]\n"
            "  copy  send[0] -> recv[1] of 2\n"
            "  copy  send[0] -> recv[1] of 3\n"
            "  fence of the node\n");
}

// The parameter, and the value of hint-network's order, reach the copies. tools::prove() takes all values.
TEST(OrderPlanTest, RowsOfTheHilbertOrders) {
  const NodeMap nodes = one_node(4);
  const std::string copies =
      "scratch 0 blocks\n"
      "round 0\n"
      "  fence of the node\n"
      "round 1\n"
      "  copy  send[1] of 3 -> recv[3]\n"
      "  copy  send[1] of 2 -> recv[2]\n"
      "  copy  send[0] of 2 -> recv[2] of 0\n"
      "  copy  send[0] of 3 -> recv[3] of 0\n"
      "  fence of the node\n";
  const std::vector<int> domains = {0, 0, 1, 1};
  const auto drawn = [&](const char* text, std::span<const int> labels) {
    choose::Choice choice;
    EXPECT_EQ(choose::parse_choice(Collective::alltoall, text, choice), "");
    return draw(choice.algorithm->build({4, 1, &nodes, choice.parameters, labels}), 1);
  };
  for (const char* text :
       {"hint-hilbert:rows=recv", "hint-hilbert-square:rows=recv", "hint-network:order=hilbert-recv"}) {
    EXPECT_EQ(drawn(text, {}), copies) << text;
    EXPECT_EQ(drawn(text, domains), copies) << text;
  }
  for (const char* text : {"hint-hilbert", "hint-hilbert-square", "hint-network"}) {
    EXPECT_NE(drawn(text, {}), copies) << text;
    EXPECT_EQ(drawn(text, domains), copies) << text;
  }
  for (const char* text :
       {"hint-hilbert:rows=send", "hint-hilbert-square:rows=send", "hint-network:order=hilbert-send"}) {
    EXPECT_EQ(drawn(text, domains), drawn("hint-hilbert", {})) << text;
  }
}

TEST(OrderPlanTest, RowsOfTheHilbertOrdersAreProved) {
  const std::vector<int> blocked = {0, 0, 0, 0, 1, 1, 1, 1};
  const NodeMap nodes = one_node(8);
  for (const Build build : {hint_hilbert, hint_hilbert_square}) {
    for (const std::int64_t rows : {0, 1, 2}) {
      const Parameters parameters = {{"rows", rows}};
      EXPECT_EQ(verify(build_all(build, nodes, parameters, blocked), nodes, {Pattern::alltoall, true}).what, "")
          << rows;
    }
  }
  EXPECT_EQ(build_all(hint_hilbert, nodes, {}, blocked), build_all(hint_hilbert, nodes, {{"rows", 2}}));
}

// --- broken by hand -----------------------------------------------------------------------------

Report proof_of(const choose::Algorithm& algorithm, int ranks,
                const std::function<void(std::vector<Schedule>&)>& change) {
  const NodeMap nodes = one_node(ranks);
  std::vector<Schedule> schedules = build_all(algorithm.build, nodes, {});
  change(schedules);
  return verify(schedules, nodes, tools::goal_of(algorithm.collectives[0]));
}

void expect_every_one_wrong(const std::string& what, const std::function<void(std::vector<Schedule>&)>& change) {
  for (const choose::Algorithm* algorithm : node_algorithms()) {
    for (const int ranks : {4, 7}) {
      const Report report = proof_of(*algorithm, ranks, change);
      EXPECT_FALSE(report.ok) << algorithm->name;
      EXPECT_THAT(report.what, HasSubstr(what)) << algorithm->name;
    }
  }
}

TEST(BrokenOrderTest, NoEntryFence) {
  expect_every_one_wrong("before that rank has entered", [](std::vector<Schedule>& all) {
    for (Schedule& schedule : all) schedule.rounds[0].node_fence = false;
  });
}

TEST(BrokenOrderTest, NoExitFence) {
  expect_every_one_wrong("may leave while rank", [](std::vector<Schedule>& all) {
    for (Schedule& schedule : all) schedule.rounds[1].node_fence = false;
  });
}

TEST(BrokenOrderTest, OneRankMissesAFence) {
  for (const std::size_t round : {0u, 1u}) {
    expect_every_one_wrong("deadlock: ",
                           [round](std::vector<Schedule>& all) { all[2].rounds[round].node_fence = false; });
  }
}

TEST(BrokenOrderTest, APairIsMissing) {
  expect_every_one_wrong("holds nothing, not ", [](std::vector<Schedule>& all) { --all[3].rounds[1].before.count; });
}

TEST(BrokenOrderTest, APairIsCopiedByTwoRanks) {
  expect_every_one_wrong("a second time", [](std::vector<Schedule>& all) {
    all[1].copies.push_back(all[2].copies[0]);
    ++all[1].rounds[1].before.count;
  });
}

TEST(BrokenOrderTest, APairIsCopiedTwiceByOneRank) {
  expect_every_one_wrong("a second time", [](std::vector<Schedule>& all) {
    all[1].copies.push_back(all[1].copies[0]);
    ++all[1].rounds[1].before.count;
  });
}

TEST(BrokenOrderTest, APairComesToTheWrongPlace) {
  expect_every_one_wrong(" ", [](std::vector<Schedule>& all) {
    Span& to = all[0].copies[0].to;
    to.block = (to.block + 1) % static_cast<int>(all.size());
  });
}

// Two ranks with different maps of the domains.
TEST(BrokenOrderTest, RanksDisagreeOnTheDomains) {
  const NodeMap nodes = one_node(6);
  const std::vector<int> blocked = {0, 0, 0, 1, 1, 1}, round_robin = {0, 1, 0, 1, 0, 1};
  std::vector<Schedule> schedules = build_all(sh_numa_co, nodes, {}, blocked);
  EXPECT_EQ(verify(schedules, nodes, {Pattern::alltoall, false}).what, "");
  schedules[4] = sh_numa_co({6, 4, &nodes, {}, round_robin});
  EXPECT_FALSE(verify(schedules, nodes, {Pattern::alltoall, false}).ok);
}

// The sweep finds what is wrong on one map of domains alone, and names the map.
Schedule wrong_on_three_domains(const Problem& problem) {
  Schedule schedule = sh_numa_co(problem);
  const bool here = problem.ranks == 5 && !problem.domains.empty() && problem.domains[4] == 1;
  if (here && problem.me == 3) --schedule.rounds[1].before.count;
  return schedule;
}

TEST(BrokenOrderTest, TheSweepNamesTheDomains) {
  const choose::Algorithm algorithm = {
      "broken", {Collective::alltoall}, choose::Engine::node, {.load_store = true}, {}, "", "", wrong_on_three_domains};
  long cases = 0;
  EXPECT_EQ(tools::prove(algorithm, Collective::alltoall, 4, 2, cases).what, "");
  EXPECT_THAT(tools::prove(algorithm, Collective::alltoall, 5, 2, cases).what,
              HasSubstr("alltoall broken, 5 ranks, domains [0 0 0 1 1]: flow: at the end"));
}

}  // namespace
}  // namespace quadrille::plan
