// The messages between nodes of the algorithms that work inside nodes by themselves: their number, what keeps batches
// in step, and that the proof sees what is wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/cost.hpp"
#include "plan/schedule.hpp"
#include "plan/verify.hpp"
#include "tests/plan/maps.hpp"
#include "tests/plan/named_orders.hpp"

namespace quadrille::plan {
namespace {

using testing::HasSubstr;

constexpr Goal between = {Pattern::alltoall, true, true};

const Round* messages_of(const Schedule& schedule) {
  const auto found = std::find_if(schedule.rounds.begin(), schedule.rounds.end(),
                                  [](const Round& round) { return round.sends.count > 0; });
  return found == schedule.rounds.end() ? nullptr : &*found;
}

// Batches of `steps` steps of which one has a peer on another node.
std::uint64_t batches_of(const NodeMap& nodes, int me, int steps) {
  const int ranks = nodes.ranks();
  const auto is_away = [&](int rank) {
    return nodes.node_of[static_cast<std::size_t>(rank)] != nodes.node_of[static_cast<std::size_t>(me)];
  };
  std::uint64_t count = 0;
  for (int first = 1; first < ranks; first += steps) {
    bool any = false;
    for (int step = first; step < std::min(first + steps, ranks); ++step) {
      any = any || is_away((me + step) % ranks) || is_away((me - step + ranks) % ranks);
    }
    count += any ? 1 : 0;
  }
  return count;
}

TEST(BetweenNodesTest, AMessageForEachRankOfAnotherNode) {
  for (const char* text : {"blocked:2", "roundrobin:3", "ragged:1,3,4", "permuted:7", "blocked:1"}) {
    for (const int ranks : {2, 3, 8, 13}) {
      const NodeMap nodes = map_of(text, ranks);
      for (const int steps : {1, 2, 5, 32}) {
        for (int me = 0; me < ranks; ++me) {
          const auto here = static_cast<std::uint64_t>(
              std::count(nodes.node_of.begin(), nodes.node_of.end(), nodes.node_of[static_cast<std::size_t>(me)]));
          Counts expected;
          expected.messages = expected.blocks_sent = static_cast<std::uint64_t>(ranks) - here;
          expected.rounds = nodes.nodes == 1 ? 0 : batches_of(nodes, me, steps);
          const Problem problem{ranks, me, &nodes, {}, {}, steps};
          EXPECT_EQ(count(alltoall_between_nodes(problem)), expected) << text << " " << ranks << " " << steps;
          EXPECT_EQ(count(allgather_between_nodes(problem)), expected) << text << " " << ranks << " " << steps;
          Counts copied = expected;
          copied.blocks_copied = here;
          EXPECT_EQ(count(hint_row(problem)), copied) << text << " " << ranks << " " << steps;
        }
      }
    }
  }
}

// What the orders of copies send is what single-copy sends.
TEST(BetweenNodesTest, AllSendTheSame) {
  const NodeMap nodes = map_of("ragged:3,2", 9);
  const Problem problem{9, 4, &nodes, {}, {}, 2};
  const std::string alone = draw(alltoall_between_nodes(problem), 4);
  const std::string beside = draw(sh_co(problem), 4);
  const auto messages = [](const std::string& drawn) { return drawn.substr(drawn.find("(2 pairs")); };
  EXPECT_EQ(messages(alone), messages(beside));
  EXPECT_EQ(alone,
            "scratch 0 blocks\n"
            "round 0 (2 pairs in flight, waited for together), in flight from the start\n"
            "  send  to 5: send[5]\n"
            "  send  to 6: send[6]\n"
            "  send  to 7: send[7]\n"
            "  send  to 8: send[8]\n"
            "  send  to 0: send[0]\n"
            "  send  to 1: send[1]\n"
            "  send  to 2: send[2]\n"
            "  recv  from 2: recv[2]\n"
            "  recv  from 1: recv[1]\n"
            "  recv  from 0: recv[0]\n"
            "  recv  from 8: recv[8]\n"
            "  recv  from 7: recv[7]\n"
            "  recv  from 6: recv[6]\n"
            "  recv  from 5: recv[5]\n");
}

TEST(BetweenNodesTest, AThousandRanksAreProved) {
  const NodeMap nodes = map_of("ragged:1,30,64,7", 1000);
  EXPECT_EQ(verify(build_all(alltoall_between_nodes, nodes, {}), nodes, between, 1).what, "");
}

TEST(BetweenNodesTest, BlocksInsideNodesAreNotTouched) {
  const NodeMap nodes = map_of("blocked:2", 4);
  const Goal all = {Pattern::alltoall, true};
  EXPECT_THAT(verify(build_all(alltoall_between_nodes, nodes, {}), nodes, all).what, HasSubstr("holds nothing, not"));
  EXPECT_THAT(verify(build_all(hint_row, nodes, {}), nodes, between).what, HasSubstr(", not nothing"));
}

// --- broken by hand -----------------------------------------------------------------------------

using Change = std::function<void(std::vector<Schedule>&)>;

void expect_wrong(const std::string& what, const Change& change, int steps = 2) {
  const NodeMap nodes = map_of("roundrobin:2", 6);
  for (const Build build : {alltoall_between_nodes, sh_co}) {
    const Goal goal = {Pattern::alltoall, true, build == alltoall_between_nodes};
    std::vector<Schedule> schedules = build_all(build, nodes, {}, {}, steps);
    ASSERT_EQ(verify(schedules, nodes, goal).what, "");
    change(schedules);
    EXPECT_THAT(verify(schedules, nodes, goal).what, HasSubstr(what));
  }
}

Round& messages_of(Schedule& schedule) { return const_cast<Round&>(*messages_of(std::as_const(schedule))); }

TEST(BrokenBetweenNodesTest, AWrongPeerInOneStep) {
  expect_wrong("matching: ", [](std::vector<Schedule>& all) {
    Schedule& s = all[2];
    s.messages[messages_of(s).sends.first + 2].peer = 3;  // was 5
  });
}

TEST(BrokenBetweenNodesTest, NoSecondBatch) {
  expect_wrong("matching: ", [](std::vector<Schedule>& all) {
    Round& round = messages_of(all[1]);
    round.sends.count = round.receives.count = 2;
  });
  expect_wrong("holds nothing, not", [](std::vector<Schedule>& all) {
    for (Schedule& s : all) messages_of(s).sends.count = messages_of(s).receives.count = 2;
  });
}

TEST(BrokenBetweenNodesTest, ABlockOfAnother) {
  expect_wrong("block 0->3 comes into recv[0]", [](std::vector<Schedule>& all) {
    Schedule& s = all[0];
    s.spans[s.messages[messages_of(s).sends.first].spans.first].block = 3;  // was 1
  });
}

// In batches of one a rank that receives in another order waits for one that waits for it.
TEST(BrokenBetweenNodesTest, StepsInAnotherOrder) {
  expect_wrong(
      "deadlock: ",
      [](std::vector<Schedule>& all) {
        for (Schedule& s : all) {
          const Range receives = messages_of(s).receives;
          std::reverse(s.messages.begin() + receives.first, s.messages.begin() + receives.first + receives.count);
        }
      },
      1);
}

// The executor leaves a message without blocks out, so nobody waits for another by it.
TEST(BrokenBetweenNodesTest, AMessageWithoutBlocksOrdersNothing) {
  const NodeMap nodes = one_node(2);
  for (const bool is_there : {false, true}) {
    std::vector<Schedule> schedules;
    for (int me = 0; me < 2; ++me) {
      Builder b(me);
      b.scratch(2);
      b.begin_round();
      b.node_fence();
      b.begin_round();
      b.copy(Buffer::send, me, Buffer::recv, me);
      b.copy(Buffer::send, 1 - me, Buffer::scratch, 0);
      b.begin_round();
      b.send(1 - me);
      if (is_there) b.span(Buffer::scratch, 0);
      b.receive(1 - me);
      if (is_there) b.span(Buffer::scratch, 1);
      b.begin_round();
      b.copy(Span{1 - me, 0, Buffer::scratch}, Span{me, 1 - me, Buffer::recv});
      b.node_fence();
      schedules.push_back(b.take());
    }
    EXPECT_EQ(verify(schedules, nodes, {Pattern::alltoall, false}).ok, is_there);
  }
}

// Copies of `sh_co` on two nodes, changed so that a message may be in flight during copies that it must follow.
TEST(BrokenBetweenNodesTest, ACopyTouchesWhatAMessageMay) {
  const NodeMap nodes = map_of("blocked:2", 4);
  const Goal goal = {Pattern::alltoall, true};
  auto schedules = build_all(sh_co, nodes, {});
  schedules[0].copies[0].to = {1, 2, Buffer::recv};  // rank 2 sends that to rank 1
  EXPECT_THAT(verify(schedules, nodes, goal).what, HasSubstr("beside: rank 0: a copy writes recv[2] of rank 1"));
  schedules = build_all(sh_co, nodes, {});
  schedules[0].copies[0].from = {1, 3, Buffer::recv};
  EXPECT_THAT(verify(schedules, nodes, goal).what, HasSubstr("beside: rank 0: a copy reads recv[3] of rank 1"));
}

TEST(BrokenBetweenNodesTest, OnlyTheLastRoundMayBeBeside) {
  const NodeMap nodes = map_of("blocked:2", 4);
  const Goal goal = {Pattern::alltoall, true};
  auto schedules = build_all(sh_co, nodes, {});
  std::swap(schedules[1].rounds[1], schedules[1].rounds[2]);
  EXPECT_THAT(verify(schedules, nodes, goal).what, HasSubstr("beside: rank 1, round 1: it copies"));
  schedules = build_all(sh_co, nodes, {});
  schedules[3].rounds[2].before = schedules[3].rounds[1].before;
  schedules[3].rounds[1].before = {};
  EXPECT_THAT(verify(schedules, nodes, goal).what, HasSubstr("beside: rank 3, round 2: it copies"));
}

}  // namespace
}  // namespace quadrille::plan
