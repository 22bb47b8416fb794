// Neighbour collectives on Cartesian, graph and distributed graph communicators, through either door.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "neighbors.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

std::vector<Kinds> kinds_of(Collective collective) {
  std::vector<Kinds> kinds = {same("byte"), same("record"), between("record", "two-records"),
                              between("contiguous", "vector")};
  if (is_typed(collective)) kinds.push_back(mixed(Base::integer));
  return kinds;
}

void expect_served(const Topology& t, std::uint64_t seed, const Door& door) {
  for (const Collective c : neighbor_collectives) {
    const std::vector<Kinds> kinds = kinds_of(c);
    const std::size_t bytes[] = {8, 0, 1, 900, 20000};
    const NeighborShape shape = {c, kinds[mix(seed) % kinds.size()], bytes[mix(seed + 99) % 5], false, seed};
    expect_good(check(shape, t, door));
    ++seed;
  }
}

constexpr const char* algorithms[] = {
    "rings", "sh-naive", "sh-co", "sh-numa-co", "direct", "straightforward", "torus", "torus-direct:ports=0", "basis"};
constexpr int algorithm_count = 9;

// Forces none, then each algorithm in turn. With many ranks, which have many grids, four of them; of any nine grids one
// after the other each algorithm has four.
template <class Check>
void with_each_algorithm(const Topology& t, int turn, Check check_all) {
  check_all();
  if (!can_force) return;
  const int some = world().size > 4 ? 4 : algorithm_count;
  for (int i = 0; i < some; ++i) {
    const char* const name = algorithms[(turn * some + i) % algorithm_count];
    for (const Collective c : neighbor_collectives) EXPECT_EQ(force(t.where.comm, c, name), MPI_SUCCESS);
    check_all();
  }
}

class Neighbors : public MpiTest {};

TEST_F(Neighbors, OnEveryGrid) {
  std::uint64_t seed = 1;
  int turn = 0;
  for (const TestGrid& grid : grids_of(world().size)) {
    Topology t = cartesian(grid);
    with_each_algorithm(t, turn++, [&] {
      for (int i = 0; i < repeats(4); ++i) expect_served(t, seed += 5, tested);
    });
    release(t.where);
  }
}

TEST_F(Neighbors, OnRandomGraphs) {
  for (int shape : {0, 1}) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(repeats(20, 8)); ++seed) {
      Topology t = random_graph(shape, seed);
      for (int i = 0; i < 4; ++i) expect_served(t, 10 * seed + static_cast<std::uint64_t>(i) * 5, tested);
#if defined(OPEN_MPI)
      // The MPI thinks so too, or the definition here is wrong. MPICH mixes up several edges between two ranks.
      expect_served(t, 10 * seed + 3, native());
#endif
      release(t.where);
    }
  }
}

// A large block, and many calls, so that messages of one call could be taken for those of another.
TEST_F(Neighbors, ManyCallsAndLargeBlocks) {
  Topology t = cartesian(grids_of(world().size).back());
  for (const Collective c : neighbor_collectives) {
    for (int i = 0; i < repeats(200, 20); ++i) {
      expect_good(check({c, same("int"), 64, false, static_cast<std::uint64_t>(i)}, t, tested));
    }
    expect_good(check({c, between("vector", "int"), 3 << 20, false, 1}, t, tested));
  }
  release(t.where);
}

