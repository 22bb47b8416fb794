// The rows and columns of a grid of processes, as the transposes of an FFT have them, on node maps of MPI_COMM_WORLD:
// each communicator has the nodes of its ranks, and calls on it are served and right. 8 ranks (2 x 4) or 12 (3 x 4), on
// one host or, without another map, on several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "abi/native.hpp"
#include "choices.hpp"
#include "exchange.hpp"
#include "quadrille.h"
#include "team/team.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

using testing::ElementsAreArray;

using Nodes = std::vector<int>;
constexpr int wide = 4;  // ranks of a row

// The node of each rank of MPI_COMM_WORLD, written out.
const std::map<std::string, std::map<int, Nodes>>& maps() {
  static const std::map<std::string, std::map<int, Nodes>> all = {
      {"", {{8, {0, 0, 0, 0, 0, 0, 0, 0}}, {12, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}},
      {"blocked:1", {{8, {0, 1, 2, 3, 4, 5, 6, 7}}}},
      {"blocked:2", {{8, {0, 0, 1, 1, 2, 2, 3, 3}}, {12, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}}}},
      {"blocked:3", {{12, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}}}},
      {"blocked:4", {{8, {0, 0, 0, 0, 1, 1, 1, 1}}, {12, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}}}},
      {"roundrobin:4", {{8, {0, 1, 2, 3, 0, 1, 2, 3}}, {12, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}}}},
      {"ragged:3,5", {{8, {0, 0, 0, 1, 1, 1, 1, 1}}, {12, {0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3}}}},
      {"permuted:7", {{8, {0, 0, 1, 0, 2, 2, 2, 0}}}},
  };
  return all;
}

// On several hosts: where they are, by the names of the hosts.
Nodes nodes_by_host() {
  constexpr int most = MPI_MAX_PROCESSOR_NAME;
  std::vector<char> mine(most), names(static_cast<std::size_t>(world().size) * most);
  int length = 0;
  MPI_Get_processor_name(mine.data(), &length);
  MPI_Allgather(mine.data(), most, MPI_CHAR, names.data(), most, MPI_CHAR, MPI_COMM_WORLD);
  std::map<std::string, int> numbers;
  Nodes nodes;
  for (int rank = 0; rank < world().size; ++rank) {
    const std::string name = names.data() + static_cast<std::size_t>(rank) * most;
    nodes.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  }
  return nodes;
}

// What the ranks of a communicator must have: the nodes of `world`, numbered as they are met.
Nodes nodes_among(const Nodes& all, const std::vector<int>& ranks) {
  Nodes nodes;
  std::map<int, int> numbers;
  for (const int rank : ranks) {
    const int label = all[static_cast<std::size_t>(rank)];
    nodes.push_back(numbers.try_emplace(label, static_cast<int>(numbers.size())).first->second);
  }
  return nodes;
}

struct Grid {
  MPI_Comm all = MPI_COMM_NULL, row = MPI_COMM_NULL, column = MPI_COMM_NULL;
  std::vector<int> row_ranks, column_ranks;  // in MPI_COMM_WORLD
};

Grid make_grid() {
  Grid grid;
  const int high = world().size / wide;
  const int extents[] = {high, wide}, periods[] = {0, 0}, along_row[] = {0, 1}, along_column[] = {1, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &grid.all);
  MPI_Cart_sub(grid.all, along_row, &grid.row);
  MPI_Cart_sub(grid.all, along_column, &grid.column);
  for (int j = 0; j < wide; ++j) grid.row_ranks.push_back(world().rank / wide * wide + j);
  for (int i = 0; i < high; ++i) grid.column_ranks.push_back(i * wide + world().rank % wide);
  return grid;
}

class GridNodes : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    const char* const text = std::getenv("QUADRILLE_NODES");
    const std::string name = text == nullptr ? "" : text;
    const bool known = maps().contains(name) && maps().at(name).contains(world().size);
    ASSERT_TRUE(known) << "no grid of " << world().size << " ranks for " << name;
    nodes_ = text == nullptr ? nodes_by_host() : maps().at(name).at(world().size);
    grid_ = make_grid();
  }
  void TearDown() override {
    MPI_Comm_free(&grid_.row);
    MPI_Comm_free(&grid_.column);
    MPI_Comm_free(&grid_.all);
    MpiTest::TearDown();
  }
  Nodes nodes_;
  Grid grid_;
};

