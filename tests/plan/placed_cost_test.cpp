// What is counted of calls on nodes of several ranks.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "choose/model.hpp"
#include "choose/registry.hpp"
#include "plan/algorithms.hpp"
#include "plan/cost.hpp"
#include "tests/plan/maps.hpp"

namespace quadrille::plan {
namespace {

constexpr SampleLimits all_ranks{1 << 20, 1 << 20};

PlacedCost cost_of(Collective collective, const char* algorithm, const NodeMap& map, double processors = 0,
                   SampleLimits limits = all_ranks) {
  choose::Choice choice;
  EXPECT_EQ(parse_choice(collective, algorithm, choice), "");
  choose::Costs costs(collective, map, {processors, limits});
  return costs.of(choice);
}

struct Expected {
  Term term;
  double fixed, per_byte;
};
void expect(const PlacedCost& cost, const std::vector<Expected>& expected) {
  Amounts fixed{}, per_byte{};
  for (const Expected& e : expected) {
    of(fixed, e.term) = e.fixed;
    of(per_byte, e.term) = e.per_byte;
  }
  for (const TermRow& row : term_rows) {
    EXPECT_DOUBLE_EQ(of(cost.fixed, row.term), of(fixed, row.term)) << row.name;
    EXPECT_DOUBLE_EQ(of(cost.per_byte, row.term), of(per_byte, row.term)) << row.name << " a byte";
  }
}

TEST(PlacedCost, TermsAreInOrder) {
  for (std::size_t t = 0; t < terms; ++t) EXPECT_EQ(term_rows[t].term, static_cast<Term>(t));
}

TEST(PlacedCost, DoublingsAreNearTheLogarithm) {
  EXPECT_EQ(doublings(1), 0);
  EXPECT_EQ(doublings(8), 3);
  EXPECT_EQ(doublings(12), 3.5);
  EXPECT_EQ(doublings(1 << 20), 20);
}

// 3 nodes of 2 ranks: a rank has 4 messages to other nodes, its node 8, and one stays in the node.
TEST(PlacedCost, CountsSpreadOutByHand) {
  expect(cost_of(Collective::alltoall, "spread-out", map_of("blocked:2", 6)), {{Term::message, 4, 0},
                                                                               {Term::byte, 0, 4},
                                                                               {Term::node_message, 8, 0},
                                                                               {Term::node_byte, 0, 8},
                                                                               {Term::near_message, 1, 0},
                                                                               {Term::near_byte, 0, 1},
                                                                               {Term::copied_block, 1, 0},
                                                                               {Term::copied_byte, 0, 1},
                                                                               {Term::round, 1, 0},
                                                                               {Term::flight, 5 * 2.25, 0}});
}

TEST(PlacedCost, CountsAWindowByHand) {
  const PlacedCost cost = cost_of(Collective::alltoall, "waitall-stride:stride=2", map_of("blocked:2", 6));
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::round), 3);
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::flight), 2 * 2 * 1) << "two batches of two, and one of one";
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::message), 4);
}

// 3 nodes of 2 ranks, one leader each: packs 6 blocks, sends 2 messages of 4 blocks, unpacks 6 blocks in 3 runs.
TEST(PlacedCost, CountsLeadersByHand) {
  expect(cost_of(Collective::alltoall, "leaders", map_of("blocked:2", 6)), {{Term::message, 2, 0},
                                                                            {Term::byte, 0, 8},
                                                                            {Term::node_message, 2, 0},
                                                                            {Term::node_byte, 0, 8},
                                                                            {Term::shared_block, 6 + 3, 0},
                                                                            {Term::shared_byte, 0, 12},
                                                                            {Term::round, 1, 0},
                                                                            {Term::fence, 2, 0},
                                                                            {Term::flight, 2, 0}});
  const PlacedCost both = cost_of(Collective::alltoall, "leaders:leaders=2", map_of("blocked:2", 6));
  EXPECT_DOUBLE_EQ(of(both.fixed, Term::message), 2);
  EXPECT_DOUBLE_EQ(of(both.fixed, Term::node_message), 4);
  EXPECT_DOUBLE_EQ(of(both.per_byte, Term::byte), 4);
  EXPECT_DOUBLE_EQ(of(both.per_byte, Term::node_byte), 8) << "the node sends as much";
}