// Nothing comes back along a chain, so its head runs ahead, as far as it is let: also with blocks that the
// receiver reads from the sender's memory.
TEST_F(Neighbors, OneWayChainsMayRunAhead) {
  const int me = world().rank, size = world().size;
  const int up = me + 1 < size ? me + 1 : -1, down = me - 1;
  const int sources[] = {down}, destinations[] = {up};
  MPI_Comm chain;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, down >= 0 ? 1 : 0, sources, MPI_UNWEIGHTED, up >= 0 ? 1 : 0,
                                 destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &chain);
  for (const int count : {3, 5000, 100'000}) {
    std::vector<int> sent(static_cast<std::size_t>(count)), got(sent.size());
    for (int turn = 0; turn < repeats(count < 10 ? 400 : 40, 10); ++turn) {
      for (int i = 0; i < count; ++i) sent[static_cast<std::size_t>(i)] = me * 7919 + turn * 31 + i;
      EXPECT_EQ(MPI_SUCCESS, tested.neighbor_alltoall(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, chain));
      std::fill(sent.begin(), sent.end(), -1);
      int wrong = 0;
      for (int i = 0; down >= 0 && i < count; ++i) {
        wrong += got[static_cast<std::size_t>(i)] != down * 7919 + turn * 31 + i ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0) << count << " ints, turn " << turn;
    }
  }
  MPI_Comm_free(&chain);
}

// MPICH takes it as an end of a graph. Its blocks are gaps.
TEST_F(Neighbors, ProcNullIsNoNeighbour) {
#if defined(OPEN_MPI)
  GTEST_SKIP() << "the MPI's own calls die of it";
#endif
  const int me = world().rank, size = world().size;
  const int ends[] = {me > 0 ? me - 1 : MPI_PROC_NULL, me + 1 < size ? me + 1 : MPI_PROC_NULL};
  MPI_Comm chain;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, ends, MPI_UNWEIGHTED, 2, ends, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &chain);
  for (const int count : {1, 3000}) {
    std::vector<int> sent(static_cast<std::size_t>(2 * count)), got(sent.size());
    for (int turn = 0; turn < 30; ++turn) {  // the first are the MPI's
      std::fill(sent.begin(), sent.begin() + count, 2 * me + turn);
      std::fill(sent.begin() + count, sent.end(), 2 * me + 1 + turn);
      std::fill(got.begin(), got.end(), -1);
      EXPECT_EQ(MPI_SUCCESS, tested.neighbor_alltoall(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, chain));
      const int below = me > 0 ? 2 * (me - 1) + 1 + turn : -1, above = me + 1 < size ? 2 * (me + 1) + turn : -1;
      EXPECT_EQ(std::count(got.begin(), got.begin() + count, below), count) << turn;
      EXPECT_EQ(std::count(got.begin() + count, got.end(), above), count) << turn;
    }
  }
  MPI_Comm_free(&chain);
}

