// Nonblocking calls like one before reuse a completed request, and are served like the others.
#include <quadrille.h>

#include <vector>

#include "abi/native.hpp"
#include "api/call_cache.hpp"
#include "api/requests.hpp"
#include "api/serve.hpp"
#include "mpi/mpi.hpp"
#include "team/areas.hpp"
#include "team/team.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

using State = Quadrille_Request_state;

// One all-to-all or allgather of so many elements, with buffers of its own.
struct Started {
  int round, count;
  bool gather;
  std::vector<int> send, recv;
  MPI_Comm comm;
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;

  Started(int of_round, int elements, bool is_gather, MPI_Comm on)
      : round(of_round), count(elements), gather(is_gather), comm(on) {
    const auto ranks = static_cast<std::size_t>(world().size), block = static_cast<std::size_t>(count);
    send.resize(block * (gather ? 1 : ranks));
    recv.assign(block * ranks, -1);
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = value(world().rank, gather ? 0 : i / block, i % block);
  }
  int value(int from, std::size_t to, std::size_t element) const {
    return round * 1000000 + from * 10000 + static_cast<int>(to) * 100 + static_cast<int>(element % 100);
  }
  void start() {
    if (gather) {
      Quadrille_Iallgather(send.data(), count, MPI_INT, recv.data(), count, MPI_INT, comm, &request);
    } else {
      Quadrille_Ialltoall(send.data(), count, MPI_INT, recv.data(), count, MPI_INT, comm, &request);
    }
  }
  void expect_all() const {
    const auto block = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < recv.size(); ++i) {
      ASSERT_EQ(recv[i],
                value(static_cast<int>(i / block), gather ? 0 : static_cast<std::size_t>(world().rank), i % block))
          << (gather ? "allgather" : "alltoall") << " of " << count << ", round " << round << ", element " << i;
    }
  }
  run::Call call() {
    run::Call it{gather ? Collective::allgather : Collective::alltoall, {}, {}, false, abi::comm(comm)};
    it.send.base = reinterpret_cast<std::byte*>(send.data());
    it.recv.base = reinterpret_cast<std::byte*>(recv.data());
    it.send.count = it.recv.count = static_cast<std::size_t>(count);
    it.send.type = it.recv.type = abi::type(MPI_INT);
    return it;
  }
};

class MadeAgain : public DuplicateTest {
 protected:
  void complete(Started& one) const {
    one.start();
    Quadrille_Wait(&one.request);
    one.expect_all();
  }
};

TEST_F(MadeAgain, OfOneKind) {
  if (world().size == 1) return;
  Started first(1, 3, false, comm_);
  EXPECT_EQ(api::request_by_cache(first.call(), api::Door::explicit_api), nullptr) << "there was no call before";
  complete(first);
  team::Team& team = *team::team_of(abi::comm(comm_));
  const std::uint64_t served = team.counted.counters.served;
  const unsigned calls = team.lanes->calls, turns = team.group.turns.requests;
  State* const made = api::request_by_cache(first.call(), api::Door::explicit_api);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(team.counted.counters.served, served + 1);
  EXPECT_EQ(team.lanes->calls, calls + 1) << "as on ranks that make it at length";
  EXPECT_EQ(team.group.turns.requests, turns + 1);
  first.recv.assign(first.recv.size(), -1);
  first.request = made;
  api::begin(*made);
  Quadrille_Wait(&first.request);
  first.expect_all();

  const auto expect_none = [&](const char* what, auto change) {
    run::Call other = first.call();
    change(other);
    EXPECT_EQ(api::request_by_cache(other, api::Door::explicit_api), nullptr) << what;
  };
  expect_none("another size", [](run::Call& other) { other.recv.count = other.send.count = 4; });
  expect_none("sizes that differ", [](run::Call& other) { other.recv.count = 4; });
  expect_none("another type", [](run::Call& other) { other.send.type = abi::type(MPI_FLOAT); });
  expect_none("in place", [](run::Call& other) { other.in_place = true; });
  expect_none("no buffer", [](run::Call& other) { other.recv.base = nullptr; });
  expect_none("another collective", [](run::Call& other) { other.collective = Collective::allgather; });
  expect_none("another communicator", [](run::Call& other) { other.comm = abi::comm(MPI_COMM_WORLD); });
  if (!team.taken.ready()) {
    EXPECT_EQ(api::request_by_cache(first.call(), api::Door::drop_in), nullptr) << "not ready for calls of MPI's names";
  }
}

TEST_F(MadeAgain, SomeRanksMakeThemAtLength) {
  if (world().size == 1) return;
  for (int round = 0; round < 50; ++round) {
    for (int other = 0; other < 2; ++other) {
      Started one(round, 3 + other, other == 1, comm_);
      // Each rank forgets what it remembers at other times.
      if (round % (world().rank + 2) == 0) drop_cached_calls();
      complete(one);
    }
  }
}

TEST_F(MadeAgain, ManyUnderWayOfSeveralKinds) {
  if (world().size == 1) return;
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world().rank, &reversed);
  for (int round = 0; round < 40; ++round) {
    std::vector<Started> calls;
    for (int i = 0; i < 11; ++i) calls.emplace_back(round * 11 + i, 1 + i % 3, i % 2 == 1, comm_);
    for (Started& one : calls) one.start();
    // The last ones first on some ranks.
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Quadrille_Wait(&calls[(world().rank + round) % 2 == 0 ? i : calls.size() - 1 - i].request);
    }
    for (const Started& one : calls) one.expect_all();
    // The request of one communicator serves another next.
    std::vector<int> mine(static_cast<std::size_t>(world().size), world().rank), theirs(mine.size(), -1);
    Quadrille_Request request;
    Quadrille_Ialltoall(mine.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, reversed, &request);
    Quadrille_Wait(&request);
    for (int r = 0; r < world().size; ++r) ASSERT_EQ(theirs[static_cast<std::size_t>(r)], world().size - 1 - r);
  }
  MPI_Comm_free(&reversed);
}

TEST_F(MadeAgain, NothingIsKeptOfACommunicator) {
  if (world().size == 1) return;
  Started one(1, 3, false, comm_);
  complete(one);
  complete(one);
  EXPECT_EQ(team::team_of(abi::comm(comm_))->self.use_count(), 1);
  MPI_Comm_free(&comm_);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);  // perhaps with the same handle
  Started next(2, 3, false, comm_);
  EXPECT_EQ(api::request_by_cache(next.call(), api::Door::explicit_api), nullptr);
  complete(next);
}

}  // namespace
}  // namespace quadrille::test
