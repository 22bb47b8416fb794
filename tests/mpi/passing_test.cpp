// Calls that go to the MPI like the one before: the door hands them on at once, and still counts them.
#include <quadrille.h>

#include <algorithm>
#include <vector>

#include "abi/native.hpp"
#include "api/doors.hpp"
#include "mpi/device_support.hpp"
#include "mpi/mpi.hpp"
#include "team/config.hpp"
#include "team/team.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

class Passing : public DuplicateTest {};

TEST_F(Passing, OfADevicesMemoryAsTheMpiSays) {
  Mpi& table = const_cast<Mpi&>(mpi());
  const Mpi before = table;
  table.Query_cuda_support = table.Query_rocm_support = table.Query_hip_support = nullptr;
  table.GPU_query_support = nullptr;
  if (!device_support().takes_devices) {  // nor by the key of MPI 4.1
    table.GPU_query_support = [](int kind, int* supported) -> int {
      constexpr int hip = 2;
      *supported = kind == hip ? 1 : 0;
      return MPI_SUCCESS;
    };
    EXPECT_EQ(device_support().said_by, "MPIX_GPU_query_support");
    table.Query_hip_support = [] { return 1; };
    EXPECT_EQ(device_support().said_by, "MPIX_Query_hip_support");
  }
  table = before;
}

int call(MPI_Comm comm, int count) {
  std::vector<int> sent(static_cast<std::size_t>(count * world().size)), got(sent.size());
  return Quadrille_Alltoall(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm);
}

bool forwarded_by_cache(Collective collective, MPI_Comm comm, MPI_Datatype type, int count) {
  return api::forwarded_by_cache(collective, abi::comm(comm), abi::type(type), count);
}

TEST_F(Passing, OnACommunicatorOfOneRank) {
  MPI_Comm self;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  EXPECT_FALSE(forwarded_by_cache(Collective::alltoall, self, MPI_INT, 1));
  EXPECT_EQ(call(self, 1), MPI_SUCCESS);
  EXPECT_TRUE(forwarded_by_cache(Collective::alltoall, self, MPI_INT, 1));
  EXPECT_TRUE(forwarded_by_cache(Collective::alltoall, self, MPI_BYTE, 2)) << "whatever is sent";
  EXPECT_FALSE(forwarded_by_cache(Collective::allgather, self, MPI_INT, 1)) << "of this nothing is known";
  EXPECT_EQ(call(self, 3), MPI_SUCCESS);
  const team::Counters& counters = team::team_of(abi::comm(self))->counted.counters;
  EXPECT_EQ(counters.passed[counted_as(Reason::one_rank)], 4U);
  EXPECT_EQ(counters.all_passed(), 4U);
  MPI_Comm_free(&self);
  EXPECT_FALSE(forwarded_by_cache(Collective::alltoall, self, MPI_INT, 1)) << "its handle may be another's";
}

TEST_F(Passing, WhereTheMpiWasChosen) {
  if (world().size == 1) return;
  EXPECT_EQ(Quadrille_Set_algorithm(comm_, "alltoall", "mpi"), MPI_SUCCESS);
  EXPECT_EQ(call(comm_, 2), MPI_SUCCESS);
  EXPECT_TRUE(forwarded_by_cache(Collective::alltoall, comm_, MPI_INT, 2));
  EXPECT_FALSE(forwarded_by_cache(Collective::alltoall, comm_, MPI_INT, 3)) << "another size";
  EXPECT_EQ(team::team_of(abi::comm(comm_))->counted.counters.all_passed(), 2U);
  EXPECT_EQ(Quadrille_Set_algorithm(comm_, "alltoall", ""), MPI_SUCCESS);
  EXPECT_FALSE(forwarded_by_cache(Collective::alltoall, comm_, MPI_INT, 2)) << "it is not forced any more";
  EXPECT_EQ(call(comm_, 2), MPI_SUCCESS);
  EXPECT_EQ(team::team_of(abi::comm(comm_))->counted.counters.served, 1U);
}

TEST_F(Passing, CountsANonblockingCallOnce) {
  if (world().size == 1) return;
  const auto start_and_wait = [&] {
    const std::vector<int> sent(static_cast<std::size_t>(world().size), world().rank);
    std::vector<int> got(sent.size());
    Quadrille_Request request = QUADRILLE_REQUEST_NULL;
    EXPECT_EQ(Quadrille_Ialltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm_, &request), MPI_SUCCESS);
    EXPECT_EQ(Quadrille_Wait(&request), MPI_SUCCESS);
    for (int from = 0; from < world().size; ++from) EXPECT_EQ(got[static_cast<std::size_t>(from)], from);
  };
  EXPECT_EQ(Quadrille_Set_algorithm(comm_, "alltoall", "mpi"), MPI_SUCCESS);
  const team::Counters& counters = team::team_of(abi::comm(comm_))->counted.counters;
  start_and_wait();
  EXPECT_EQ(counters.all_passed(), 1U);
  EXPECT_EQ(counters.served, 0U);
  EXPECT_EQ(Quadrille_Set_algorithm(comm_, "alltoall", ""), MPI_SUCCESS);
  start_and_wait();
  EXPECT_EQ(counters.all_passed(), 1U);
  EXPECT_EQ(counters.served, 1U);
}

// Through the drop-in door so many calls of a new communicator are the MPI's, and the next one is not.
TEST_F(Passing, BeforeACommunicatorIsReady) {
  if (world().size == 1) return;
  int passed = 0;
  const auto native = [&](auto... arguments) { return ++passed, mpi().Alltoall(arguments...); };
  const std::vector<int> sent(static_cast<std::size_t>(world().size), world().rank);
  std::vector<int> got(sent.size());
  const int setup_after = team::config().setup_after;
  ASSERT_GT(setup_after, 0);
  for (int number = 1; number <= setup_after + 4; ++number) {
    EXPECT_EQ(api::serve_or_pass<Collective::alltoall>(api::Door::drop_in, native, sent.data(), 1, abi::type(MPI_INT),
                                                       got.data(), 1, abi::type(MPI_INT), abi::comm(comm_)),
              MPI_SUCCESS);
    EXPECT_EQ(passed, std::min(number, setup_after));
  }
  EXPECT_EQ(team::team_of(abi::comm(comm_))->counted.counters.served, 4U);
}

}  // namespace
}  // namespace quadrille::test
