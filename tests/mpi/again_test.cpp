// Calls like one before take the short way: of small blocks, with int counts and with large ones, and of large blocks
// of one size.
#include <quadrille.h>

#include <algorithm>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "abi/native.hpp"
#include "api/doors.hpp"
#include "memory/device.hpp"
#include "team/team.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

using api::served_by_cache;

template <class OfCount, class OfDisplacement>
struct Counts {
  using Count = OfCount;
  using Displacement = OfDisplacement;
};

// Rank s has s + d + 1 elements for rank d, or s + 1 for all; blocks lie in reverse, with a gap between them.
template <class Form>
class Again : public DuplicateTest {
 protected:
  using Count = typename Form::Count;
  struct Side {
    std::vector<Count> counts;
    std::vector<typename Form::Displacement> displacements;
    std::vector<int> data;
  };

  static constexpr int untouched = -1;

  template <class CountOf>
  Side side(CountOf count_of) const {
    Side side;
    const auto ranks = static_cast<std::size_t>(world().size);
    side.displacements.resize(ranks);
    for (int r = 0; r < world().size; ++r) side.counts.push_back(static_cast<Count>(count_of(r)));
    int at = 1;
    for (std::size_t r = ranks; r-- > 0;) {
      side.displacements[r] = at;
      at += static_cast<int>(side.counts[r]) + 1;
    }
    side.data.assign(static_cast<std::size_t>(at), untouched);
    return side;
  }

  static int value(int from, int to, int element) { return from * 1000000 + to * 10000 + element; }

  template <class ValueOf>
  static void fill(Side& side, ValueOf value_of) {
    for (std::size_t r = 0; r < side.counts.size(); ++r) {
      for (int e = 0; e < static_cast<int>(side.counts[r]); ++e)
        side.data[static_cast<std::size_t>(side.displacements[r]) + static_cast<std::size_t>(e)] =
            value_of(static_cast<int>(r), e);
    }
  }
};

using Forms = testing::Types<Counts<int, int>, Counts<MpiCount, MpiAint>>;
struct FormNames {
  template <class Form>
  static std::string GetName(int) {
    return std::is_same_v<typename Form::Count, int> ? "int" : "large";
  }
};
TYPED_TEST_SUITE(Again, Forms, FormNames);

const auto not_native = [](auto...) { return MPI_ERR_OTHER; };

TYPED_TEST(Again, Alltoallv) {
  if (world().size == 1) return;
  const int me = world().rank;
  typename TestFixture::Side send, recv, expected;
  const auto take = [&](int times) {
    send = this->side([=](int to) { return times * (me + to + 1); });
    recv = expected = this->side([=](int from) { return times * (from + me + 1); });
    this->fill(send, [&](int to, int e) { return this->value(me, to, e); });
    this->fill(expected, [&](int from, int e) { return this->value(from, me, e); });
  };
  const auto with = [&](auto call) {
    return call(send.data.data(), send.counts.data(), send.displacements.data(), abi::type(MPI_INT), recv.data.data(),
                recv.counts.data(), recv.displacements.data(), abi::type(MPI_INT), abi::comm(this->comm_));
  };
  take(1);
  int error = MPI_SUCCESS;
  const auto again = [&](auto... arguments) {
    return served_by_cache(Of<Collective::alltoallv>(), arguments..., error);
  };
  EXPECT_FALSE(with(again)) << "there was no call before";
  EXPECT_EQ(with([](auto... arguments) {
              return api::serve_or_pass<Collective::alltoallv>(api::Door::explicit_api, not_native, arguments...);
            }),
            MPI_SUCCESS);
  EXPECT_EQ(recv.data, expected.data);
  recv.data.assign(recv.data.size(), this->untouched);
  EXPECT_TRUE(with(again));
  EXPECT_EQ(error, MPI_SUCCESS);
  EXPECT_EQ(recv.data, expected.data);
  EXPECT_EQ(team::team_of(abi::comm(this->comm_))->counted.counters.served, 2U);
  // Of any size, where some blocks fit a slot and some do not; also if others go the whole way.
  take(1500);
  EXPECT_TRUE(with(again));
  EXPECT_EQ(error, MPI_SUCCESS);
  EXPECT_EQ(recv.data, expected.data);
  take(3000);
  if (me % 2 == 0) {
    EXPECT_TRUE(with(again));
  } else {
    error = with([](auto... arguments) {
      return api::serve_or_pass_at_length<Collective::alltoallv>(api::Door::explicit_api, not_native, arguments...);
    });
  }
  EXPECT_EQ(error, MPI_SUCCESS);
  EXPECT_EQ(recv.data, expected.data);
  take(1);
  MPI_Comm_set_errhandler(this->comm_, MPI_ERRORS_RETURN);
  --recv.counts[static_cast<std::size_t>(me)];
  EXPECT_TRUE(with(again));
  EXPECT_EQ(error, MPI_ERR_TRUNCATE) << "a rank sends itself more than it expects";
  EXPECT_EQ(api::call_noted_handler(error), error);
  // In these nothing moves: all ranks would have to take the whole way.
  send.counts[0] = -1;
  EXPECT_FALSE(with(again)) << "a wrong count";
  send.counts[0] = 1;
  recv.counts.back() = -1;
  EXPECT_FALSE(with(again)) << "a wrong count";
}

