// The proof must reject what is wrong, and say why. Every schedule here is broken by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/verify.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::plan {
namespace {

using testing::HasSubstr;

constexpr Goal kAlltoall = {Pattern::alltoall, false};
constexpr Goal kAlltoallv = {Pattern::alltoall, true};

Report check(const std::vector<Schedule>& schedules, Goal goal = kAlltoall) {
  return verify(schedules, one_node(static_cast<int>(schedules.size())), goal);
}

std::vector<Schedule> good(Build build, int ranks, const Parameters& parameters = {}) {
  return build_all(build, one_node(ranks), parameters);
}

// Schedules of `ranks` ranks, each written by `write`.
std::vector<Schedule> written(int ranks, const std::function<void(Builder&, int)>& write) {
  std::vector<Schedule> schedules;
  for (int me = 0; me < ranks; ++me) {
    Builder builder(me);
    write(builder, me);
    schedules.push_back(builder.take());
  }
  return schedules;
}

void expect_wrong(const Report& report, const std::string& what) {
  EXPECT_FALSE(report.ok);
  EXPECT_THAT(report.what, HasSubstr(what));
  EXPECT_EQ(report.what.find('\n'), std::string::npos);
}

TEST(ProofTest, AcceptsWhatIsRight) {
  EXPECT_EQ(check(good(spread_out, 5)).what, "");
  EXPECT_EQ(check(good(zero_copy_bruck_dt, 7)).what, "");
}

TEST(ProofTest, WrongPeer) {
  auto schedules = good(spread_out, 4);
  schedules[1].messages[0].peer = 3;  // was 2
  expect_wrong(check(schedules), "matching: rank 2 receives from rank 1 more often than that sends");
  schedules[1].messages[0].peer = 1;
  expect_wrong(check(schedules), "form: rank 1, round 0: send to 1, which is not another rank");
}

TEST(ProofTest, MissingReceive) {
  auto schedules = good(spread_out, 3);
  --schedules[2].rounds[0].receives.count;
  expect_wrong(check(schedules), "matching: rank 0 sends to rank 2 more often than that receives");
}

TEST(ProofTest, MissingSend) {
  auto schedules = good(spread_out, 3);
  schedules[2].rounds[0].sends = {schedules[2].rounds[0].sends.first + 1, 1};
  expect_wrong(check(schedules), "matching: rank 0 receives from rank 2 more often than that sends");
}

TEST(ProofTest, BlockCountsDiffer) {
  auto schedules = good(modified_bruck, 4);
  Schedule& s = schedules[0];
  --s.messages[s.rounds[1].sends.first].spans.count;
  expect_wrong(check(schedules), "matching: rank 0 sends 1 blocks to rank 3, which expects 2");
}

TEST(ProofTest, ReceiveOverwritesWhatIsBeingSent) {
  const auto schedules = written(2, [](Builder& b, int me) {
    b.begin_round();
    b.copy(Buffer::send, me, Buffer::recv, me);
    b.copy(Buffer::send, 1 - me, Buffer::recv, 1 - me);
    b.send(1 - me, Buffer::recv, 1 - me);
    b.receive(1 - me, Buffer::recv, 1 - me);
  });
  expect_wrong(check(schedules), "race: rank 0, round 0: the receive from 1 writes recv[1] while the send to 1 reads");
}

TEST(ProofTest, TwoReceivesOverlap) {
  auto schedules = good(spread_out, 3);
  Schedule& s = schedules[0];
  const Round& round = s.rounds[0];
  const auto span = [&](std::uint32_t i) -> Span& { return s.spans[s.messages[round.receives.first + i].spans.first]; };
  span(1).block = span(0).block;
  expect_wrong(check(schedules), "while the receive from 2 writes it");
}

// Pairs 0 and 2 write one span. In batches of two they are ordered. With a window that refills
// itself pair 0 may be in flight when pair 2 is posted, although a lucky order would hide it.
TEST(ProofTest, WindowDecidesWhatIsARace) {
  const auto with = [](Window window) {
    return written(4, [window](Builder& b, int me) {
      b.scratch(1);
      b.begin_round(window);
      b.copy(Buffer::send, me, Buffer::recv, me);
      for (int i = 1; i < 4; ++i) b.send((me + i) % 4, Buffer::send, (me + i) % 4);
      b.receive((me + 3) % 4, Buffer::scratch, 0);
      b.receive((me + 2) % 4, Buffer::recv, (me + 2) % 4);
      b.receive((me + 1) % 4, Buffer::scratch, 0);
    });
  };
  const std::string race = "race: rank 0, round 0: the receive from 1 writes scratch[0] while the ";
  expect_wrong(check(with({Window::Wait::any, 2})), race + "receive from 3 writes it");
  expect_wrong(check(with({Window::Wait::test, 2})), race);
  expect_wrong(check(with({Window::Wait::all, 0})), race);
  expect_wrong(check(with({Window::Wait::all, 3})), race);
  // No race, but two blocks are lost all the same.
  expect_wrong(check(with({Window::Wait::all, 2})), "flow: at the end");
  expect_wrong(check(with({Window::Wait::all, 1})), "flow: at the end");
  expect_wrong(check(with({Window::Wait::any, 1})), "flow: at the end");
}

TEST(ProofTest, DeadlockOfRendezvousSends) {
  // Both send in round 0 and receive in round 1: right only while MPI buffers.
  const auto schedules = written(2, [](Builder& b, int me) {
    b.begin_round();
    b.copy(Buffer::send, me, Buffer::recv, me);
    b.send(1 - me, Buffer::send, 1 - me);
    b.begin_round();
    b.receive(1 - me, Buffer::recv, 1 - me);
  });
  expect_wrong(check(schedules),
               "deadlock: rank 0 waits in round 0 for its send to 1; "
               "rank 1 waits in round 0 for its send to 0");
}

TEST(ProofTest, CycleUnderAWindowOfOne) {
  // Rank p receives in the order of rising ranks, and sends with a shift: with all pairs in flight
  // nothing is wrong, with one pair the ranks wait in a circle.
  const auto with = [](std::uint32_t pairs) {
    return written(3, [pairs](Builder& b, int me) {
      b.begin_round({Window::Wait::all, pairs});
      b.copy(Buffer::send, me, Buffer::recv, me);
      for (int i = 1; i < 3; ++i) b.send((me + i) % 3, Buffer::send, (me + i) % 3);
      for (int i = 1; i < 3; ++i) b.receive((me + i) % 3, Buffer::recv, (me + i) % 3);
    });
  };
  EXPECT_EQ(check(with(0)).what, "");
  expect_wrong(check(with(1)), "deadlock: rank 0 waits in round 0 for its send to 1");
}

TEST(ProofTest, MissingBlock) {
  auto schedules = good(spread_out, 3);
  schedules[1].rounds[0].before.count = 0;  // the own block is forgotten
  expect_wrong(check(schedules), "flow: at the end recv[1] of rank 1 holds nothing, not block 1->1");
}

TEST(ProofTest, BlocksInTheWrongOrder) {
  auto schedules = good(zero_rotation_bruck, 4);
  Schedule& s = schedules[2];
  const Round& round = s.rounds[1];
  std::swap(s.copies[round.after.first].to, s.copies[round.after.first + 1].to);
  expect_wrong(check(schedules), "flow: at the end recv[");
}

TEST(ProofTest, UndefinedBlockIsRead) {
  auto schedules = good(basic_bruck_dt, 4);
  schedules[3].rounds[0].before.count = 2;  // the rotation stops half way
  expect_wrong(check(schedules), "flow: rank 3, round 1: sends scratch[3], which nothing has written");
}

TEST(ProofTest, SendBufferIsWritten) {
  auto received = good(spread_out, 3);
  Schedule& s = received[0];
  s.spans[s.messages[s.rounds[0].receives.first].spans.first].buffer = Buffer::send;
  expect_wrong(check(received), "form: rank 0, round 0: the receive from 2 writes send[2]; send buffers are read-only");
  auto copied = good(modified_bruck, 3);
  copied[1].copies[0].to = {1, 2, Buffer::send};
  expect_wrong(check(copied), "form: rank 1, round 0: a copy writes send[2]");
}

TEST(ProofTest, SpansThatDoNotExist) {
  auto schedules = good(modified_bruck, 4);
  schedules[0].scratch_blocks = 1;
  expect_wrong(check(schedules), "form: rank 0, round 1: a copy names scratch[1]");
  auto foreign = good(spread_out, 4);
  foreign[0].spans[0].owner = 1;
  expect_wrong(check(foreign), "which the rank does not have");
  auto outside = good(spread_out, 4);
  outside[0].rounds[0].sends.count = 100;
  expect_wrong(check(outside), "points outside the arrays");
}

TEST(ProofTest, SizesMustBeKnownForUnevenBlocks) {
  EXPECT_EQ(check(good(modified_bruck, 4)).what, "");
  expect_wrong(verify(good(modified_bruck, 4), one_node(4), kAlltoallv), "sizes: rank ");
  EXPECT_EQ(check(good(pairwise, 4), kAlltoallv).what, "");
}

const Round& first_messages(const Schedule& schedule) {
  return *std::find_if(schedule.rounds.begin(), schedule.rounds.end(),
                       [](const Round& round) { return round.sends.count > 0; });
}

// The executor keeps addresses and sizes of blocks of scratch alone.
TEST(ProofTest, WhatCarriesSizesMovesScratchAlone) {
  auto schedules = good(two_phase_bruck, 4);
  const Range sends = first_messages(schedules[0]).sends;
  schedules[0].spans[schedules[0].messages[sends.first].spans.first] = {0, 1, Buffer::send};
  expect_wrong(verify(schedules, one_node(4), kAlltoallv), "what carries sizes along moves blocks of scratch alone");
}

// --- copies between the ranks of a node ---------------------------------------------------------

// Every rank pulls its blocks out of the send buffers of its node, between two fences.
std::vector<Schedule> pulled(int ranks, bool entry, bool exit) {
  return written(ranks, [=](Builder& b, int me) {
    if (entry) {
      b.begin_round();
      b.node_fence();
    }
    b.begin_round();
    for (int s = 0; s < ranks; ++s) {
      b.copy(Span{s, me, Buffer::send}, Span{me, s, Buffer::recv});
    }
    if (exit) b.node_fence();
  });
}

TEST(NodeCopyProofTest, FencesMakeItRight) { EXPECT_EQ(check(pulled(4, true, true)).what, ""); }

TEST(NodeCopyProofTest, NobodyReadsMySendBeforeIEnter) {
  // Which rank is the first depends on the order of the steps.
  const Report report = check(pulled(4, false, true));
  EXPECT_FALSE(report.ok);
  EXPECT_THAT(report.what, testing::ContainsRegex("order: rank [0-3], round 0: touches send.[0-3]. of rank [0-3] "
                                                  "before that rank has entered"));
}

TEST(NodeCopyProofTest, NobodyReadsMySendAfterILeave) {
  expect_wrong(check(pulled(4, true, false)), "order: rank 0 may leave while rank 1 still touches its buffers");
}

// Rank s pushes into the scratch of its neighbour, who then copies on. The fence between is what
// makes the neighbour wait.
std::vector<Schedule> pushed(bool fence_between) {
  return written(2, [=](Builder& b, int me) {
    const int peer = 1 - me;
    b.scratch(1);
    b.begin_round();
    b.node_fence();
    b.begin_round();
    b.copy(Buffer::send, me, Buffer::recv, me);
    b.copy(Span{me, peer, Buffer::send}, Span{peer, 0, Buffer::scratch});
    if (fence_between) b.node_fence();
    b.begin_round();
    b.copy(Buffer::scratch, 0, Buffer::recv, peer);
    b.node_fence();
  });
}

TEST(NodeCopyProofTest, PushIsRightWithAFence) { EXPECT_EQ(check(pushed(true)).what, ""); }

TEST(NodeCopyProofTest, PushWithoutAFenceIsARace) {
  // Some orders read the scratch before it is written, and the flow sees it; in the others the
  // clocks do. Either way it is rejected, whatever the order.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Report report = verify(pushed(false), one_node(2), kAlltoall, 1, seed);
    EXPECT_FALSE(report.ok);
    EXPECT_THAT(report.what,
                testing::AnyOf(HasSubstr("which nothing has written"), HasSubstr("nothing orders it against rank")));
  }
}

