// Calls of small blocks like one before take the short way, with int counts and with large ones.
#include <string>
#include <type_traits>
#include <vector>

#include "api/doors.hpp"
#include "team/team.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

using api::served_again;

template <class OfCount, class OfDisplacement>
struct Counts {
  using Count = OfCount;
  using Displacement = OfDisplacement;
};

// Rank s has s + d + 1 elements for rank d, or s + 1 for all; blocks lie in reverse, with a gap between them.
template <class Form>
class Again : public MpiTest {
 protected:
  using Count = typename Form::Count;
  struct Side {
    std::vector<Count> counts;
    std::vector<typename Form::Displacement> displacements;
    std::vector<int> data;
  };

  static constexpr int untouched = -1;

  void SetUp() override {
    MpiTest::SetUp();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  }
  void TearDown() override {
    MPI_Comm_free(&comm_);
    MpiTest::TearDown();
  }

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

  MPI_Comm comm_ = MPI_COMM_NULL;
};

using Forms = testing::Types<Counts<int, int>, Counts<MPI_Count, MPI_Aint>>;
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
  auto send = this->side([me](int to) { return me + to + 1; });
  auto recv = this->side([me](int from) { return from + me + 1; });
  auto expected = recv;
  this->fill(send, [&](int to, int e) { return this->value(me, to, e); });
  this->fill(expected, [&](int from, int e) { return this->value(from, me, e); });
  const auto with = [&](auto call) {
    return call(send.data.data(), send.counts.data(), send.displacements.data(), MPI_INT, recv.data.data(),
                recv.counts.data(), recv.displacements.data(), MPI_INT, this->comm_);
  };
  int error = MPI_SUCCESS;
  const auto again = [&](auto... arguments) { return served_again(Of<Collective::alltoallv>(), arguments..., error); };
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
  EXPECT_EQ(team::team_of(this->comm_)->counted.counters.served, 2U);
  // In these nothing moves: all ranks would have to take the whole way.
  send.counts[0] = 1 << 30;
  EXPECT_FALSE(with(again)) << "it does not fit a slot";
  if constexpr (sizeof(send.counts[0]) > sizeof(int)) {
    send.counts[0] = (1LL << 32) + 1;
    EXPECT_FALSE(with(again)) << "nor does this, whose lower half is small";
  }
  send.counts[0] = -1;
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
    return call(send.data(), recv.counts[static_cast<std::size_t>(me)], MPI_INT, recv.data.data(), recv.counts.data(),
                recv.displacements.data(), MPI_INT, this->comm_);
  };
  int error = MPI_SUCCESS;
  const auto again = [&](auto... arguments) { return served_again(Of<Collective::allgatherv>(), arguments..., error); };
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
  EXPECT_EQ(team::team_of(this->comm_)->counted.counters.served, 2U);
  recv.counts.back() = 1 << 30;
  EXPECT_FALSE(with(again)) << "it does not fit a slot";
  if constexpr (sizeof(recv.counts.back()) > sizeof(int)) {
    recv.counts.back() = (1LL << 32) + 1;
    EXPECT_FALSE(with(again)) << "nor does this, whose lower half is small";
  }
  recv.counts.back() = -1;
  EXPECT_FALSE(with(again)) << "a wrong count";
}

}  // namespace
}  // namespace quadrille::test