TYPED_TEST(Again, Allgatherv) {
  if (world().size == 1) return;
  const int me = world().rank;
  std::vector<int> send(static_cast<std::size_t>(me) + 1);
  for (std::size_t e = 0; e < send.size(); ++e) send[e] = this->value(me, 0, static_cast<int>(e));
  auto recv = this->side([](int from) { return from + 1; });
  auto expected = recv;
  this->fill(expected, [&](int from, int e) { return this->value(from, 0, e); });
  const auto with = [&](auto call) {
    return call(send.data(), recv.counts[static_cast<std::size_t>(me)], abi::type(MPI_INT), recv.data.data(),
                recv.counts.data(), recv.displacements.data(), abi::type(MPI_INT), abi::comm(this->comm_));
  };
  int error = MPI_SUCCESS;
  const auto again = [&](auto... arguments) {
    return served_by_cache(Of<Collective::allgatherv>(), arguments..., error);
  };
  EXPECT_FALSE(with(again)) << "there was no call before";
  EXPECT_EQ(with([](auto... arguments) {
              return api::serve_or_pass<Collective::allgatherv>(api::Door::explicit_api, not_native, arguments...);
            }),
            MPI_SUCCESS);
  EXPECT_EQ(recv.data, expected.data);
  recv.data.assign(recv.data.size(), this->untouched);
  EXPECT_TRUE(with(again));
  EXPECT_EQ(error, MPI_SUCCESS);
  EXPECT_EQ(recv.data, expected.data);
  EXPECT_EQ(team::team_of(abi::comm(this->comm_))->counted.counters.served, 2U);
  recv.counts.back() = 1 << 30;
  EXPECT_FALSE(with(again)) << "it does not fit a slot";
  if constexpr (sizeof(recv.counts.back()) > sizeof(int)) {
    recv.counts.back() = (1LL << 32) + 1;
    EXPECT_FALSE(with(again)) << "nor does this, whose lower half is small";
  }
  recv.counts.back() = -1;
  EXPECT_FALSE(with(again)) << "a wrong count";
  std::fill(recv.counts.begin(), recv.counts.end(), 0);
  EXPECT_FALSE(with(again)) << "nothing moves: other ranks may take the whole way, and exchange nothing there";
}

