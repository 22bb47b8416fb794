// Persistent neighbour collectives: the same checks as for the blocking ones, through a door that makes a request,
// starts it twice and frees it; then several requests in flight at once.
#include <quadrille.h>

#include <chrono>
#include <thread>

#include "neighbors.hpp"
#include "ring.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

// Completes a request by Test or Wait.
int complete(Quadrille_Request* request, bool by_test) {
  if (!by_test) return Quadrille_Wait(request);
  int flag = 0, code = MPI_SUCCESS;
  while (flag == 0 && code == MPI_SUCCESS) code = Quadrille_Test(request, &flag);
  return code;
}

// A blocking call by a request. Twice: the second start must give the same again.
template <auto Init, class... Arguments>
int by_request(Arguments... arguments) {
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  int code = Init(arguments..., MPI_INFO_NULL, &request);
  for (int i = 0; i < 2 && code == MPI_SUCCESS; ++i) {
    code = Quadrille_Start(&request);
    if (code == MPI_SUCCESS) code = complete(&request, i == 0);
  }
  const int freed = Quadrille_Request_free(&request);
  return code != MPI_SUCCESS ? code : freed;
}

#define QUADRILLE_MEMBER(collective, Name, ...) .collective = &by_request<&Quadrille_##Name##_init>,
const Door persistent = {QUADRILLE_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER

class Persistent : public MpiTest {};

TEST_F(Persistent, EveryAlgorithmOnGridsAndGraphs) {
  std::uint64_t seed = 0;
  const auto check_all = [&](const Topology& t) {
    for (const Collective c : neighbor_collectives) {
      const Kinds others = is_typed(c) ? mixed(Base::integer) : same("int");
      const std::uint64_t chance = mix(++seed);
      const Kinds kinds = chance % 2 == 0 ? between("record", "two-records") : others;
      expect_good(check({c, kinds, chance / 2 % 3 == 0 ? 5000U : 12U, false, seed}, t, persistent));
    }
  };
  // With many ranks, which have many grids, two algorithms for each.
  int turn = 0;
  constexpr const char* names[] = {"rings", "straightforward", "torus",        "torus-direct",
                                   "basis", "torus:pack=0",    "basis:pack=0", "torus-direct:pack=0"};
  for (const TestGrid& grid : grids_of(world().size)) {
    Topology t = cartesian(grid);
    check_all(t);
    for (int i = 0; i < (world().size > 4 ? 2 : 8); ++i) {
      const char* const name = names[turn++ % 8];
      for (const Collective c : neighbor_collectives) EXPECT_EQ(force(t.where.comm, c, name), MPI_SUCCESS);
      check_all(t);
    }
    release(t.where);
  }
  for (std::uint64_t graph = 0; graph < 6; ++graph) {
    Topology t = random_graph(static_cast<int>(graph % 2), graph);
    check_all(t);
    release(t.where);
  }
}

// Requests, completed in another order on every rank, with blocking calls between. Were one
// tag for all of them, or did a wait go on with its own request only, this would mix them up, or hang.
void expect_many_under_way(const char* algorithm) {
  const int extents[] = {world().size, 1}, periods[] = {1, 1}, me = world().rank, ranks = world().size;
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &cart);
  const int offsets[] = {1, 0, 2, 1, -1, 0, 3, 1};
  MPI_Comm iso;
  Quadrille_Iso_neighborhood_create(cart, 4, offsets, MPI_INFO_NULL, &iso);
  EXPECT_EQ(MPI_SUCCESS, force(iso, Collective::neighbor_alltoall, algorithm));
  constexpr int requests = 5;
  int send[requests][4], recv[requests][4];
  Quadrille_Request all[requests];
  for (int r = 0; r < requests; ++r) {
    EXPECT_EQ(MPI_SUCCESS,
              Quadrille_Neighbor_alltoall_init(send[r], 1, MPI_INT, recv[r], 1, MPI_INT, iso, MPI_INFO_NULL, &all[r]));
  }
  for (int turn = 0; turn < repeats(60, 10); ++turn) {
    for (int r = 0; r < requests; ++r) {
      for (int i = 0; i < 4; ++i) send[r][i] = turn * 1000 + me * 100 + r * 10 + i, recv[r][i] = -1;
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&all[r]));
      // Another call on the communicator meanwhile.
      int other[4] = {-1, -1, -1, -1};
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Neighbor_alltoall(send[r], 1, MPI_INT, other, 1, MPI_INT, iso));
      EXPECT_EQ(other[0], turn * 1000 + (me + ranks - 1) % ranks * 100 + r * 10);
    }
    for (int k = 0; k < requests; ++k) {
      const int r = (k + me + turn) % requests;
      EXPECT_EQ(MPI_SUCCESS, complete(&all[r], turn % 2 == 0 && (k + me) % 2 == 0));
      for (int i = 0; i < 4; ++i) {
        const int from = ((me - offsets[2 * i]) % ranks + ranks) % ranks;
        EXPECT_EQ(recv[r][i], turn * 1000 + from * 100 + r * 10 + i);
      }
    }
  }
  MPI_Comm_free(&iso);
  for (Quadrille_Request& request : all) EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&request));
  MPI_Comm_free(&cart);
}

