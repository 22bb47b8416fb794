// The event engine against times that were worked out by hand, and what must hold for any schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cases.hpp"

namespace quadrille::simulate {
namespace {

using enum Collective;
using ::testing::HasSubstr;

Outcome of(Collective collective, const std::string& algorithm, int ranks, int per_node, double bytes,
           const Network& network = plain_network()) {
  return outcome_of(asked_for(collective, algorithm, map_of(ranks, fmt::format("blocked:{}", per_node))), network,
                    bytes);
}

// Programs written by hand; each rank on a node of its own.
Crowd crowd_of(std::vector<Program> programs) {
  Crowd crowd;
  crowd.map = map_of(static_cast<int>(programs.size()), "blocked:1");
  crowd.programs = std::move(programs);
  for (std::size_t r = 0; r < crowd.programs.size(); ++r) crowd.programs[r].fence_first = static_cast<int>(r);
  return crowd;
}
void add_round(Program& program, const std::vector<Note>& sends, const std::vector<Note>& receives) {
  Stage stage;
  stage.sends = {static_cast<std::uint32_t>(program.notes.size()), static_cast<std::uint32_t>(sends.size())};
  program.notes.insert(program.notes.end(), sends.begin(), sends.end());
  stage.receives = {static_cast<std::uint32_t>(program.notes.size()), static_cast<std::uint32_t>(receives.size())};
  program.notes.insert(program.notes.end(), receives.begin(), receives.end());
  program.stages.push_back(stage);
}

// The third message is begun at 200, leaves at 300, is there at 1300, passes the adapter until 1318, and is taken until
// 1418; the two before are taken from 1118 and 1218 on.
TEST(Engine, SpreadOutOverlapsItsMessages) { EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "spread-out", 4, 1, 8)), 1418); }

// Each of P - 1 steps: overhead, latency, adapter, overhead.
TEST(Engine, PairwiseWaitsForEachStep) {
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "pairwise", 4, 1, 8)), 3 * (100 + 1000 + 18 + 100));
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "waitall-stride:stride=1", 4, 1, 8)), 3 * (100 + 1000 + 18 + 100));
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "waitany-stride:stride=1", 4, 1, 8)), 3 * (100 + 1000 + 18 + 100));
  EXPECT_DOUBLE_EQ(nanoseconds(of(allgather, "ring", 5, 1, 8)), 4 * (100 + 1000 + 18 + 100));
}

// Three rounds of four blocks: nothing but messages takes time here.
TEST(Engine, BruckHasLogRounds) {
  for (const char* name : {"basic-bruck", "modified-bruck", "zero-rotation-bruck"}) {
    EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, name, 8, 1, 8)), 3 * (100 + 1000 + 10 + 4 * 8 + 100)) << name;
  }
  // P = 6: 3, 2 and 2 blocks.
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "zero-rotation-bruck", 6, 1, 8)),
                   3 * (100 + 1000 + 10 + 100) + (3 + 2 + 2) * 8);
  // Of an allgather of 8 ranks 1, 2 and 4 blocks.
  EXPECT_DOUBLE_EQ(nanoseconds(of(allgather, "recursive-doubling", 8, 1, 8)), 3 * (100 + 1000 + 10 + 100) + 7 * 8);
}

// Of copies: basic-bruck rotates 8 blocks before and after, and packs and unpacks 4 in each of 3 rounds.
TEST(Engine, CopiesTakeTime) {
  Network network = plain_network();
  const double without = nanoseconds(of(alltoall, "basic-bruck", 8, 1, 8));
  network.copied_block = 3;
  network.copied_byte = 0.25;
  const double blocks = (nanoseconds(of(alltoall, "basic-bruck", 8, 1, 8, network)) - without) / (3 + 8 * 0.25);
  const Asked asked = asked_for(alltoall, "basic-bruck", map_of(8, "blocked:1"));
  const Program program = program_of(asked, 0);
  double counted = 0;
  for (const Stage& stage : program.stages) counted += static_cast<double>(stage.before.own + stage.after.own);
  for (std::size_t i = 0; i < program.scattered.size(); ++i)
    counted += program.scattered[i] ? program.notes[i].blocks : 0;
  EXPECT_DOUBLE_EQ(blocks, counted);
  EXPECT_GT(counted, 16);
}

// A long message asks: question 10 on the adapters, 100 to answer, 100 to send, then the data.
TEST(Engine, LongMessagesAskFirst) {
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "pairwise", 2, 1, 500)), 100 + 1000 + 510 + 100);
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "pairwise", 2, 1, 1000)),
                   (100 + 1000 + 10) + (100 + 1000) + (100 + 1000 + 1010 + 100));
}

// Inside a node a short message is copied in and out, a long one once, by its receiver, who tells its sender.
TEST(Engine, MessagesInsideANode) {
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "pairwise", 2, 2, 100)), (20 + 50) + 50 + (20 + 50));
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "pairwise", 2, 2, 1000)), 20 + 50 + (20 + 500) + 50);
}

