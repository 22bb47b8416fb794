// Requests that the program gets from functions of the MPI's own names: that they go on while the program is elsewhere
// in the MPI, never seem complete before they are, and lie in lists beside requests of the MPI.
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ints_of_a_turn.hpp"
#include "named_functions.hpp"
#include "taken_door.hpp"
#include "world.hpp"

namespace quadrille::test {

namespace {

enum class Form { nonblocking, persistent };

struct Exchange : IntsOfATurn {
  Form form;
  MPI_Request request = MPI_REQUEST_NULL;

  Exchange(MPI_Comm on, int elements, Form how) : IntsOfATurn(on, elements, false), form(how) {
    if (form == Form::persistent) {
      EXPECT_EQ(MPI_SUCCESS, alltoall_init()(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm,
                                             MPI_INFO_NULL, &request));
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    if (form == Form::persistent) MPI_Request_free(&request);
  }
  void start(int now) {
    fill(now);
    if (form == Form::persistent) {
      EXPECT_EQ(MPI_SUCCESS, MPI_Start(&request));
    } else {
      EXPECT_EQ(MPI_SUCCESS, MPI_Ialltoall(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm, &request));
    }
  }
};

// Small blocks, some that go through rings several times, and large ones.
constexpr int counts[] = {1, 700, 40'000, 300'000};

struct Case {
  Form form;
  int count;
};
std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return (info.param.form == Form::persistent ? "persistent_" : "nonblocking_") + std::to_string(info.param.count);
}
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int count : counts) {
    all.push_back({Form::nonblocking, count});
    if (alltoall_init() != nullptr) all.push_back({Form::persistent, count});
  }
  return all;
}

