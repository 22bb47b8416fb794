// The worked examples at the heads of the files of the neighbour algorithms.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "plan/neighborhood.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {
namespace {

std::string drawn(BuildNeighbors build, int extent, std::vector<int> offsets, int me) {
  const Grid grid{{extent, extent}, {true, true}};
  const Neighborhood n{2, std::move(offsets)};
  return draw(build({&grid, &n, me, {}}), me);
}

TEST(NeighborExampleTest, Straightforward) {
  EXPECT_EQ(drawn(neighbor_straightforward, 4, {0, 1, 1, 1, -1, -1}, 5), R"(scratch 0 blocks
round 0
  send  to 6: send[0]
  recv  from 4: recv[0]
round 1
  send  to 10: send[1]
  recv  from 0: recv[1]
round 2
  send  to 0: send[2]
  recv  from 10: recv[2]
)");
}

TEST(NeighborExampleTest, Torus) {
  EXPECT_EQ(drawn(neighbor_torus, 4, {0, 1, 1, 1, -1, -1}, 5), R"(scratch 3 blocks
round 0
  send  to 9: send[1]
  recv  from 1: scratch[1]
round 1
  send  to 1: send[2]
  recv  from 9: scratch[2]
round 2
  send  to 6: send[0], scratch[1]
  recv  from 4: recv[0..1]
round 3
  send  to 4: scratch[2]
  recv  from 6: recv[2]
)");
}

TEST(NeighborExampleTest, TorusDirect) {
  EXPECT_EQ(drawn(neighbor_torus_direct, 5, {0, 2, 2, 2, 2, -1}, 6), R"(scratch 3 blocks
round 0
  send  to 16: send[1..2]
  recv  from 21: scratch[1..2]
round 1
  send  to 8: send[0], scratch[1]
  recv  from 9: recv[0..1]
round 2
  send  to 5: scratch[2]
  recv  from 7: recv[2]
)");
}

TEST(NeighborExampleTest, AllgatherStraightforward) {
  EXPECT_EQ(drawn(neighbor_allgather_straightforward, 4, {0, 1, 1, 1, -1, -1}, 5),
            R"(scratch 0 blocks
round 0
  send  to 6: send[0]
  recv  from 4: recv[0]
round 1
  send  to 10: send[0]
  recv  from 0: recv[1]
round 2
  send  to 0: send[0]
  recv  from 10: recv[2]
)");
}

TEST(NeighborExampleTest, AllgatherTorus) {
  EXPECT_EQ(drawn(neighbor_allgather_torus, 4, {0, 1, 1, 1, 1, 0}, 5), R"(scratch 0 blocks
round 0
  send  to 9: send[0]
  recv  from 1: recv[2]
round 1
  send  to 6: send[0], recv[2]
  recv  from 4: recv[0..1]
)");
}

TEST(NeighborExampleTest, AllgatherTorusDirect) {
  EXPECT_EQ(drawn(neighbor_allgather_torus_direct, 5, {0, 2, 2, 2, 2, -1}, 6),
            R"(scratch 1 block
round 0
  send  to 16: send[0]
  recv  from 21: scratch[0]
round 1
  send  to 8: send[0], scratch[0]
  recv  from 9: recv[0..1]
round 2
  send  to 5: scratch[0]
  recv  from 7: recv[2]
)");
}

TEST(NeighborExampleTest, Direct) {
  const std::vector<int> sources = {1, 0, 1}, destinations = {2, 0};
  EXPECT_EQ(draw(neighbor_direct(0, sources, destinations), 0), R"(scratch 0 blocks
round 0
  copy  send[1] -> recv[1]
  send  to 2: send[0]
  recv  from 1: recv[0]
  recv  from 1: recv[2]
)");
}

}  // namespace
}  // namespace quadrille::plan
