// Requests among each other and beside other calls: many in flight, completed in any order, over the end of their
// communicator, started again and again. What memory they take is counted.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "one_request.hpp"
#include "world.hpp"

namespace {
std::atomic<long> allocations{0}, mappings{0}, yields{0};
}

extern "C" {
void* __libc_malloc(std::size_t bytes);
// These stand before libc's for the whole process, Quadrille's library included, if they can be seen.
#pragma GCC visibility push(default)
void* malloc(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
int sched_yield() noexcept {
  yields.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(syscall(SYS_sched_yield));
}
void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  using Function = void*(void*, std::size_t, int, int, int, off_t);
  static auto* next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "mmap"));
  mappings.fetch_add(1, std::memory_order_relaxed);
  return next(address, bytes, protection, flags, file, offset);
}
#pragma GCC visibility pop
}

namespace quadrille::test {
namespace {

class Requests : public MpiTest {};

// More than there are lanes, on two communicators, completed in an order that each rank draws.
TEST_F(Requests, ManyUnderWayCompletedInAnyOrder) {
  Communicator other = duplicate("other");
  std::mt19937 random(static_cast<unsigned>(world().rank));
  for (int turn = 0; turn < repeats(40, 5); ++turn) {
    std::vector<One> all = several(MPI_COMM_WORLD, 11), more = several(other.comm, 7);
    for (One& one : all) one.fill(turn), one.start();
    for (One& one : more) one.fill(turn + 1), one.start();
    // Blocking calls on the same communicators, of Quadrille and of the MPI, and a message, beside them.
    One blocking(MPI_COMM_WORLD, 100, false);
    blocking.fill(turn + 2);
    blocking.call();
    std::vector<One*> left;
    for (One& one : all) left.push_back(&one);
    for (One& one : more) left.push_back(&one);
    std::shuffle(left.begin(), left.end(), random);
    for (One* one : left) {
      int flag = 0;
      if (random() % 2 == 0) {
        while (flag == 0) EXPECT_EQ(MPI_SUCCESS, Quadrille_Test(&one->request, &flag));
      } else {
        EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&one->request));
      }
      EXPECT_EQ(one->request, QUADRILLE_REQUEST_NULL);
      one->expect_right();
    }
  }
  release(other);
}

TEST_F(Requests, AnyAndAll) {
  for (int turn = 0; turn < repeats(40, 5); ++turn) {
    std::vector<One> all = several(MPI_COMM_WORLD, 9);
    std::vector<Quadrille_Request> handles;
    for (One& one : all) one.fill(turn), one.start(), handles.push_back(one.request);
    const int count = static_cast<int>(handles.size());
    int index = -1, flag = 0, completed = 0;
    for (; completed < 4; ++completed) {
      if (turn % 2 == 0) {
        EXPECT_EQ(MPI_SUCCESS, Quadrille_Waitany(count, handles.data(), &index));
      } else {
        for (flag = 0; flag == 0;) EXPECT_EQ(MPI_SUCCESS, Quadrille_Testany(count, handles.data(), &index, &flag));
      }
      ASSERT_TRUE(index >= 0 && index < count);
      EXPECT_EQ(handles[static_cast<std::size_t>(index)], QUADRILLE_REQUEST_NULL);
      all[static_cast<std::size_t>(index)].expect_right();
    }
    if (turn % 3 == 0) {
      for (flag = 0; flag == 0;) EXPECT_EQ(MPI_SUCCESS, Quadrille_Testall(count, handles.data(), &flag));
    } else {
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Waitall(count, handles.data()));
    }
    for (const One& one : all) one.expect_right();
    for (const Quadrille_Request handle : handles) EXPECT_EQ(handle, QUADRILLE_REQUEST_NULL);
    // None is active now.
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Waitany(count, handles.data(), &index));
    EXPECT_EQ(index, MPI_UNDEFINED);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Testany(count, handles.data(), &index, &flag));
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Testall(count, handles.data(), &flag));
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Waitall(0, nullptr));
  }
}

TEST_F(Requests, StartedTogether) {
  std::vector<One> all = several(MPI_COMM_WORLD, 5);
  std::vector<Quadrille_Request> handles;
  for (One& one : all) one.make_persistent(), handles.push_back(one.request);
  for (int turn = 0; turn < repeats(100, 10); ++turn) {
    for (One& one : all) one.fill(turn);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Startall(5, handles.data()));
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Waitall(5, handles.data()));
    for (const One& one : all) one.expect_right();
  }
  for (Quadrille_Request& handle : handles) EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&handle));
}