// MPI lets a program free a datatype as soon as the request is made; its handle may come back as another type.
TEST_F(Persistent, TypesMayBeFreedFirst) {
  const int me = world().rank, ranks = world().size;
  for (const char* algorithm : {"rings", "direct", "torus", "torus:pack=0"}) {
    MPI_Comm ring = ring_of_world();
    force(ring, Collective::neighbor_alltoall, algorithm);
    MPI_Datatype column, other;
    MPI_Type_vector(4, 1, 3, MPI_INT, &column);  // every third int of 10
    MPI_Type_commit(&column);
    int sent[24] = {}, got[24];
    std::fill(std::begin(got), std::end(got), -1);
    Quadrille_Request request;
    EXPECT_EQ(Quadrille_Neighbor_alltoall_init(sent, 1, column, got, 1, column, ring, MPI_INFO_NULL, &request),
              MPI_SUCCESS);
    MPI_Type_free(&column);
    MPI_Type_vector(2, 2, 5, MPI_INT, &other);
    MPI_Type_commit(&other);
    for (int turn = 0; turn < 3; ++turn) {
      for (int i = 0; i < 24; ++i) sent[i] = turn * 1000 + me * 100 + i;
      EXPECT_EQ(Quadrille_Start(&request), MPI_SUCCESS) << algorithm;
      EXPECT_EQ(Quadrille_Wait(&request), MPI_SUCCESS) << algorithm;
      // Block 1, from above, is what that sent down: its block 0.
      const int up = (me + 1) % ranks;
      for (int k = 0; k < 4; ++k) EXPECT_EQ(got[10 + 3 * k], turn * 1000 + up * 100 + 3 * k) << algorithm;
      EXPECT_EQ(got[11], -1) << algorithm;
    }
    EXPECT_EQ(Quadrille_Request_free(&request), MPI_SUCCESS);
    MPI_Type_free(&other);
    MPI_Comm_free(&ring);
  }
}

TEST_F(Persistent, ManyUnderWay) { expect_many_under_way("torus"); }

// Between nodes this is done by messages, too.
TEST_F(Persistent, ManyUnderWayInsideANode) { expect_many_under_way("rings"); }