// Rank 0 pulls rank 1's scratch after a message from rank 1, or without one. In both the right
// block may be seen by luck: only the clocks can tell them apart.
std::vector<Schedule> flagged(bool message_first) {
  return written(2, [=](Builder& b, int me) {
    const int peer = 1 - me;
    b.scratch(2);
    b.begin_round();
    b.copy(Buffer::send, me, Buffer::scratch, 1);
    b.node_fence();
    b.begin_round();
    b.copy(Buffer::send, me, Buffer::recv, me);
    b.copy(Buffer::send, peer, Buffer::scratch, 0);
    b.begin_round();
    if (message_first) {
      b.send(peer, Buffer::scratch, 0);
      b.receive(peer, Buffer::scratch, 1);
    }
    b.begin_round();
    b.copy(Span{peer, 0, Buffer::scratch}, Span{me, peer, Buffer::recv});
    b.node_fence();
  });
}

TEST(NodeCopyProofTest, AMessageOrdersToo) { EXPECT_EQ(check(flagged(true)).what, ""); }

TEST(NodeCopyProofTest, LuckIsNotAnOrder) {
  bool clocks_needed = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Report report = verify(flagged(false), one_node(2), kAlltoall, 1, seed);
    ASSERT_FALSE(report.ok);
    clocks_needed = clocks_needed || report.what.find("nothing orders it") != std::string::npos;
  }
  EXPECT_TRUE(clocks_needed);
}