class Taken : public MpiTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (world().size == 1) GTEST_SKIP() << "one rank waits for nobody";
  }
  // The first rank comes out of the exchange before it does what the others wait for in the MPI.
  template <class FirstThen, class OthersFirst>
  void expect_to_go_on(FirstThen first_then, OthersFirst others_first) {
    Exchange exchange(MPI_COMM_WORLD, GetParam().count, GetParam().form);
    for (int turn = 0; turn < repeats(40, 4); ++turn) {
      exchange.start(turn);
      if (world().rank == 0) {
        complete_in_turn(&exchange.request);
        first_then();
      } else {
        others_first();
        complete_in_turn(&exchange.request);
      }
      exchange.expect_right();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, Taken, testing::ValuesIn(cases()), name_of_case);

constexpr int tag = 7;

// Of MPICH: looks at a request, without going on with anything.
bool looks_complete(MPI_Request request, bool otherwise) {
  static auto* const look = reinterpret_cast<int (*)(MPI_Request)>(dlsym(RTLD_DEFAULT, "MPIX_Request_is_complete"));
  return look != nullptr ? look(request) != 0 : otherwise;
}

TEST_P(Taken, GoesOnInRecv) {
  expect_to_go_on(
      [] {
        for (int to = 1; to < world().size; ++to) MPI_Send(&to, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
      },
      [] {
        int number = -1;
        MPI_Recv(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(number, world().rank);
      });
}

TEST_P(Taken, GoesOnInProbe) {
  expect_to_go_on(
      [] {
        for (int to = 1; to < world().size; ++to) MPI_Send(&to, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
      },
      [] {
        int number = -1;
        MPI_Probe(0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      });
}

TEST_P(Taken, GoesOnInBarrier) {
  expect_to_go_on([] { MPI_Barrier(MPI_COMM_WORLD); }, [] { MPI_Barrier(MPI_COMM_WORLD); });
}

TEST_P(Taken, GoesOnInBcast) {
  int number = 1;
  const auto bcast = [&] { MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD); };
  expect_to_go_on(bcast, bcast);
}

TEST_P(Taken, GoesOnInWinFence) {
  int memory = 0;
  MPI_Win window;
  MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  const auto fence = [&] { MPI_Win_fence(0, window); };
  fence();
  expect_to_go_on(fence, fence);
  MPI_Win_free(&window);
}

// Whoever waits for messages of the MPI in a function that Quadrille does not see.
TEST_P(Taken, GoesOnInAWaitThatIsNotSeen) {
  expect_to_go_on(
      [] {
        for (int to = 1; to < world().size; ++to) MPI_Ssend(&to, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
      },
      [] {
        int number = -1;
        MPI_Request receive = MPI_REQUEST_NULL;
        MPI_Irecv(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &receive);
        QUADRILLE_UNSEEN(Wait)(&receive, MPI_STATUS_IGNORE);
      });
}

// The last rank comes late. Until then no function may say that the others have its data.
TEST_P(Taken, IsNotCompleteBeforeAPeerHasStarted) {
  Exchange exchange(MPI_COMM_WORLD, GetParam().count, GetParam().form);
  const int last = world().size - 1;
  for (int turn = 0; turn < repeats(12, 3); ++turn) {
    if (world().rank == last) {
      for (int from = 0; from < last; ++from) {
        int unused = 0;
        MPI_Recv(&unused, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      exchange.start(turn);
      complete_in_turn(&exchange.request);
    } else {
      exchange.start(turn);
      for (int look = 0; look < 200; ++look) {
        int flag = 0;
        MPI_Status status;
        (look % 2 == 0 ? &MPI_Request_get_status : QUADRILLE_UNSEEN(Request_get_status))(exchange.request, &flag,
                                                                                         &status);
        EXPECT_EQ(flag, 0);
        MPI_Testall(1, &exchange.request, &flag, &status);
        EXPECT_EQ(flag, 0);
        EXPECT_FALSE(looks_complete(exchange.request, false));
      }
      MPI_Send(&turn, 1, MPI_INT, last, tag, MPI_COMM_WORLD);
      complete_in_turn(&exchange.request);
    }
    exchange.expect_right();
  }
}

// Who only looks, and lets the MPI go on by other calls, sees the end as well. It is freed, or started again, only
// then.
TEST_P(Taken, IsSeenToBeComplete) {
  Exchange exchange(MPI_COMM_WORLD, GetParam().count, GetParam().form);
  for (int turn = 0; turn < repeats(12, 3); ++turn) {
    exchange.start(turn);
    int flag = 0;
    while (!looks_complete(exchange.request, flag != 0)) {
      MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
      QUADRILLE_UNSEEN(Request_get_status)(exchange.request, &flag, MPI_STATUS_IGNORE);
    }
    exchange.expect_right();  // before it is completed
    MPI_Status status;
    EXPECT_EQ(MPI_Request_get_status(exchange.request, &flag, &status), MPI_SUCCESS);
    EXPECT_NE(flag, 0);
    int cancelled = 1;
    MPI_Test_cancelled(&status, &cancelled);
    EXPECT_EQ(cancelled, 0);
    EXPECT_EQ(MPI_Wait(&exchange.request, &status), MPI_SUCCESS);
    EXPECT_EQ(exchange.request == MPI_REQUEST_NULL, exchange.form == Form::nonblocking);
  }
}

// Lists with requests of ours and of the MPI, null ones and persistent ones that are not active.
TEST_P(Taken, LiesInListsBesideOthers) {
  const int me = world().rank, size = world().size, right = (me + 1) % size, left = (me + size - 1) % size;
  Exchange one(MPI_COMM_WORLD, GetParam().count, GetParam().form), other(MPI_COMM_WORLD, 3, GetParam().form);
  Exchange idle(MPI_COMM_WORLD, 5, GetParam().form);
  for (int turn = 0; turn < repeats(30, 6); ++turn) {
    int out = 100 * me + turn, in = -1;
    MPI_Request list[6];
    MPI_Status statuses[6], found;
    MPI_Irecv(&in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &list[1]);
    MPI_Isend(&out, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &list[3]);
    one.start(turn), other.start(turn);
    list[0] = one.request, list[2] = MPI_REQUEST_NULL, list[4] = other.request, list[5] = idle.request;
    int left_over = 4, flag = 0;
    switch (turn % 5) {
      case 0:
        MPI_Waitall(6, list, statuses);
        break;
      case 1:
        while (flag == 0) MPI_Testall(6, list, &flag, statuses);
        break;
      case 2:
        for (int done = 0; done < 4; ++done) {
          int index = -1;
          MPI_Waitany(6, list, &index, &found);
          ASSERT_NE(index, MPI_UNDEFINED);
          statuses[index] = found;
        }
        break;
      case 3:
        while (left_over > 0) {
          int completed = 0, indices[6];
          MPI_Status some[6];
          MPI_Waitsome(6, list, &completed, indices, some);
          ASSERT_GT(completed, 0);
          for (int k = 0; k < completed; ++k) statuses[indices[k]] = some[k];
          left_over -= completed;
        }
        break;
      default:
        while (left_over > 0) {
          int index = -1;
          MPI_Testany(6, list, &index, &flag, &found);
          if (flag == 0) continue;
          ASSERT_NE(index, MPI_UNDEFINED);
          statuses[index] = found;
          --left_over;
        }
    }
    EXPECT_EQ(in, 100 * left + turn);
    EXPECT_EQ(statuses[1].MPI_SOURCE, left);
    EXPECT_EQ(statuses[1].MPI_TAG, tag);
    int bytes = -1;
    MPI_Get_count(&statuses[1], MPI_INT, &bytes);
    EXPECT_EQ(bytes, 1);
    MPI_Get_count(&statuses[0], MPI_BYTE, &bytes);
    EXPECT_EQ(bytes, 0);
    for (Exchange* of : {&one, &other}) {
      if (of->form == Form::nonblocking) {
        EXPECT_EQ(list[of == &one ? 0 : 4], MPI_REQUEST_NULL);
        of->request = MPI_REQUEST_NULL;
      }
      of->expect_right();
    }
    // Nothing is active any more.
    int index = 0, completed = 0, indices[6];
    MPI_Waitany(6, list, &index, &statuses[0]);
    EXPECT_EQ(index, MPI_UNDEFINED);
    MPI_Testsome(6, list, &completed, indices, statuses);
    EXPECT_EQ(completed, MPI_UNDEFINED);
  }
}

// Started in one order, completed in one that each rank draws, beside blocking calls; over the end of their
// communicator.
TEST_P(Taken, ManyAreUnderWay) {
  std::mt19937 random(static_cast<unsigned>(world().rank));
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  int unused = 0;
  std::vector<int> all(static_cast<std::size_t>(world().size));
  for (int turn = 0; turn < 3; ++turn) {  // asks for what nonblocking calls need, and makes it
    MPI_Request request;
    MPI_Iallgather(&unused, 1, MPI_INT, all.data(), 1, MPI_INT, other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allgather(&unused, 1, MPI_INT, all.data(), 1, MPI_INT, other);
  }
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int k = 0; k < 9; ++k) {
    exchanges.push_back(
        std::make_unique<Exchange>(k % 3 == 0 ? other : MPI_COMM_WORLD, 1 + k * GetParam().count / 8, GetParam().form));
  }
  for (int turn = 0; turn < repeats(10, 3); ++turn) {
    const bool last = turn + 1 >= repeats(10, 3);
    for (auto& one : exchanges) one->start(turn);
    MPI_Allgather(&unused, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    if (last) MPI_Comm_free(&other);
    std::vector<Exchange*> order;
    for (auto& one : exchanges) order.push_back(one.get());
    std::shuffle(order.begin(), order.end(), random);
    for (Exchange* one : order) {
      EXPECT_EQ(MPI_SUCCESS, complete_in_turn(&one->request));
      one->expect_right();
    }
  }
}

// The first nonblocking call on a communicator is the MPI's, which asks for what others need; a barrier makes it. No
// blocking call of an all-to-all is ever made. What is served is counted by the test's line of EXPLAIN: its name is in
// it.
TEST_P(Taken, IsReadyAfterABarrier) {
  if (GetParam().form == Form::persistent) return;
  for (const bool by_barrier : {true, false}) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, by_barrier ? "by barrier" : "by allreduce");
    Exchange exchange(comm, GetParam().count, Form::nonblocking);
    for (int turn = 0; turn < 40; ++turn) {
      exchange.start(turn);
      complete_in_turn(&exchange.request);
      exchange.expect_right();
      int one = 1, sum = 0;
      if (by_barrier) MPI_Barrier(comm);
      if (!by_barrier) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    MPI_Comm_free(&comm);
  }
}

TEST_P(Taken, CannotBeCancelledOrFreedWhileItIsActive) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Exchange exchange(MPI_COMM_WORLD, GetParam().count, GetParam().form);
  if (world().rank == 0) {
    exchange.start(0);
    MPI_Request copy = exchange.request;
    EXPECT_NE(MPI_Cancel(&copy), MPI_SUCCESS);
    EXPECT_NE(MPI_Request_free(&copy), MPI_SUCCESS);
    for (int to = 1; to < world().size; ++to) MPI_Send(&to, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
  } else {
    int number = -1;
    MPI_Recv(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exchange.start(0);
  }
  EXPECT_EQ(complete_in_turn(&exchange.request), MPI_SUCCESS);
  exchange.expect_right();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// The MPI gives handles that are free to others. Requests of ours that are gone must not be found behind them.
TEST_P(Taken, LeavesNothingBehindItsHandle) {
  for (int turn = 0; turn < repeats(50, 10); ++turn) {
    Exchange exchange(MPI_COMM_WORLD, std::min(GetParam().count, 700), GetParam().form);
    exchange.start(turn);
    complete_in_turn(&exchange.request);
    exchange.expect_right();
    int out = turn, in = -1;
    MPI_Request receive, send;
    MPI_Recv_init(&in, 1, MPI_INT, world().rank, tag, MPI_COMM_WORLD, &receive);
    MPI_Send_init(&out, 1, MPI_INT, world().rank, tag, MPI_COMM_WORLD, &send);
    MPI_Request both[] = {receive, send};
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    EXPECT_EQ(in, turn);
    MPI_Request_free(&both[0]), MPI_Request_free(&both[1]);
  }
}

// Two threads wait for requests of their own at the same time.
TEST_P(Taken, TwoThreadsWait) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the program did not ask for threads";
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int one = 1;
    std::vector<int> all(static_cast<std::size_t>(world().size));
    MPI_Request request;
    MPI_Iallgather(&one, 1, MPI_INT, all.data(), 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < 2; ++k) MPI_Allgather(&one, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
  }
  const auto work = [](MPI_Comm comm, Case what) {
    Exchange exchange(comm, what.count, what.form), small(comm, 2, what.form);
    for (int turn = 0; turn < repeats(30, 3); ++turn) {
      exchange.start(turn), small.start(turn);
      MPI_Request list[] = {exchange.request, small.request};
      for (int done = 0; done < 2; ++done) {
        int index = -1;
        MPI_Waitany(2, list, &index, MPI_STATUS_IGNORE);
        EXPECT_GE(index, 0);
      }
      if (what.form == Form::nonblocking) exchange.request = small.request = MPI_REQUEST_NULL;
      exchange.expect_right(), small.expect_right();
    }
  };
  std::thread other(work, comms[1], GetParam());
  work(comms[0], GetParam());
  other.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

// Among neighbours of which four are the process itself. Blocks have gaps, which differ from one side to the other, so
// it is the MPI that copies them.
class Around {
 public:
  explicit Around(MPI_Comm grid) : grid_(grid), sent_(room), got_(room) {
    MPI_Comm_rank(grid, &me_);
    MPI_Cart_shift(grid, 0, 1, &from_[0], &from_[1]);
    MPI_Type_vector(numbers, 1, 2, MPI_INT, &every_other_);
    MPI_Type_vector(numbers / 2, 2, 3, MPI_INT, &pairs_);
    MPI_Type_commit(&every_other_), MPI_Type_commit(&pairs_);
  }
  Around(const Around&) = delete;
  Around& operator=(const Around&) = delete;
  ~Around() { MPI_Type_free(&every_other_), MPI_Type_free(&pairs_); }

  int start(int turn, MPI_Request* request) {
    fill(turn);
    return MPI_Ineighbor_alltoall(sent_.data(), 1, every_other_, got_.data(), 1, pairs_, grid_, request);
  }
  int call(int turn) {
    fill(turn);
    return MPI_Neighbor_alltoall(sent_.data(), 1, every_other_, got_.data(), 1, pairs_, grid_);
  }
  void expect_right() const {
    int wrong = 0;
    for (int i = 0; i < blocks; ++i) {
      const int from = i < 2 ? from_[i] : me_;
      for (int k = 0; k < numbers; ++k) {
        const int at = i * extent_of_pairs + k / 2 * 3 + k % 2;
        wrong += got_[static_cast<std::size_t>(at)] != value(from, i ^ 1, k);
      }
    }
    EXPECT_EQ(wrong, 0) << "in turn " << turn_;
  }

 private:
  static constexpr int blocks = 6, numbers = 12'000;
  static constexpr int extent_of_every_other = 2 * numbers - 1, extent_of_pairs = 3 * (numbers / 2) - 1;  // in ints
  static constexpr std::size_t room = std::size_t{blocks} * 2 * numbers;

  int value(int from, int block, int k) const { return ((from * 8 + block) * 16384 + k) * 64 + turn_ % 64; }
  void fill(int turn) {
    turn_ = turn;
    std::fill(got_.begin(), got_.end(), -1);
    for (int i = 0; i < blocks; ++i) {
      for (int k = 0; k < numbers; ++k) {
        sent_[static_cast<std::size_t>(i * extent_of_every_other + 2 * k)] = value(me_, i, k);
      }
    }
  }

  MPI_Comm grid_;
  int me_ = 0, turn_ = 0, from_[2] = {};
  std::vector<int> sent_, got_;
  MPI_Datatype every_other_ = MPI_DATATYPE_NULL, pairs_ = MPI_DATATYPE_NULL;
};

// What a process sends to itself goes on while another call does the same.
TEST(TakenAround, CopiesInsideOfCopies) {
  const int extents[] = {world().size, 1, 1}, periodic[] = {1, 1, 1};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 3, extents, periodic, 0, &grid);
  {
    Around blocking(grid), several[3] = {Around(grid), Around(grid), Around(grid)};
    // The first one is the MPI's own, and some MPIs mix up two edges between the same processes.
    MPI_Request first;
    EXPECT_EQ(MPI_SUCCESS, several[0].start(0, &first));
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&first, MPI_STATUS_IGNORE));
    EXPECT_EQ(MPI_SUCCESS, blocking.call(0));
    MPI_Barrier(grid);
    for (int turn = 1; turn <= repeats(200, 50); ++turn) {
      MPI_Request requests[3];
      for (int i = 0; i < 3; ++i) EXPECT_EQ(MPI_SUCCESS, several[i].start(turn + i, &requests[i]));
      EXPECT_EQ(MPI_SUCCESS, blocking.call(turn));
      EXPECT_EQ(MPI_SUCCESS, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
      blocking.expect_right();
      for (const Around& one : several) one.expect_right();
      if (HasFailure()) break;
    }
  }
  MPI_Comm_free(&grid);
}

}  // namespace
}  // namespace quadrille::test