// MPIs give the handle of a freed datatype to the next one.
TEST_F(MpiTest, AgainWithATypeWhoseHandleWasThatOfAFreedOne) {
  const int ranks = world().size, me = world().rank;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int turn = 0; turn < 20; ++turn) {
    const int elements = turn % 2 == 0 ? 2 : 4;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(elements, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int call = 0; call < 4; ++call) {
      std::vector<int> send(static_cast<std::size_t>(elements * ranks)), recv(send.size(), -1), expected(send.size());
      for (int i = 0; i < elements * ranks; ++i) {
        send[static_cast<std::size_t>(i)] = 1000 * me + i + turn;
        expected[static_cast<std::size_t>(i)] = 1000 * (i / elements) + me * elements + i % elements + turn;
      }
      ASSERT_EQ(Quadrille_Alltoall(send.data(), 1, type, recv.data(), 1, type, comm), MPI_SUCCESS);
      ASSERT_EQ(recv, expected) << "turn " << turn;
      std::fill(recv.begin(), recv.end(), -1);
      for (int i = 0; i < elements * ranks; ++i)
        expected[static_cast<std::size_t>(i)] = 1000 * (i / elements) + i % elements + turn;
      ASSERT_EQ(Quadrille_Allgather(send.data(), 1, type, recv.data(), 1, type, comm), MPI_SUCCESS);
      ASSERT_EQ(recv, expected) << "turn " << turn;
    }
    MPI_Type_free(&type);
  }
  MPI_Comm_free(&comm);
}