// Blocks that do not fit a ring, small ones after them, and a dense collective that uses the same rings, all before
// the first is waited for.
TEST_F(Persistent, LargeBlocksBeforeOtherCalls) {
  const int me = world().rank, ranks = world().size;
  MPI_Comm ring = ring_of_world();
  constexpr std::size_t large = 300'000;
  std::vector<int> sent(2 * large), got(2 * large);
  std::vector<int> all_sent(static_cast<std::size_t>(ranks) * 20'000), all_got(all_sent.size());
  int small_sent[2] = {}, small_got[2] = {};
  Quadrille_Request first, second;
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Neighbor_alltoall_init(sent.data(), large, MPI_INT, got.data(), large, MPI_INT, ring,
                                                          MPI_INFO_NULL, &first));
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Neighbor_alltoall_init(small_sent, 1, MPI_INT, small_got, 1, MPI_INT, ring,
                                                          MPI_INFO_NULL, &second));
  const int down = (me + ranks - 1) % ranks, up = (me + 1) % ranks;
  for (int turn = 0; turn < repeats(10, 3); ++turn) {
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = turn + me * 1000 + static_cast<int>(i);
    std::fill(all_sent.begin(), all_sent.end(), turn * 100 + me);
    small_sent[0] = me + turn, small_sent[1] = -me - turn;
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&first));
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&second));
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Alltoall(all_sent.data(), 20'000, MPI_INT, all_got.data(), 20'000, MPI_INT, ring));
    EXPECT_EQ(MPI_SUCCESS, complete(&second, turn % 2 == 0));
    EXPECT_EQ(MPI_SUCCESS, complete(&first, false));
    // Block 0 goes down, and comes from below as what that sent up.
    EXPECT_EQ(got[7], turn + down * 1000 + static_cast<int>(large) + 7);
    EXPECT_EQ(got[2 * large - 1], turn + up * 1000 + static_cast<int>(large) - 1);
    EXPECT_EQ(small_got[0], -down - turn);
    EXPECT_EQ(small_got[1], up + turn);
    for (int r = 0; r < ranks; ++r) EXPECT_EQ(all_got[static_cast<std::size_t>(r) * 20'000 + 19'999], turn * 100 + r);
  }
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&first));
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&second));
  MPI_Comm_free(&ring);
}

// Two requests on a ring of all ranks, as often as wanted.
class TwoRequests {
 public:
  TwoRequests(const char* algorithm, std::size_t count) : ring(ring_of_world()), count_(count) {
    for (const Collective c : neighbor_collectives) EXPECT_EQ(MPI_SUCCESS, force(ring, c, algorithm));
    for (const int r : {0, 1}) make(r, &request[r]);
  }
  ~TwoRequests() {
    for (Quadrille_Request& one : request) EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&one));
    if (ring != MPI_COMM_NULL) MPI_Comm_free(&ring);
  }
  void make(int r, Quadrille_Request* to) {
    send_[r].resize(2 * count_), recv_[r].resize(2 * count_);
    EXPECT_EQ(MPI_SUCCESS,
              Quadrille_Neighbor_alltoall_init(send_[r].data(), static_cast<int>(count_), MPI_INT, recv_[r].data(),
                                               static_cast<int>(count_), MPI_INT, ring, MPI_INFO_NULL, to));
  }
  void fill(int turn) {
    for (const int r : {0, 1}) {
      for (std::size_t i = 0; i < 2 * count_; ++i) send_[r][i] = value(world().rank, turn, r, i);
      std::fill(recv_[r].begin(), recv_[r].end(), -1);
    }
  }
  void start(int r) { EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&request[r])); }
  void wait(int r) { EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&request[r])); }
  void expect_right(int turn) {
    const int me = world().rank, ranks = world().size;
    for (const int r : {0, 1}) {
      for (std::size_t i : {std::size_t{0}, count_ - 1}) {
        EXPECT_EQ(recv_[r][i], value((me + ranks - 1) % ranks, turn, r, count_ + i));
        EXPECT_EQ(recv_[r][count_ + i], value((me + 1) % ranks, turn, r, i));
      }
    }
  }

  MPI_Comm ring;
  Quadrille_Request request[2];

 private:
  static int value(int rank, int turn, int r, std::size_t i) {
    return static_cast<int>(i) + 1'000'000 * (rank + 20 * r + 40 * (turn % 16));
  }
  const std::size_t count_;
  std::vector<int> send_[2], recv_[2];
};

// The start that one rank makes first another makes last, or only after it has waited for the other.
void expect_any_order(const char* algorithm, std::size_t count) {
  TwoRequests two(algorithm, count);
  const bool odd = world().rank % 2 != 0;
  const int first = odd ? 0 : 1, second = 1 - first;
  for (int turn = 0; turn < repeats(40, 8); ++turn) {
    two.fill(turn);
    two.start(first);
    if (turn % 2 == 0 && odd) two.wait(first);
    two.start(second);
    if (turn % 2 == 0 && odd) two.wait(second);
    for (const int r : {0, 1}) two.wait(turn % 3 == 0 ? 1 - r : r);
    two.expect_right(turn);
  }
}

