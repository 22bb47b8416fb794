// Nonblocking calls on communicators on which the program calls nothing else: what they need comes in a broadcast that
// nobody waits for. All ranks share a node.
#include <algorithm>
#include <memory>
#include <vector>

#include "named_functions.hpp"
#include "taken_door.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

constexpr int late_tag = 9;

int number(int from, int to, int turn, int i) { return ((from * 37 + to) * 1009 + turn) * 7 + i; }

MPI_Comm named(MPI_Comm comm, const char* name) {
  MPI_Comm_set_name(comm, name);
  return comm;
}
MPI_Comm duplicate_of_world(const char* name) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return named(comm, name);
}

// MPI_Ialltoallv with blocks of so many ints, between all ranks or between those to the left and the right.
struct Swap {
  MPI_Comm comm;
  bool ring;
  int me = 0, turn, blocks = 0, count;
  std::vector<int> to, from, counts, displacements, sent, got;
  std::vector<MPI_Datatype> types;
  MPI_Request request = MPI_REQUEST_NULL;

  Swap(MPI_Comm on, int ints, int now, bool on_ring = false) : comm(on), ring(on_ring), turn(now), count(ints) {
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &blocks);
    if (ring) {
      to = {(me + 1) % blocks, (me + blocks - 1) % blocks}, from = {to[1], to[0]};
      blocks = 2;
    } else {
      for (int r = 0; r < blocks; ++r) to.push_back(r), from.push_back(r);
    }
    for (int b = 0; b < blocks; ++b) counts.push_back(count), displacements.push_back(b * count);
    for (const int rank : to) {
      for (int i = 0; i < count; ++i) sent.push_back(number(me, rank, turn, i));
    }
    got.assign(sent.size(), -1);
  }
  Swap(const Swap&) = delete;
  Swap& operator=(const Swap&) = delete;

  void start() {
    if (ring) {
      EXPECT_EQ(MPI_SUCCESS,
                MPI_Ineighbor_alltoallv(sent.data(), counts.data(), displacements.data(), MPI_INT, got.data(),
                                        counts.data(), displacements.data(), MPI_INT, comm, &request));
    } else {
      EXPECT_EQ(MPI_SUCCESS, MPI_Ialltoallv(sent.data(), counts.data(), displacements.data(), MPI_INT, got.data(),
                                            counts.data(), displacements.data(), MPI_INT, comm, &request));
    }
  }
  void finish() {
    EXPECT_EQ(MPI_SUCCESS, complete_in_turn(&request));
    int wrong = 0;
    for (int b = 0; b < blocks; ++b) {
      for (int i = 0; i < count; ++i) {
        wrong += got[static_cast<std::size_t>(b * count + i)] != number(from[static_cast<std::size_t>(b)], me, turn, i);
      }
    }
    EXPECT_EQ(wrong, 0) << "in turn " << turn << " with blocks of " << count;
  }
};
using Swaps = std::vector<std::unique_ptr<Swap>>;

constexpr int small = 2, large = 40'000;

class Apart : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (world().size == 1) GTEST_SKIP() << "one rank waits for nobody";
  }
};

TEST_F(Apart, IsServedWithoutAnyOtherCall) {
  MPI_Comm comm = duplicate_of_world("nothing else");
  for (int turn = 0; turn < 40; ++turn) {
    Swap exchange(comm, turn % 3 == 0 ? large : small, turn);
    exchange.start();
    exchange.finish();
  }
  MPI_Comm_free(&comm);
}