TEST_F(Requests, OutliveTheirCommunicator) {
  for (int turn = 0; turn < repeats(20, 4); ++turn) {
    Communicator short_lived = duplicate("short");
    std::vector<One> all = several(short_lived.comm, 9);
    for (One& one : all) one.fill(turn), one.start();
    MPI_Comm_free(&short_lived.comm);
    for (auto one = all.rbegin(); one != all.rend(); ++one) one->complete();
  }
}

TEST_F(Requests, StartedAHundredThousandTimes) {
  One one(MPI_COMM_WORLD, 2, false);
  one.make_persistent();
  const int turns = world().size <= 2 ? repeats(100'000, 2000) : repeats(5000, 200);
  for (int turn = 0; turn < turns; ++turn) {
    one.fill(turn);
    ASSERT_EQ(MPI_SUCCESS, Quadrille_Start(&one.request));
    ASSERT_EQ(MPI_SUCCESS, Quadrille_Wait(&one.request));
    one.expect_right();
  }
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&one.request));
}

// The MPI takes memory for messages as it likes, so this is of rings.
TEST_F(Requests, APersistentStartTakesNoMemory) {
  if (world().size == 1 || !on_one_node() || std::getenv("QUADRILLE") != nullptr) {
    GTEST_SKIP() << "needs ranks of one node, and Quadrille";
  }
  std::vector<One> all = several(MPI_COMM_WORLD, 5);
  for (One& one : all) one.make_persistent();
  for (int turn = 0; turn < 30; ++turn) {
    for (One& one : all) one.fill(turn);
    const long before = allocations.load() + mappings.load();
    int errors = 0;
    for (One& one : all) errors += Quadrille_Start(&one.request) != MPI_SUCCESS;
    const long started = allocations.load() + mappings.load();
    for (One& one : all) errors += Quadrille_Wait(&one.request) != MPI_SUCCESS;
    EXPECT_EQ(errors, 0);
    if (turn >= 2) {
      EXPECT_EQ(started - before, 0) << "turn " << turn;
    }
    for (const One& one : all) one.expect_right();
  }
  EXPECT_GT(allocations.load(), 0) << "nothing is counted";
  EXPECT_GT(mappings.load(), 0) << "nothing is counted";
  for (One& one : all) EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&one.request));
}

// Also with the first call on a communicator, which is made before anything is known of who shares a processor.
TEST_F(Requests, AFirstOneLetsOthersRun) {
  cpu_set_t mine, all;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  if (world().size <= CPU_COUNT(&all) || !on_one_node() || std::getenv("QUADRILLE") != nullptr) {
    GTEST_SKIP() << "needs more ranks of a node than processors, and Quadrille";
  }
  Communicator fresh = duplicate("fresh");
  One one(fresh.comm, 4, false);
  one.make_persistent();
  one.fill(1);
  constexpr int looks = 8;
  if (fresh.rank != 0) {
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&one.request));
    const long before = yields.load();
    int flag = 0, found = 0;
    for (int look = 0; look < looks; ++look) {
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Test(&one.request, &flag));
      found += flag;
    }
    EXPECT_EQ(found, 0) << "rank 0 has not started";
    EXPECT_GE(yields.load() - before, looks);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (fresh.rank == 0) {
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&one.request));
  }
  one.complete();
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&one.request));
  release(fresh);
}

// Does the MPI call Quadrille where it waits (docs/requests.md)? By the standard's ABI none can.
bool mpi_helps() {
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
  return true;
#else
  return false;
#endif
}

// Rank 0 needs the others' part of a large call before it comes to what they wait for, each in its own order.
TEST_F(Requests, GoOnWhileARankWaitsInAnotherCall) {
  if (!mpi_helps()) GTEST_SKIP() << "needs an MPI that calls Quadrille where it waits";
  enum class Next { another_communicator, exchange };
  for (const Next next : {Next::another_communicator, Next::exchange}) {
    Communicator other = duplicate("other");
    One one(MPI_COMM_WORLD, 40'000, false);
    one.fill(8);
    one.start();  // the first one waits for all ranks
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&one.request));
    one.fill(static_cast<int>(next));
    const auto call_next = [&] {
      One on_other(other.comm, 3, false);
      if (next == Next::exchange) {
        Quadrille_Received received{};
        EXPECT_EQ(MPI_SUCCESS,
                  Quadrille_Exchange(nullptr, 0, nullptr, nullptr, nullptr, MPI_INT, MPI_INT, other.comm, &received));
        Quadrille_Received_free(&received);
        return;
      }
      on_other.fill(5);
      on_other.call();
    };
    if (next == Next::exchange) call_next();  // ready
    if (world().rank == 0) {
      for (int peer = 1; peer < world().size; ++peer) {
        MPI_Recv(nullptr, 0, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      one.start();
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&one.request));
      call_next();
    } else {
      one.start();
      MPI_Send(nullptr, 0, MPI_INT, 0, 7, MPI_COMM_WORLD);
      call_next();
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&one.request));
    }
    one.expect_right();
    release(other);
  }
}