TEST_F(Persistent, StartedInAnyOrder) {
  for (const char* const algorithm : {"rings", "direct", "torus"}) {
    for (const std::size_t count : {1, 700, 50'000}) expect_any_order(algorithm, count);
  }
}

// A start is not ordered with other calls either: some ranks make a blocking call before it, others after it, or only
// after they have waited; or they make another request then.
TEST_F(Persistent, StartedBeforeOrAfterOtherCalls) {
  const bool odd = world().rank % 2 != 0;
  for (const std::size_t count : {1, 700, 50'000}) {
    TwoRequests two("rings", count);
    const std::size_t others = 20'000, all = others * static_cast<std::size_t>(std::max(world().size, 2));
    std::vector<int> sent(all, 1), got(all);
    Quadrille_Request made = QUADRILLE_REQUEST_NULL;
    for (int turn = 0; turn < repeats(24, 6); ++turn) {
      const auto other_call = [&] {
        const int size = static_cast<int>(others);
        if (turn % 3 == 0) {
          Quadrille_Alltoall(sent.data(), size, MPI_INT, got.data(), size, MPI_INT, two.ring);
        } else if (turn % 3 == 1) {
          Quadrille_Neighbor_alltoall(sent.data(), size, MPI_INT, got.data(), size, MPI_INT, two.ring);
        } else {
          two.make(0, &made);
          EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&made));
        }
      };
      two.fill(turn);
      const bool waits = turn % 2 == 0;
      if (!odd || waits) two.start(0);
      if (odd && waits) two.wait(0);
      other_call();
      if (odd && !waits) two.start(0);
      two.start(1);
      two.wait(0), two.wait(1);
      two.expect_right(turn);
    }
  }
}

// Shared memory for so many requests there is not: the last ones go as messages, beside the first ones.
TEST_F(Persistent, MoreThanThereIsSharedMemoryFor) {
  TwoRequests two("rings", 50'000);
  std::vector<Quadrille_Request> more(1000, QUADRILLE_REQUEST_NULL);
  for (Quadrille_Request& one : more) two.make(&one == &more.back() ? 1 : 0, &one);
  std::swap(two.request[1], more.back());
  const int first = world().rank % 2;
  for (int turn = 0; turn < 4; ++turn) {
    two.fill(turn);
    two.start(first), two.start(1 - first);
    two.wait(0), two.wait(1);
    two.expect_right(turn);
  }
  for (Quadrille_Request& one : more) EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&one));
}