// Two ranks of a node share an adapter: 4 messages leave one after the other.
TEST(Engine, TheAdapterIsShared) {
  Network network = plain_network();
  network.gap = 1000;
  network.gap_byte = 0;
  network.overhead = 10;
  network.near_overhead = network.near_latency = network.near_byte = 0;
  // Each rank sends two: begun together, so the last leaves at 10 + 3000, passes the other adapter from 4010 to 5010.
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "spread-out", 4, 2, 8, network)), 10 + 3000 + 1000 + 1000 + 10);
  EXPECT_DOUBLE_EQ(of(alltoall, "spread-out", 4, 2, 8, network).busiest_adapter * 1e9, 4000);
}

// Two messages of 500 bytes come to a node at 1100: the second passes its adapter when the first has.
TEST(Engine, TheReceivingAdapterIsShared) {
  Program takes, first, second;
  add_round(takes, {}, {{1, 1, 0}, {2, 1, 0}});
  add_round(first, {{0, 1, 0}}, {});
  add_round(second, {{0, 1, 0}}, {});
  const Crowd crowd = crowd_of({takes, first, second});
  EXPECT_DOUBLE_EQ(nanoseconds(Engine(crowd).run(plain_network(), {500, 500})), 1100 + 510 + 510 + 100);
}

TEST(Engine, RanksShareProcessors) {
  Network network = plain_network();
  network.shared_block = 100;
  // 4 ranks copy 3 blocks each, and their own, which takes no time here.
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "hint-row", 4, 4, 8, network)), 300);
  network.processors = 2;
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "hint-row", 4, 4, 8, network)), 600);
  network.processors = 1;
  network.turn = 7;
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "hint-row", 4, 4, 8, network)), 4 * 307);
  // Two nodes of two ranks, played by one processor, or by one each. No message takes a processor.
  network.turn = network.overhead = 0;
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "hint-row", 4, 2, 8, network)), 1000 + 3 * 18 + 18);
  const double each = nanoseconds(of(allgather, "leaders", 4, 2, 8, network));
  network.one_machine = 1;
  EXPECT_GT(nanoseconds(of(allgather, "leaders", 4, 2, 8, network)), each);
}

TEST(Engine, TheMemoryOfANodeIsShared) {
  Network network = plain_network();
  network.memory_byte = 1;
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "hint-row", 4, 4, 8, network)), 4 * 4 * 8);
}

TEST(Engine, FencesTakeDoublings) {
  Network network = plain_network();
  network.fence = 9;
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "hint-row", 5, 5, 8, network)), 2 * 3 * 9);
}

// Two groups of two nodes: the links of a group take 4 messages of 100 ns each way, the first at 1100.
TEST(Engine, GroupsShareLinks) {
  Network network = plain_network();
  const double without = nanoseconds(of(alltoall, "spread-out", 4, 1, 100, network));
  network.group_nodes = 2;
  EXPECT_DOUBLE_EQ(nanoseconds(of(alltoall, "spread-out", 4, 1, 100, network)), without);
  network.group_latency = 300;
  EXPECT_GT(nanoseconds(of(alltoall, "spread-out", 4, 1, 100, network)), without);
  network.group_byte = 10;
  EXPECT_GE(nanoseconds(of(alltoall, "spread-out", 4, 1, 100, network)), 1100 + 300 + 3 * 1000 + 110 + 100);
}

// ---- What is wrong is said ----

TEST(Engine, ReportsADeadlock) {
  Program first, second;
  add_round(first, {}, {{1, 1, 0}});
  add_round(first, {{1, 1, 0}}, {});
  add_round(second, {}, {{0, 1, 0}});
  add_round(second, {{0, 1, 0}}, {});
  const Crowd crowd = crowd_of({first, second});
  const Outcome outcome = Engine(crowd).run(plain_network(), {8, 8});
  EXPECT_THAT(outcome.problem, HasSubstr("deadlock: 2 of 2 ranks"));
  EXPECT_THAT(outcome.problem, HasSubstr("rank 1 waits in round 1 for a message from 0"));
}

TEST(Engine, LongMessagesThatNobodyTakesWait) {
  Program first, second;
  add_round(first, {{1, 1, 0}}, {});
  add_round(first, {}, {{1, 1, 0}});
  add_round(second, {{0, 1, 0}}, {});
  add_round(second, {}, {{0, 1, 0}});
  const Crowd crowd = crowd_of({first, second});
  const Engine engine(crowd);
  EXPECT_EQ(engine.run(plain_network(), {500, 500}).problem, "");
  EXPECT_THAT(engine.run(plain_network(), {501, 501}).problem, HasSubstr("deadlock"));
}