// Inside a node a block larger than its receiver expects is an error there, unless the MPI cuts it and says nothing,
// and the next call is as if nothing had happened; also if the block does not fit the ring, and if it stays in the
// sender's memory.
TEST_F(Neighbors, ALargerBlockThanExpectedIsAnErrorOnly) {
  // Between nodes it is a message, and the MPI's.
  if (!can_force || world().size < 2 || !on_one_node()) return;
  Topology t = cartesian(grids_of(world().size).front());
  EXPECT_EQ(force(t.where.comm, Collective::neighbor_alltoall, "rings"), MPI_SUCCESS);
  MPI_Comm_set_errhandler(t.where.comm, MPI_ERRORS_RETURN);
  const std::size_t edges = t.out.size();
  for (const int count : {8, 200'000}) {
    std::vector<char> sent(2 * edges * static_cast<std::size_t>(count), 's');
    std::vector<char> got(edges * static_cast<std::size_t>(count) + 1, 'g');
    const bool sends_more = world().rank == 0;
    const int status = tested.neighbor_alltoall(sent.data(), sends_more ? 2 * count : count, MPI_CHAR, got.data(),
                                                count, MPI_CHAR, t.where.comm);
    const bool from_first = std::any_of(t.in.begin(), t.in.end(), [](const Edge& e) { return e.peer == 0; });
    if (from_first && !sends_more) {
      int result = MPI_SUCCESS;
      MPI_Error_class(status, &result);
#if defined(OPEN_MPI)
      EXPECT_EQ(result, MPI_ERR_TRUNCATE) << count;
#else
      EXPECT_EQ(result, MPI_SUCCESS) << count;
#endif
    }
    EXPECT_EQ(got.back(), 'g') << "written past the end";
    expect_good(check({Collective::neighbor_alltoall, same("int"), 64, false, 5}, t, tested));
  }
  release(t.where);
}

// Displacements of the w form may be addresses; some ranks do so, others do not.
TEST_F(Neighbors, AddressesAsDisplacements) {
  for (const char* algorithm : {"", "direct", "rings"}) {
    Topology t = cartesian({{world().size}, {1}});
    if (can_force) {
      EXPECT_EQ(force(t.where.comm, Collective::neighbor_alltoallw, algorithm), MPI_SUCCESS);
    }
    const int me = t.where.rank, size = t.where.size;
    const int sent[2] = {me * 2, me * 2 + 1};
    int got[2] = {-1, -1};
    const bool absolute = me % 2 == 0;
    MPI_Aint from = 0, to = 0;
    MPI_Get_address(sent, &from);
    MPI_Get_address(got, &to);
    const int counts[] = {1, 1};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    const MPI_Aint step = sizeof(int);
    const MPI_Aint out[] = {absolute ? from : 0, absolute ? from + step : step};
    const MPI_Aint in[] = {absolute ? to : 0, absolute ? to + step : step};
    ASSERT_EQ(
        tested.neighbor_alltoallw(absolute ? MPI_BOTTOM : sent, counts, out, types,
                                  absolute ? MPI_BOTTOM : static_cast<void*>(got), counts, in, types, t.where.comm),
        MPI_SUCCESS);
    // With two ranks an MPI may mix up which of its two neighbours a block is from.
    if (size > 2 || (can_force && size == 2)) {
      EXPECT_EQ(got[0], (me + size - 1) % size * 2 + 1) << algorithm;
      EXPECT_EQ(got[1], (me + 1) % size * 2) << algorithm;
    }
    release(t.where);
  }
}

TEST_F(Neighbors, ErrorsReachTheUserAsFromTheMpi) {
  Topology t = cartesian(grids_of(world().size).back());
  Communicator plain = duplicate("plain");
  int buffer[64] = {};
  const auto error_class = [](int code) {
    int result = MPI_SUCCESS;
    MPI_Error_class(code, &result);
    return result;
  };
  const auto outcome = [&](const Door& d, int wrong) {
    switch (wrong) {
      case 0:
        return d.neighbor_alltoall(buffer, 1, MPI_INT, buffer + 32, 1, MPI_INT, plain.comm);
      case 1:
        return d.neighbor_alltoall(buffer, -1, MPI_INT, buffer + 32, -1, MPI_INT, t.where.comm);
      case 2:
        return d.neighbor_allgather(buffer, 1, MPI_DATATYPE_NULL, buffer + 32, 1, MPI_DATATYPE_NULL, t.where.comm);
      case 3:
        return d.neighbor_allgather(buffer, 1, MPI_INT, buffer + 32, -1, MPI_INT, t.where.comm);
      default:
        return d.neighbor_alltoall(buffer, 1, MPI_INT, buffer + 32, 1, MPI_INT, MPI_COMM_NULL);
    }
  };
  MPI_Comm_set_errhandler(t.where.comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(plain.comm, MPI_ERRORS_RETURN);
  for (int wrong = 0; wrong < 5; ++wrong) {
    const int theirs = error_class(outcome(native(), wrong));
    EXPECT_EQ(error_class(outcome(tested, wrong)), theirs) << wrong;
    EXPECT_NE(theirs, MPI_SUCCESS) << wrong << ": the MPI reports no error, the test is blind";
  }
  expect_good(check({Collective::neighbor_alltoall, same("int"), 8, false, 1}, t, tested));
  release(plain);
  release(t.where);
}

}  // namespace
}  // namespace quadrille::test