// One rank comes late: at its start all that it waits for is there, at those of the others nothing is.
TEST_F(Persistent, UnderWayUntilItIsCompleted) {
  for (const char* const algorithm : {"rings", "direct"}) {
    TwoRequests two(algorithm, 10);
    MPI_Comm_set_errhandler(two.ring, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 4; ++turn) {
      two.fill(turn);
      MPI_Barrier(MPI_COMM_WORLD);
      if (world().rank == world().size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      for (const int r : {0, 1}) {
        two.start(r);
        EXPECT_EQ(error_class(Quadrille_Start(&two.request[r])), MPI_ERR_REQUEST);
        EXPECT_EQ(error_class(Quadrille_Request_free(&two.request[r])), MPI_ERR_REQUEST);
      }
      EXPECT_EQ(MPI_SUCCESS, complete(&two.request[0], true));
      // Its data are here by now, as those of the other; that it is complete was not asked.
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_EQ(error_class(Quadrille_Start(&two.request[1])), MPI_ERR_REQUEST);
      EXPECT_EQ(MPI_SUCCESS, complete(&two.request[1], turn % 2 == 0));
      two.expect_right(turn);
    }
  }
}

// Freed before its requests are started or while they are in flight. Other communicators, which may get the handle of
// the freed one, are created meanwhile.
TEST_F(Persistent, OutlivesItsCommunicator) {
  for (const char* const algorithm : {"rings", "direct", "torus"}) {
    for (int moment = 0; moment < 4; ++moment) {
      TwoRequests two(algorithm, 5000), other(algorithm, 10);
      for (int turn = 0; turn < 3; ++turn) {
        if (moment == 2 * turn) MPI_Comm_free(&two.ring);
        TwoRequests meanwhile(algorithm, 10);
        two.fill(turn), other.fill(turn);
        two.start(0), other.start(0), two.start(1), other.start(1);
        if (moment == 2 * turn + 1) MPI_Comm_free(&two.ring);
        for (const int r : {0, 1}) two.wait(r), other.wait(r);
        two.expect_right(turn), other.expect_right(turn);
      }
      if (two.ring == MPI_COMM_NULL) {
        two.start(0);
        EXPECT_EQ(error_class(Quadrille_Start(&two.request[0])), MPI_ERR_REQUEST);
        two.wait(0);
      }
    }
  }
}

// Also by a blocking call: the MPI gets it, and refuses it.
TEST_F(Persistent, TypesMustBeCommitted) {
  Topology t = cartesian(grids_of(world().size).back());
  MPI_Comm_set_errhandler(t.where.comm, MPI_ERRORS_RETURN);
  MPI_Datatype plain, gaps, resized;
  MPI_Type_contiguous(3, MPI_INT, &plain);
  MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
  MPI_Type_create_resized(plain, 0, 12, &resized);  // dense, but does not look so
  int buffer[64] = {};
  for (MPI_Datatype* const type : {&plain, &gaps, &resized}) {
    Quadrille_Request request = QUADRILLE_REQUEST_NULL;
    const auto make = [&] {
      return error_class(Quadrille_Neighbor_allgather_init(buffer, 1, *type, buffer + 8, 1, *type, t.where.comm,
                                                           MPI_INFO_NULL, &request));
    };
    const auto call = [&] {
      return error_class(Quadrille_Neighbor_allgather(buffer, 1, *type, buffer + 8, 1, *type, t.where.comm));
    };
    if (t.in.empty()) continue;
    EXPECT_EQ(make(), MPI_ERR_ARG);
    EXPECT_EQ(call(), MPI_ERR_TYPE);
    MPI_Type_commit(type);
    EXPECT_EQ(make(), MPI_SUCCESS);
    EXPECT_EQ(call(), MPI_SUCCESS);
    EXPECT_EQ(Quadrille_Request_free(&request), MPI_SUCCESS);
    MPI_Type_free(type);
  }
  release(t.where);
}

TEST_F(Persistent, WrongUse) {
  Communicator plain = duplicate("plain");
  Topology t = cartesian(grids_of(world().size).back());
  MPI_Comm_set_errhandler(plain.comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(t.where.comm, MPI_ERRORS_RETURN);
  int buffer[64] = {}, flag = 0;
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  const auto make = [&](MPI_Comm comm, int count, Quadrille_Request* to) {
    return error_class(Quadrille_Neighbor_allgather_init(buffer, count, MPI_INT, buffer + 32, count, MPI_INT, comm,
                                                         MPI_INFO_NULL, to));
  };
  EXPECT_EQ(make(plain.comm, 1, &request), MPI_ERR_TOPOLOGY);
  EXPECT_EQ(request, QUADRILLE_REQUEST_NULL);
  EXPECT_EQ(make(t.where.comm, -1, &request), MPI_ERR_ARG);
  EXPECT_EQ(make(t.where.comm, 1, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(error_class(Quadrille_Start(&request)), MPI_ERR_REQUEST);
  EXPECT_EQ(Quadrille_Test(&request, &flag), MPI_SUCCESS);  // null: complete
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(error_class(Quadrille_Test(nullptr, &flag)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(Quadrille_Wait(nullptr)), MPI_ERR_REQUEST);
  EXPECT_EQ(Quadrille_Request_free(&request), MPI_SUCCESS);
  EXPECT_EQ(make(t.where.comm, 1, &request), MPI_SUCCESS);
  EXPECT_EQ(Quadrille_Wait(&request), MPI_SUCCESS);  // not started
  EXPECT_EQ(Quadrille_Test(&request, &flag), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(error_class(Quadrille_Test(&request, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(Quadrille_Request_free(&request), MPI_SUCCESS);
  release(plain);
  release(t.where);
}

}  // namespace
}  // namespace quadrille::test