TEST(NodeCopyProofTest, CopiesStayInsideTheNode) {
  const NodeMap apart = node_map_from_labels({0, 1});
  expect_wrong(verify(pulled(2, true, true), apart, kAlltoall), "which is on another node");
}

TEST(NodeCopyProofTest, AFenceThatOneRankMisses) {
  auto schedules = pulled(3, true, true);
  schedules[2].rounds[1].node_fence = false;
  expect_wrong(check(schedules),
               "deadlock: rank 0 waits in round 1 at its node's fence for rank 2; "
               "rank 2 has finished");
}

TEST(NodeCopyProofTest, NodesMatterOnlyIfTheyAreUsed) {
  EXPECT_FALSE(ignores_nodes(pulled(2, true, true)));
  EXPECT_TRUE(ignores_nodes(good(zero_copy_bruck_dt, 5)));
}

// --- the sweep
// ------------------------------------------------------------------------------------

Schedule wrong_for_five(const Problem& problem) {
  Schedule schedule = spread_out(problem);
  if (problem.ranks == 5 && problem.nodes->nodes == 2) schedule.rounds[0].before.count = 0;
  return schedule;
}

TEST(SweepTest, FindsTheOneCaseThatIsWrongAndNamesIt) {
  const choose::Algorithm algorithm = {"broken", {Collective::alltoall}, choose::Engine::schedule, {}, {}, "",
                                       "",       wrong_for_five};
  long cases = 0;
  EXPECT_TRUE(tools::prove(algorithm, Collective::alltoall, 4, 2, cases).ok);
  const Report report = tools::prove(algorithm, Collective::alltoall, 5, 2, cases);
  expect_wrong(report, "alltoall broken, 5 ranks, nodes [0 0 0 1 1]: flow: at the end");
}

TEST(SweepTest, NodeMapsAreOfAllKindsAndDiffer) {
  const auto maps = tools::node_maps(12);
  EXPECT_EQ(maps.size(), 7u);
  EXPECT_EQ(maps[0].nodes, 1);
  EXPECT_EQ(maps[1].nodes, 12);
  EXPECT_EQ(tools::node_maps(1).size(), 1u);
}

}  // namespace
}  // namespace quadrille::plan