TEST(PlacedCost, SizesTravelThroughLeadersOfUnevenBlocks) {
  const PlacedCost cost = cost_of(Collective::alltoallv, "leaders", map_of("blocked:2", 6));
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::byte), 4 * 8);
  EXPECT_DOUBLE_EQ(of(cost.per_byte, Term::byte), 8);
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::shared_block), 6 + 6);
}

// 3 nodes of 2 ranks: each node's 2 blocks go to the 2 others.
TEST(PlacedCost, CountsLeadersOfAllgatherByHand) {
  const PlacedCost cost = cost_of(Collective::allgather, "leaders", map_of("blocked:2", 6));
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::message), 2);
  EXPECT_DOUBLE_EQ(of(cost.per_byte, Term::byte), 4);
  EXPECT_DOUBLE_EQ(of(cost.per_byte, Term::shared_byte), 1 + 6);
}

TEST(PlacedCost, CountsOrdersAndSingleCopyByHand) {
  const NodeMap map = map_of("blocked:4", 8);
  expect(cost_of(Collective::alltoall, "hint-row", map), {{Term::message, 4, 0},
                                                          {Term::byte, 0, 4},
                                                          {Term::node_message, 16, 0},
                                                          {Term::node_byte, 0, 16},
                                                          {Term::copied_block, 1, 0},
                                                          {Term::copied_byte, 0, 1},
                                                          {Term::shared_block, 3, 0},
                                                          {Term::shared_byte, 0, 3},
                                                          {Term::round, 1, 0},
                                                          {Term::fence, 2 * 2, 0},
                                                          {Term::flight, 8, 0}});
  EXPECT_DOUBLE_EQ(of(cost_of(Collective::alltoall, "single-copy", map).fixed, Term::fence), 0);
}

TEST(PlacedCost, SharedProcessorsAddUpWork) {
  const NodeMap map = map_of("blocked:4", 8);
  const PlacedCost cost = cost_of(Collective::alltoall, "hint-row", map, 2);
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::message), 8) << "16 of the node on 2 processors";
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::node_message), 16);
  EXPECT_DOUBLE_EQ(of(cost.fixed, Term::shared_block), 6);
  const PlacedCost leader = cost_of(Collective::alltoall, "leaders", map, 2);
  EXPECT_DOUBLE_EQ(of(leader.fixed, Term::message), 1) << "one rank alone has a processor";
  EXPECT_DOUBLE_EQ(of(leader.fixed, Term::shared_block), 2 * (8 + 2));
}

// Rounds with a message to another node that the MPI does not send at once.
double answers(const PlacedCost& cost, double block_bytes, double at_once) {
  return of(amounts(cost, {block_bytes, block_bytes, block_bytes}, at_once), Term::handshake);
}

TEST(PlacedCost, LongMessagesWaitForAnAnswerInEachRound) {
  const PlacedCost spread_out = cost_of(Collective::alltoall, "spread-out", map_of("blocked:1", 8));
  EXPECT_EQ(answers(spread_out, 1000, 1000), 0);
  EXPECT_EQ(answers(spread_out, 1001, 1000), 1) << "all at once";
  EXPECT_EQ(of(amounts(spread_out, {1e9, 1e9, 1e9}), Term::handshake), 0) << "where no limit is known";
  const PlacedCost pairwise = cost_of(Collective::alltoall, "pairwise", map_of("blocked:1", 8));
  EXPECT_EQ(answers(pairwise, 1001, 1000), 7);
  // 6 ranks: 3, 2 and 2 blocks a round.
  const PlacedCost bruck = cost_of(Collective::alltoall, "zero-rotation-bruck:radix=2", map_of("blocked:1", 6));
  EXPECT_EQ(answers(bruck, 400, 1200), 0);
  EXPECT_EQ(answers(bruck, 401, 1200), 1);
  EXPECT_EQ(answers(bruck, 601, 1200), 3);
}