TEST(Engine, ReportsWhatDoesNotMatch) {
  Program sends, receives, nothing, more;
  add_round(sends, {{1, 1, 0}}, {});
  add_round(receives, {}, {{0, 1, 0}});
  add_round(more, {}, {{0, 2, 0}});
  const Crowd lost = crowd_of({sends, nothing}), awaited = crowd_of({nothing, receives}),
              other = crowd_of({sends, more}), right = crowd_of({sends, receives});
  EXPECT_THAT(Engine(lost).problem(), HasSubstr("rank 0 sends to 1 what that does not receive"));
  EXPECT_THAT(Engine(awaited).problem(), HasSubstr("1 messages are received that nobody sends"));
  EXPECT_THAT(Engine(other).problem(), HasSubstr("rank 0 sends 1 blocks to 1, which expects 2"));
  EXPECT_EQ(Engine(right).problem(), "");
  EXPECT_NE(Engine(lost).run(plain_network(), {8, 8}).problem, "");
}

// Messages of one pair keep their order.
TEST(Engine, MessagesOfAPairStayInOrder) {
  Program first, second;
  add_round(first, {{1, 1, 0}, {1, 5, 0}}, {});
  add_round(second, {}, {{0, 1, 0}, {0, 5, 0}});
  const Crowd crowd = crowd_of({first, second});
  EXPECT_EQ(Engine(crowd).problem(), "");
  EXPECT_EQ(Engine(crowd).run(plain_network(), {8, 8}).received_bytes, 6U * 8);
}

// ---- All algorithms ----

std::vector<std::string> all_of(Collective collective, const plan::NodeMap& map) {
  std::vector<std::string> names;
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (choose::serves(algorithm, collective) && why_not({&algorithm, {}}, map).empty())
      names.emplace_back(algorithm.name);
  }
  return names;
}

TEST(Engine, WhatIsSentIsReceived) {
  for (const Collective collective : {alltoall, alltoallv, allgather}) {
    for (const char* text : {"blocked:1", "blocked:4", "roundrobin:3", "ragged:1,3,5", "permuted:7", "blocked:13"}) {
      const plan::NodeMap map = map_of(13, text);
      for (const std::string& name : all_of(collective, map)) {
        for (const double bytes : {8.0, 600.0}) {
          const Outcome outcome = outcome_of(asked_for(collective, name, map), plain_network(), bytes);
          EXPECT_EQ(outcome.problem, "") << name << " " << text;
          EXPECT_EQ(outcome.received_bytes, outcome.bytes + outcome.near_bytes) << name << " " << text;
          EXPECT_LE(outcome.first_seconds, outcome.seconds);
          // A rank must at least get what is for it and comes from other nodes.
          if (map.nodes == 13) {
            EXPECT_GE(static_cast<double>(outcome.bytes), 13 * 12 * bytes) << name;
          }
        }
      }
    }
  }
}

TEST(Engine, DirectAlgorithmsSendEachBlockOnce) {
  for (const char* name :
       {"spread-out", "pairwise", "nonblocking", "waitall-stride", "waitany-stride", "testany-stride"}) {
    const Outcome outcome = of(alltoall, name, 12, 4, 100);
    EXPECT_EQ(outcome.bytes, 12U * 8 * 100) << name;
    EXPECT_EQ(outcome.near_bytes, 12U * 3 * 100) << name;
    EXPECT_EQ(outcome.messages, 12U * 8) << name;
  }
  // One leader a node: a message for each pair of nodes, of all blocks between them.
  const Outcome outcome = of(alltoall, "leaders", 12, 4, 100);
  EXPECT_EQ(outcome.messages, 3U * 2);
  EXPECT_EQ(outcome.bytes, 12U * 8 * 100);
}

// Sizes travel with small data, before large ones.
TEST(Engine, SizesTravel) {
  const double blocks = 3 * 4;  // of 8 ranks, sent by each
  const Outcome small = of(alltoallv, "two-phase-bruck", 8, 1, 8),
                large = of(alltoallv, "two-phase-bruck:radix=2,eager=0", 8, 1, 8);
  EXPECT_EQ(small.messages, 8U * 3);
  EXPECT_GT(small.bytes, 8 * blocks * 8);
  EXPECT_LE(small.bytes, 8 * blocks * 12);
  EXPECT_EQ(large.bytes, small.bytes);
  EXPECT_GT(large.messages, small.messages);
  EXPECT_GT(large.seconds, small.seconds);
}

TEST(Engine, TheSameTwice) {
  const Asked asked = asked_for(alltoall, "waitany-stride", map_of(24, "permuted:3"));
  const Outcome one = outcome_of(asked, plain_network(), 100), two = outcome_of(asked, plain_network(), 100);
  EXPECT_EQ(one.seconds, two.seconds);
  EXPECT_EQ(one.events, two.events);
}

// Through leaders a block that no place holds goes in turns.
TEST(Engine, LargeBlocksGoInTurns) {
  const Outcome one = of(alltoall, "leaders:piece=1024", 8, 4, 1024),
                four = of(alltoall, "leaders:piece=1024", 8, 4, 4096);
  EXPECT_EQ(one.turns, 1);
  EXPECT_EQ(four.turns, 4);
  EXPECT_EQ(four.messages, 4 * one.messages);
  EXPECT_EQ(four.bytes, 4 * one.bytes);
}

}  // namespace
}  // namespace quadrille::simulate
