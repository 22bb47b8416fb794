// The proof of neighbourhood collectives must reject what is wrong, and say why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/neighborhood.hpp"
#include "plan/verify.hpp"
#include "tool/bench/named_neighborhoods.hpp"

namespace quadrille::plan {
namespace {

using testing::HasSubstr;

const Grid kMesh{{3, 3}, {false, false}};
const Grid kTorus{{3, 3}, {true, true}};

struct Case {
  Grid grid;
  Neighborhood neighborhood;
  std::vector<Schedule> schedules;

  Case(BuildNeighbors build, const Grid& g, Neighborhood n)
      : grid(g), neighborhood(std::move(n)), schedules(build_all(build, g, neighborhood, {})) {}
  Schedule& of(int rank) { return schedules[static_cast<std::size_t>(rank)]; }
  void expect_wrong(const std::string& what, Pattern pattern = Pattern::alltoall) const {
    const Report report = verify_neighbors(schedules, grid, neighborhood, pattern);
    EXPECT_FALSE(report.ok);
    EXPECT_THAT(report.what, HasSubstr(what));
  }
  void expect_right() const { EXPECT_EQ(verify_neighbors(schedules, grid, neighborhood, Pattern::alltoall).what, ""); }
};

// A span of the first message received in a round.
Span& received(Schedule& schedule, std::size_t round, std::uint32_t span = 0) {
  const Range receives = schedule.rounds[round].receives;
  return schedule.spans[schedule.messages[receives.first].spans.first + span];
}

TEST(NeighborProofTest, AcceptsWhatIsRight) {
  Case(neighbor_torus, kTorus, moore(2, 1)).expect_right();
  Case(neighbor_torus_direct, kMesh, moore(2, 1)).expect_right();
}

// Rank 6 = (2,0) passes the block from (1,0) to (2,1), but has no source (1,-1) itself.
TEST(NeighborProofTest, ABlockWithoutSourceStaysUntouched) {
  Case c(neighbor_torus, kMesh, {2, {1, 1}});
  for (Span& span : c.of(6).spans) {
    if (span.buffer == Buffer::scratch) span.buffer = Buffer::recv;
  }
  c.expect_wrong("flow: at the end recv[0] of rank 6 holds block 0 of rank 3, not nothing");
}

TEST(NeighborProofTest, ABlockOfAnotherSize) {
  Case c(neighbor_torus, kTorus, {2, {1, 1, 1, 2}});
  Schedule& s = c.of(4);
  for (Span& span : s.spans) {
    if (span.buffer == Buffer::scratch) span.block ^= 1;
  }
  c.expect_wrong("sizes: rank 4, round 0: block 0 of rank 1 comes into scratch[1], which is of another size");
}

TEST(NeighborProofTest, SwappedBlocks) {
  Case c(neighbor_torus, kTorus, {2, {0, 1, 1, 1}});
  std::swap(received(c.of(0), 1, 0), received(c.of(0), 1, 1));
  c.expect_wrong("comes into recv[1], which is of another size");
}

TEST(NeighborProofTest, SwappedBlocksOfAnAllgather) {
  Case c(neighbor_allgather_torus, kTorus, {2, {0, 1, 1, 1, 1, 0}});
  std::swap(received(c.of(0), 1, 0), received(c.of(0), 1, 1));
  c.expect_wrong("flow: at the end recv[0] of rank 0 holds", Pattern::allgather);
}

TEST(NeighborProofTest, OneEndForgetsABlock) {
  Case c(neighbor_torus, kMesh, moore(2, 1));
  Schedule& s = c.of(4);
  --s.messages[s.rounds[1].sends.first].spans.count;
  c.expect_wrong("matching: rank 4 sends");
}

TEST(NeighborProofTest, AMessageToOneself) {
  Case c(neighbor_straightforward, kTorus, {2, {0, 1}});
  c.of(4).messages[0].peer = 4;
  c.expect_wrong("which is not another rank");
}

TEST(NeighborProofTest, AnotherRanksBuffer) {
  Case c(neighbor_straightforward, kTorus, {2, {0, 0}});
  c.of(4).copies[0].from.owner = 3;
  c.expect_wrong("form: a rank reaches into another");
}

// Sends that wait for receives that come later, all round the ring.
TEST(NeighborProofTest, Deadlock) {
  const Grid grid{{3}, {true}};
  std::vector<Schedule> schedules;
  for (int me = 0; me < 3; ++me) {
    Builder b(me);
    b.begin_round();
    b.send((me + 1) % 3, Buffer::send, 0);
    b.begin_round();
    b.receive((me + 2) % 3, Buffer::recv, 0);
    schedules.push_back(b.take());
  }
  EXPECT_THAT(verify_neighbors(schedules, grid, {1, {1}}, Pattern::alltoall).what, HasSubstr("deadlock: "));
}

TEST(NeighborProofTest, AGraphThatIsNone) {
  const std::vector<std::vector<int>> sources = {{1}, {}}, destinations = {{}, {}};
  std::vector<Schedule> schedules(2);
  EXPECT_THAT(verify_graph(schedules, sources, destinations).what,
              HasSubstr("rank 0 names source 1, which has no edge to it"));
}

TEST(NeighborProofTest, EdgesInAnotherOrder) {
  const std::vector<std::vector<int>> sources = {{}, {0, 0}}, destinations = {{1, 1}, {}};
  std::vector<Schedule> schedules = {neighbor_direct(0, sources[0], destinations[0]),
                                     neighbor_direct(1, sources[1], destinations[1])};
  EXPECT_EQ(verify_graph(schedules, sources, destinations).what, "");
  std::swap(schedules[1].spans[0], schedules[1].spans[1]);
  EXPECT_THAT(verify_graph(schedules, sources, destinations).what,
              HasSubstr("flow: at the end recv[0] of rank 1 holds block 1 of rank 0"));
}

}  // namespace
}  // namespace quadrille::plan