TEST(PlacedCost, MessagesInsideANodeDoNotWait) {
  EXPECT_EQ(answers(cost_of(Collective::alltoall, "spread-out", map_of("blocked:8", 8)), 1e6, 1000), 0);
}

// 3 nodes of 2 ranks, one leader each, which sends 4 blocks to each other one, 64 bytes of each at a time.
TEST(PlacedCost, LeadersWaitInEachTurn) {
  const PlacedCost cost = cost_of(Collective::alltoall, "leaders:piece=64", map_of("blocked:2", 6));
  EXPECT_EQ(answers(cost, 64, 256), 0);
  EXPECT_EQ(answers(cost, 64, 255), 1);
  EXPECT_EQ(answers(cost, 129, 255), 3);
  EXPECT_EQ(answers(cost, 1e6, 256), 0) << "no message is longer than 4 pieces";
}

TEST(PlacedCost, SizesTravelAloneWithLargeBlocks) {
  const PlacedCost cost = cost_of(Collective::alltoallv, "two-phase-bruck:radix=2,eager=39", map_of("blocked:1", 8));
  // 4 blocks go in each of 3 rounds (ClosedForms.SizesTravelAloneWhereTheDataAreLarge).
  EXPECT_DOUBLE_EQ(of(amounts(cost, {9, 9, 9}), Term::message), 3);
  EXPECT_DOUBLE_EQ(of(amounts(cost, {10, 10, 10}), Term::message), 6);
  EXPECT_DOUBLE_EQ(of(amounts(cost, {10, 10, 10}), Term::round), 6);
  EXPECT_DOUBLE_EQ(
      of(amounts(cost_of(Collective::alltoallv, "sloav", map_of("blocked:1", 8)), {1, 1, 1}), Term::message), 6)
      << "lengths always travel alone";
}

TEST(PlacedCost, LargeBlocksTakeTurnsThroughLeaders) {
  const PlacedCost cost = cost_of(Collective::alltoall, "leaders:piece=1000", map_of("blocked:2", 6));
  EXPECT_DOUBLE_EQ(of(amounts(cost, {1000, 1000, 1000}), Term::node_message), 2);
  EXPECT_DOUBLE_EQ(of(amounts(cost, {1001, 1001, 1001}), Term::node_message), 4);
  EXPECT_DOUBLE_EQ(of(amounts(cost, {1001, 1001, 1001}), Term::node_byte), 8 * 1001);
  // With so many ranks a place of the area has room for less than the parameter says.
  const PlacedCost many = cost_of(Collective::alltoall, "leaders", map_of("blocked:16", 1024), 0, {1, 2});
  EXPECT_LT(many.piece, 1100);
  EXPECT_GT(many.piece, 900);
}

// With one rank a node nothing is shared, and the counts are those of the schedule of the busiest rank.
TEST(PlacedCost, WithOneRankANodeItIsWhatTheScheduleCounts) {
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (algorithm.engine != choose::Engine::schedule || algorithm.name == "mn-co") continue;
    for (const int ranks : {2, 5, 8, 13}) {
      const Collective collective = algorithm.collectives[0];
      SCOPED_TRACE(fmt::format("{} {} {}", name_of(collective), algorithm.name, ranks));
      const NodeMap map = map_of("blocked:1", ranks);
      const choose::Choice choice = [&] {
        choose::Choice c;
        parse_choice(collective, algorithm.name, c);
        return c;
      }();
      std::uint64_t messages = 0, blocks = 0, rounds = 0;
      for (int me = 0; me < ranks; ++me) {
        const Counts counts = count(algorithm.build({ranks, me, &map, choice.parameters}));
        messages = std::max(messages, counts.messages);
        blocks = std::max(blocks, counts.blocks_sent);
        rounds = std::max(rounds, counts.rounds);
      }
      choose::Costs costs(collective, map, {0, all_ranks});
      const PlacedCost cost = costs.of(choice);
      // Of recursive doubling not the same rank is the busiest in each round.
      const bool even = algorithm.name != "recursive-doubling" || (ranks & (ranks - 1)) == 0;
      if (even) {
        EXPECT_DOUBLE_EQ(of(cost.fixed, Term::message), static_cast<double>(messages));
        EXPECT_DOUBLE_EQ(of(cost.per_byte, Term::byte), static_cast<double>(blocks));
        EXPECT_DOUBLE_EQ(of(cost.fixed, Term::round), static_cast<double>(rounds));
      }
      EXPECT_GE(of(cost.fixed, Term::message), static_cast<double>(messages));
      EXPECT_DOUBLE_EQ(of(cost.fixed, Term::node_message), of(cost.fixed, Term::message));
      EXPECT_DOUBLE_EQ(of(cost.per_byte, Term::node_byte), of(cost.per_byte, Term::byte));
      EXPECT_DOUBLE_EQ(of(cost.fixed, Term::near_message), 0);
      EXPECT_DOUBLE_EQ(of(cost.fixed, Term::fence), 0);
    }
  }
}