// More than there are lanes: the last ones have not begun when the others wait in the MPI.
TEST_F(Requests, ManyLikeThoseBeforeGoOnWhileRanksWaitInTheMpi) {
  if (!mpi_helps()) GTEST_SKIP() << "needs an MPI that calls Quadrille where it waits";
  std::vector<One> all;
  for (int k = 0; k < 12; ++k) all.emplace_back(MPI_COMM_WORLD, 4, false);
  for (int turn = 0; turn < 3; ++turn) {
    int flag = 0;
    for (int look = 0; look < 600; ++look) {
      MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);  // until the MPI calls nobody any more
    }
    for (One& one : all) one.fill(turn), one.start();
    if (world().rank != 0) MPI_Recv(nullptr, 0, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (One& one : all) one.complete();
    for (int peer = 1; world().rank == 0 && peer < world().size; ++peer) {
      MPI_Send(nullptr, 0, MPI_INT, peer, 8, MPI_COMM_WORLD);
    }
  }
}

// A type whose blocks have no elements need not be a type any more when the call is started.
TEST_F(Requests, TypesOfEmptyBlocksMayBeFreed) {
  const int size = world().size, me = world().rank;
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<MPI_Datatype> types(ranks);
  std::vector<int> counts(ranks), at(ranks);
  for (int peer = 0; peer < size; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    MPI_Type_vector(2, 1, 2, MPI_INT, &types[p]);
    MPI_Type_commit(&types[p]);
    counts[p] = (me + peer) % 2;
    at[p] = 4 * peer * static_cast<int>(sizeof(int));
  }
  std::vector<int> sent(4 * ranks), got(4 * ranks);
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  EXPECT_EQ(MPI_SUCCESS,
            Quadrille_Alltoallw_init(sent.data(), counts.data(), at.data(), types.data(), got.data(), counts.data(),
                                     at.data(), types.data(), MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  for (int turn = 0; turn < 3; ++turn) {
    std::fill(sent.begin(), sent.end(), 100 * me + turn);
    std::fill(got.begin(), got.end(), -1);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&request));
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&request));
    for (int peer = 0; peer < size; ++peer) {
      const auto first = static_cast<std::size_t>(4 * peer);
      EXPECT_EQ(got[first], counts[static_cast<std::size_t>(peer)] == 1 ? 100 * peer + turn : -1);
      EXPECT_EQ(got[first + 1], -1);
    }
  }
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&request));
}

TEST_F(Requests, WrongUse) {
  Communicator mine = duplicate("mine");
  MPI_Comm_set_errhandler(mine.comm, MPI_ERRORS_RETURN);
  One one(mine.comm, 50, false);
  int flag = 0, index = 0;
  one.fill(1);
  one.start();
  EXPECT_EQ(error_class(Quadrille_Start(&one.request)), MPI_ERR_REQUEST);  // of a nonblocking call
  EXPECT_EQ(error_class(Quadrille_Request_free(&one.request)), MPI_ERR_REQUEST);
  one.complete();
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&one.request));  // null by now
  EXPECT_EQ(error_class(Quadrille_Testall(-1, &one.request, &flag)), MPI_ERR_ARG);
  EXPECT_EQ(error_class(Quadrille_Waitall(1, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(error_class(Quadrille_Waitany(1, &one.request, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(error_class(Quadrille_Testany(1, &one.request, &index, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(error_class(Quadrille_Startall(1, &one.request)), MPI_ERR_REQUEST);
  EXPECT_EQ(
      error_class(Quadrille_Ialltoall(one.sent.data(), 1, MPI_INT, one.got.data(), 1, MPI_INT, mine.comm, nullptr)),
      MPI_ERR_ARG);
  EXPECT_EQ(error_class(Quadrille_Alltoall_init(one.sent.data(), -1, MPI_INT, one.got.data(), -1, MPI_INT, mine.comm,
                                                MPI_INFO_NULL, &one.request)),
            MPI_ERR_ARG);
  EXPECT_EQ(one.request, QUADRILLE_REQUEST_NULL);
  release(mine);
}

}  // namespace
}  // namespace quadrille::test