// No function that starts a call waits: who comes late does not even know of it.
TEST_F(Apart, DoesNotWaitInAStart) {
  const int last = world().size - 1;
  MPI_Comm comm = duplicate_of_world("late");
  for (int turn = 0; turn < 12; ++turn) {
    Swap exchange(comm, turn % 2 == 0 ? small : large, turn);
    int unused = 0;
    if (world().rank == last) {
      for (int r = 0; r < last; ++r) MPI_Recv(&unused, 1, MPI_INT, r, late_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      exchange.start();
    } else {
      exchange.start();
      MPI_Ssend(&unused, 1, MPI_INT, last, late_tag, MPI_COMM_WORLD);
    }
    exchange.finish();
  }
  MPI_Comm_free(&comm);
}

// Also rank 0, which tells the others, may come last.
TEST_F(Apart, ManyAreStartedBeforeAnybodyLooks) {
  for (const int late : {0, world().size - 1}) {
    MPI_Comm comm = duplicate_of_world("many");
    Swaps all;
    int unused = 0;
    if (world().rank == late) {
      for (int r = 0; r < world().size - 1; ++r)
        MPI_Recv(&unused, 1, MPI_INT, MPI_ANY_SOURCE, late_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int turn = 0; turn < 14; ++turn) {
      all.push_back(std::make_unique<Swap>(comm, turn % 2 == 0 ? small : large, turn));
      all.back()->start();
    }
    if (world().rank != late) MPI_Send(&unused, 1, MPI_INT, late, late_tag, MPI_COMM_WORLD);
    for (std::size_t k = 0; k < all.size(); ++k)
      all[(k * 5 + static_cast<std::size_t>(world().rank)) % all.size()]->finish();
    MPI_Comm_free(&comm);
  }
}

TEST_F(Apart, NeighboursAreServed) {
  const int me = world().rank, size = world().size;
  const int around[] = {(me + 1) % size, (me + size - 1) % size}, against[] = {around[1], around[0]};
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, against, MPI_UNWEIGHTED, 2, around, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &comm);
  named(comm, "graph");
  if (size > 2) {  // with two, left and right are one process, and the order of edges decides
    for (int turn = 0; turn < 20; ++turn) {
      Swaps two;
      for (int k = 0; k < 2; ++k) {
        two.push_back(std::make_unique<Swap>(comm, k == 0 ? large : small, turn, true));
        two.back()->start();
      }
      two[1]->finish(), two[0]->finish();
    }
  }
  MPI_Comm_free(&comm);
}

// The program may free its types, and blocking calls, persistent ones and the end of the communicator come right after.
TEST_F(Apart, OtherThingsFollowAtOnce) {
  for (int begin = 1; begin < 8; ++begin) {
    for (int what = 0; what < 4; ++what) {
      MPI_Comm comm = duplicate_of_world("at once");
      const int ranks = world().size;
      std::vector<int> sent(static_cast<std::size_t>(3 * ranks)), all(static_cast<std::size_t>(ranks));
      struct One {
        std::vector<int> got;
        MPI_Request request = MPI_REQUEST_NULL;
      };
      std::vector<One> calls(static_cast<std::size_t>(begin));
      for (int r = 0; r < ranks; ++r) sent[static_cast<std::size_t>(3 * r)] = number(world().rank, r, what, 0);
      for (One& one : calls) {
        one.got.assign(sent.size(), -1);
        MPI_Datatype spread;
        MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spread);
        MPI_Type_commit(&spread);
        MPI_Ialltoall(sent.data(), 1, spread, one.got.data(), 1, spread, comm, &one.request);
        MPI_Type_free(&spread);
      }
      if (what == 0) {
        MPI_Allgather(&world().rank, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
        for (int r = 0; r < ranks; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], r);
      } else if (what == 1) {
        MPI_Comm_free(&comm);
      } else if (what == 3 && allgather_init() != nullptr) {
        MPI_Request persistent;
        allgather_init()(&world().rank, 1, MPI_INT, all.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &persistent);
        for (int start = 0; start < 2; ++start) {
          std::fill(all.begin(), all.end(), -1);
          MPI_Start(&persistent);
          EXPECT_EQ(MPI_SUCCESS, complete_in_turn(&persistent));
          for (int r = 0; r < ranks; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], r);
        }
        MPI_Request_free(&persistent);
      } else if (what == 2) {
        int sum = 0;
        MPI_Allreduce(&world().rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        EXPECT_EQ(sum, ranks * (ranks - 1) / 2);
      }
      for (One& one : calls) {
        EXPECT_EQ(MPI_SUCCESS, complete_in_turn(&one.request));
        for (int r = 0; r < ranks; ++r) {
          EXPECT_EQ(one.got[static_cast<std::size_t>(3 * r)], number(r, world().rank, what, 0));
          EXPECT_EQ(one.got[static_cast<std::size_t>(3 * r + 1)], -1);
        }
      }
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
  }
}

// More communicators than there is shared memory for. Those without any are served by messages, beside each other.
TEST_F(Apart, SharedMemoryRunsOut) {
  constexpr int most = 300;
  std::vector<MPI_Comm> comms;
  Swaps under_way;
  for (int k = 0; k < most; ++k) {
    comms.push_back(duplicate_of_world("one of many"));
    for (int turn = 0; turn < 5; ++turn) {
      under_way.push_back(std::make_unique<Swap>(comms.back(), small + turn, 10 * k + turn));
      under_way.back()->start();
      if (under_way.size() < 9) continue;
      for (auto& one : under_way) one->finish();
      under_way.clear();
    }
  }
  for (auto& one : under_way) one->finish();
  // In place, which the others' in messages must leave alone; two at a time.
  for (int turn = 0; turn < 6; ++turn) {
    const int ranks = world().size, me = world().rank;
    std::vector<std::vector<int>> blocks(2, std::vector<int>(static_cast<std::size_t>(ranks)));
    MPI_Request requests[2];
    for (std::size_t k = 0; k < 2; ++k) {
      for (int r = 0; r < ranks; ++r) blocks[k][static_cast<std::size_t>(r)] = number(me, r, turn, static_cast<int>(k));
      MPI_Ialltoall(MPI_IN_PLACE, 1, MPI_INT, blocks[k].data(), 1, MPI_INT, comms[comms.size() - 1 - k], &requests[k]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (std::size_t k = 0; k < 2; ++k) {
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(blocks[k][static_cast<std::size_t>(r)], number(r, me, turn, static_cast<int>(k)));
      }
    }
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace quadrille::test
