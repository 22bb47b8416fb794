// Every small grid: extents of 1 to 4 in 1 to 4 dimensions, each dimension periodic or not, as far as there are ranks.
// In a periodic dimension of one or two processes both neighbours are the same process, and each block must land in
// its own slot. What comes is held to the definition, and so is what the MPI's own function makes of it.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "neighbors.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

// Beside what is chosen, which is rings inside a node. An odd number: the grids of one shape come one after the other.
constexpr const char* grid_algorithms[] = {"torus", "torus-direct", "basis",    "direct",    "straightforward:ports=0",
                                           "sh-co", "torus:pack=0", "sh-naive", "sh-numa-co"};

// MPICH sends both blocks to one process with one tag, down and then up, and takes the first for the one from below.
// The definition, MPI 4.1, section 8.6, wants there what goes up.
bool mpi_is_right([[maybe_unused]] const TestGrid& grid) {
#if !defined(OPEN_MPI)
  for (std::size_t d = 0; d < grid.extents.size(); ++d) {
    if (grid.periodic[d] && grid.extents[d] <= 2) return false;
  }
#endif
  return true;
}

// MPICH takes ten times as long where ranks share processors: there every third grid of more than four.
std::size_t every([[maybe_unused]] int ranks) {
#if !defined(OPEN_MPI)
  if (ranks > 4) return 3;
#endif
  return 1;
}

class Grids : public MpiTest {
 protected:
  void expect_on(const Topology& t, const Door& door, bool with_sizes) {
    for (const Collective c : neighbor_collectives) {
      if (!is_regular(c) && !with_sizes) continue;
      expect_good(
          check({c, ++seed_ % 2 == 0 ? same("int") : between("two-records", "record"), 40, false, seed_}, t, door));
    }
  }

  // As it is chosen, with one of the algorithms in turn, and by the MPI. Through the drop-in door as it is chosen.
  void expect_grid(const TestGrid& grid, MPI_Comm of, std::size_t turn) {
    Topology t = cartesian(grid, of);
    const bool with_sizes = turn % 7 == 0;
    seed_ = turn * 100;
    expect_on(t, tested, with_sizes);
    if (can_force) {
      const char* const name = grid_algorithms[turn % std::size(grid_algorithms)];
      for (const Collective c : neighbor_collectives) EXPECT_EQ(force(t.where.comm, c, name), MPI_SUCCESS);
      t.name += std::string(" by ") + name;
      expect_on(t, tested, with_sizes);
    }
    if (can_force && mpi_is_right(grid)) {
      t.name += " and by the MPI";
      expect_on(t, native(), with_sizes);
    }
    release(t.where);
  }

  std::uint64_t seed_ = 0;
};

// Ranks that are too many for one grid make several at the same time.
TEST_F(Grids, EachBlockLandsInItsSlot) {
  const int me = world().rank, size = world().size;
  std::size_t all = 0;
  // Open MPI 4.1 delivers wrong bytes in nonblocking and persistent calls of one rank, which go to it.
  const char* const least = std::getenv("QUADRILLE_TEST_LEAST_GRID");
  for (int ranks = least == nullptr ? 1 : std::atoi(least); ranks <= size; ++ranks) {
    const std::vector<TestGrid> grids = grids_of(ranks, 4);
    const int groups = size / ranks, group = me / ranks;
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, group < groups ? group : MPI_UNDEFINED, me, &part);
    int next = 0;
    for (std::size_t i = 0; i < grids.size(); i += every(ranks)) {
      const bool mine = next++ % groups == group;
      if (mine && part != MPI_COMM_NULL) expect_grid(grids[i], part, all + i);
    }
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
    all += grids.size();
  }
  if (size == 16) {
    EXPECT_EQ(all, 1984u) << "grids";
  }
}

}  // namespace
}  // namespace quadrille::test