constexpr Collective dense[] = {Collective::alltoall, Collective::alltoallv, Collective::alltoallw,
                                Collective::allgather, Collective::allgatherv};

// A call of each collective with small and with large blocks, from rank to rank and in place.
void call_all(const Communicator& on) {
  for (const Collective collective : dense) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}, std::size_t{40000}}) {
      for (const bool in_place : {false, true}) {
        Shape shape{collective, same("int"), bytes, in_place};
        if (!is_sized(collective)) shape.pattern = Pattern::random, shape.layout = Layout::shuffled;
        expect_good(check(shape, on, false));
      }
    }
  }
}

std::uint64_t passed(MPI_Comm comm) { return team::team_of(abi::comm(comm))->counted.counters.all_passed(); }

void expect_nodes(MPI_Comm comm, const Nodes& expected) {
  const team::Team* const team = team::team_of(abi::comm(comm));
  ASSERT_NE(team, nullptr);
  ASSERT_TRUE(team->ready()) << text::words_of({team->why_not});
  EXPECT_THAT(team->nodes.node_of, ElementsAreArray(expected));
}

TEST_F(GridNodes, EachCommunicatorHasThoseOfItsRanks) {
  const Communicator row = describe("row", grid_.row), column = describe("column", grid_.column);
  call_all(row);
  call_all(column);
  expect_nodes(grid_.row, nodes_among(nodes_, grid_.row_ranks));
  expect_nodes(grid_.column, nodes_among(nodes_, grid_.column_ranks));
}

// Ranks in another order, and fewer than a row has.
TEST_F(GridNodes, SoHaveRanksInAnyOrder) {
  MPI_Comm half;
  const int me = world().rank;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
  call_all(describe("half", half));
  std::vector<int> ranks;
  for (int rank = world().size - 1; rank >= 0; --rank) {
    if (rank % 2 == me % 2) ranks.push_back(rank);
  }
  expect_nodes(half, nodes_among(nodes_, ranks));
  MPI_Comm_free(&half);
}

// Of another world of numbers: the two halves of the ranks as two groups.
TEST_F(GridNodes, AnIntercommunicatorGoesToTheMpi) {
  MPI_Comm half, both;
  const int me = world().rank, size = world().size;
  MPI_Comm_split(MPI_COMM_WORLD, me < size / 2, me, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me < size / 2 ? size / 2 : 0, 5, &both);
  std::vector<int> sent(static_cast<std::size_t>(size / 2), me), came(sent.size());
  Quadrille_Alltoall(sent.data(), 1, MPI_INT, came.data(), 1, MPI_INT, both);
  for (int r = 0; r < size / 2; ++r) EXPECT_EQ(came[static_cast<std::size_t>(r)], r + (me < size / 2 ? size / 2 : 0));
  EXPECT_FALSE(team::team_of(abi::comm(both))->eligible());
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

TEST_F(GridNodes, ForcedAlgorithmsServeRowsAndColumns) {
  for (const char* const name : {"single-copy", "leaders", "leaders:leaders=2", "hint-hilbert", "hint-network",
                                 "hint-network:exchange=spread-out,order=row", "hint-network:exchange=bruck",
                                 "hint-network:exchange=two-phase-bruck", "hint-hilbert-square", "spread-out"}) {
    for (MPI_Comm comm : {grid_.row, grid_.column}) {
      for (const Collective collective : dense) {
        choose::Choice choice;
        if (!choose::parse_choice(collective, name, choice).empty()) continue;  // not of the v and w forms
        const std::string of(name_of(collective));
        EXPECT_EQ(Quadrille_Set_algorithm(comm, of.c_str(), name), MPI_SUCCESS) << of << " " << name;
      }
      call_all(describe(name, comm));
      EXPECT_EQ(passed(comm), 0u) << name;
    }
  }
}

}  // namespace
}  // namespace quadrille::test