// All messages of an all-to-all go between nodes or inside them, whoever sends them: on any map the node sums of a
// direct algorithm are those of the blocks.
TEST(PlacedCost, NodesSendWhatIsForOtherNodes) {
  for (const char* text : {"blocked:4", "roundrobin:3", "ragged:1,3,4", "permuted:7"}) {
    const NodeMap map = map_of(text, 12);
    double most = 0;
    for (int node = 0; node < map.nodes; ++node) {
      const auto here = static_cast<double>(std::count(map.node_of.begin(), map.node_of.end(), node));
      most = std::max(most, here * (12 - here));
    }
    for (const char* name : {"spread-out", "single-copy", "sh-co"}) {
      const PlacedCost cost = cost_of(Collective::alltoall, name, map);
      EXPECT_DOUBLE_EQ(of(cost.fixed, Term::node_message), most) << text << ' ' << name;
      EXPECT_DOUBLE_EQ(of(cost.per_byte, Term::node_byte), most) << text << ' ' << name;
    }
    for (const char* name : {"leaders", "leaders:leaders=2", "leaders:leaders=16"}) {
      EXPECT_DOUBLE_EQ(of(cost_of(Collective::alltoall, name, map).per_byte, Term::node_byte), most)
          << text << ' ' << name;
    }
  }
}

TEST(Samples, StandForAll) {
  const NodeMap map = map_of("blocked:16", 256);
  const auto sampled = sample_ranks(map, {4, 3});
  ASSERT_EQ(sampled.size(), 4U);
  for (const SampledNode& node : sampled) {
    double weight = 0;
    for (const SampledRank& rank : node) weight += rank.weight;
    EXPECT_DOUBLE_EQ(weight, 16);
  }
  EXPECT_EQ(sampled[0][0].rank, 0);
  EXPECT_EQ(sampled[3][2].rank, 255);
  // The fullest node is always among them.
  const auto ragged = sample_ranks(map_of("ragged:1,9,1,1", 12), {1, 2});
  EXPECT_EQ(ragged.back()[0].rank, 1);
}

// Some ranks tell about what all do.
TEST(Samples, AreNearAll) {
  const NodeMap map = map_of("blocked:16", 256);
  for (const Collective collective : {Collective::alltoall, Collective::alltoallv, Collective::allgather}) {
    for (const choose::Algorithm& algorithm : choose::algorithms()) {
      if (!serves(algorithm, collective) || algorithm.build == nullptr) continue;
      // Of the box that a rank carries not all are alike.
      const double tolerance = algorithm.name.find("mn-co") != std::string_view::npos ? 0.7 : 0.15;
      const std::string name(algorithm.name);
      const PlacedCost all = cost_of(collective, name.c_str(), map),
                       some = cost_of(collective, name.c_str(), map, 0, {3, 5});
      for (const TermRow& row : term_rows) {
        const double a = of(amounts(all, {100, 100, 100}), row.term), b = of(amounts(some, {100, 100, 100}), row.term);
        EXPECT_NEAR(a, b, tolerance * a + 0.5) << name_of(collective) << ' ' << name << ' ' << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace quadrille::plan