// Rank 0 sends rank 1 more than that expects, after calls of which the peers know where their blocks went.
TEST_F(MpiTest, AgainATooLongBlockLeavesTheBufferOfAnEarlierCallAlone) {
  if (world().size == 1) return;
  const auto ranks = static_cast<std::size_t>(world().size);
  const int me = world().rank;
  constexpr int large = 4000, untouched = -1;
  Communicator where = duplicate("long");
  MPI_Comm_set_errhandler(where.comm, MPI_ERRORS_RETURN);
  const auto call = [&](const std::vector<int>& sent, std::vector<int>& got, int expected) {
    std::vector<int> places(ranks);
    for (std::size_t r = 0; r < ranks; ++r) places[r] = static_cast<int>(r) * large;
    const std::vector<int> send(ranks * large, me), counts(ranks, expected);
    return Quadrille_Alltoallv(send.data(), sent.data(), places.data(), MPI_INT, got.data(), counts.data(),
                               places.data(), MPI_INT, where.comm);
  };
  std::vector<int> earlier(ranks * large), now(ranks * large, untouched), sent(ranks, large);
  EXPECT_EQ(call(sent, earlier, large), MPI_SUCCESS);
  EXPECT_EQ(call(sent, earlier, large), MPI_SUCCESS);
  std::fill(earlier.begin(), earlier.end(), untouched);
  std::fill(sent.begin(), sent.end(), 1);
  if (me == 0) sent[1] = large;
  EXPECT_EQ(error_class(call(sent, now, 1)), me == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(std::count(earlier.begin(), earlier.end(), untouched), std::ssize(earlier));
  EXPECT_GE(std::count(now.begin(), now.end(), untouched), std::ssize(now) - world().size);
  release(where);
}

class AgainLarge : public DuplicateTest {
 protected:
  static int value(int from, int to, std::size_t element) {
    return from * 1000000 + to * 100000 + static_cast<int>(element % 99991);
  }

  // `call`: an all-to-all or an allgather of so many elements. Is it served, and rightly?
  template <class Call>
  void expect(bool served, int elements, bool gather, Call call, MPI_Datatype type = MPI_INT) {
    const auto count = static_cast<std::size_t>(elements), ranks = static_cast<std::size_t>(world().size);
    std::vector<int> send(count * (gather ? 1 : ranks)), recv(count * ranks, -1);
    for (std::size_t i = 0; i < send.size(); ++i) {
      send[i] = value(world().rank, gather ? 0 : static_cast<int>(i / count), i % count);
    }
    const MpiType of = abi::type(type);
    int error = MPI_SUCCESS;
    EXPECT_EQ(call(send.data(), elements, of, recv.data(), elements, of, abi::comm(comm_), error), served);
    EXPECT_EQ(error, MPI_SUCCESS);
    for (std::size_t i = 0; served && i < recv.size(); ++i) {
      ASSERT_EQ(recv[i], value(static_cast<int>(i / count), gather ? 0 : world().rank, i % count)) << i;
    }
  }
  template <Collective collective>
  static bool again(const void* send, int sendcount, MpiType sendtype, void* recv, int recvcount, MpiType recvtype,
                    MpiComm comm, int& error) {
    return served_by_cache(Of<collective>(), send, sendcount, sendtype, recv, recvcount, recvtype, comm, error);
  }
  template <Collective collective>
  static bool full(const void* send, int sendcount, MpiType sendtype, void* recv, int recvcount, MpiType recvtype,
                   MpiComm comm, int& error) {
    error = api::serve_or_pass<collective>(api::Door::explicit_api, not_native, send, sendcount, sendtype, recv,
                                           recvcount, recvtype, comm);
    return true;
  }
  template <Collective collective>
  void two_sizes() {
    constexpr bool gather = collective == Collective::allgather;
    constexpr int small = 1, large = 16384, larger = 20001, largest = 30000;
    for (const int size : {large, 17000, 18000, larger, small}) {
      expect(false, size, gather, again<collective>);
      expect(true, size, gather, full<collective>);
    }
    const team::Team& team = *team::team_of(abi::comm(comm_));
    // By another engine, or where sizes are still tried, each call goes the whole way.
    const bool is_short = team.nodes.nodes == 1 &&
                          team::selection_of(*team::team_of(abi::comm(comm_)), collective, large * sizeof(int), 0)
                                  .selection.choice.algorithm->engine == choose::Engine::exchange;
    for (const int size : {large, 17000, larger, 18000, large}) expect(is_short, size, gather, again<collective>);
    expect(true, small, gather, again<collective>);
    expect(false, largest, gather, again<collective>);
    expect(false, large, gather, again<collective>, MPI_FLOAT);
    // The oldest of eight is forgotten.
    for (const int size : {largest, 21000, 22000, 23000, 24000}) expect(true, size, gather, full<collective>);
    expect(is_short, largest, gather, again<collective>);
    expect(is_short, larger, gather, again<collective>);
    expect(false, large, gather, again<collective>);
  }

  // Are an int's calls served by the inboxes, after a first one?
  bool by_inbox() {
    if (world().size == 1) return false;
    expect(true, 1, false, full<Collective::alltoall>);
    team::Team& team = *team::team_of(abi::comm(comm_));
    const team::CachedSelection& selected = team::selection_of(team, Collective::alltoall, sizeof(int), 0);
    return team.nodes.nodes == 1 && selected.selection.choice.algorithm->engine == choose::Engine::inbox;
  }
};

TEST_F(AgainLarge, Alltoall) {
  if (world().size > 1) two_sizes<Collective::alltoall>();
}

TEST_F(AgainLarge, Allgather) {
  if (world().size > 1) two_sizes<Collective::allgather>();
}

// What another thread has freed or loaded during a call may be what is cached of it.
TEST_F(AgainLarge, NotACallDuringWhichSomethingChanged) {
  if (!by_inbox()) return;
  team::Team& team = *team::team_of(abi::comm(comm_));
  run::Call call{Collective::alltoall, {}, {}, false, abi::comm(comm_)};
  call.send.count = call.recv.count = 1;
  call.send.type = call.recv.type = abi::type(MPI_INT);
  const choose::Choice inbox = choose::plain(Collective::alltoall, "inbox");
  const api::CachedSince before;
  drop_cached_calls();
  api::cache_served(call, inbox, true, nullptr, team, before, nullptr);
  expect(false, 1, false, again<Collective::alltoall>);
  api::cache_served(call, inbox, true, nullptr, team, {}, nullptr);
  expect(true, 1, false, again<Collective::alltoall>);
}

TEST_F(AgainLarge, NotWhileAnotherThreadMayLoadADriver) {
  if (!by_inbox()) return;
  std::thread(memory::note_loading).join();
  drop_cached_calls();
  expect(true, 1, false, full<Collective::alltoall>);
  expect(false, 1, false, again<Collective::alltoall>);
  memory::detail::last_note = 0;  // long ago
  expect(true, 1, false, full<Collective::alltoall>);
  expect(true, 1, false, again<Collective::alltoall>);
}

}  // namespace
}  // namespace quadrille::test
