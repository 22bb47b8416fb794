// What the ranks of a communicator decide: alike where all must do the same, apart where they must not meet.
#include "team/team.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "abi/native.hpp"
#include "choices.hpp"
#include "mpi/errors.hpp"
#include "quadrille.h"
#include "team/setup.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

class TeamTest : public MpiTest {
 protected:
  // After its first call.
  static team::Team& ready_team(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    const std::vector<int> sent(static_cast<std::size_t>(size));
    std::vector<int> got(sent.size());
    EXPECT_EQ(Quadrille_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm), MPI_SUCCESS);
    return *team::team_of(abi::comm(comm));
  }
};

// Two that do the same on one rank may not do so on another.
TEST_F(TeamTest, AllRanksLeaveOutTheSameTwins) {
  if (world().size == 1) return;
  Communicator where = duplicate("twins");
  team::Team& team = ready_team(where.comm);
  std::vector<choose::Choice> candidates;
  for (const Forced& forced : forced_choices({Collective::alltoall}, true)) {
    choose::Choice choice;
    if (choose::parse_choice(Collective::alltoall, forced.algorithm, choice).empty()) candidates.push_back(choice);
  }
  const std::vector<choose::Choice> different = team::without_twins(team, Collective::alltoall, candidates);
  EXPECT_LT(different.size(), candidates.size());
  std::string names;
  for (const choose::Choice& choice : different) names += choose::to_string(choice) + ' ';
  std::string first = names;
  first.resize(20000);
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  EXPECT_EQ(names, first.c_str());
  release(where);
}

// Each rank gives tags to communicators of which it is the first.
TEST_F(TeamTest, RanksGiveDifferentTags) {
  const int size = world().size;
  if (size == 1 || !on_one_node()) return;
  int mine = -1;
  for (int first = 0; first < size; ++first) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, (world().rank - first + size) % size, &comm);
    team::Team& team = ready_team(comm);
    if (world().rank == first) {
      std::vector<std::byte> told(team::told_bytes);
      team::prepare_apart(team, {told, true});
      std::memcpy(&mine, told.data(), sizeof mine);
    }
    MPI_Comm_free(&comm);
  }
  std::vector<int> tags(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, 1, MPI_INT, tags.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::sort(tags.begin(), tags.end());
  EXPECT_GE(tags[0], 0);
  for (std::size_t r = 1; r < tags.size(); ++r) EXPECT_GE(tags[r] - tags[r - 1], team::tags_apart);
}

// ---- The program's error handler ----

int handled = 0;
void count_error(MPI_Comm*, int*, ...) { ++handled; }

// Makes a mistake on `comm`. Whether the handler was called.
bool is_handled(MPI_Comm comm) {
  const int before = handled;
  MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return handled != before;
}

// As two threads may do on one communicator: the second begins before the first ends, in either order.
TEST(ErrorsReturned, TheHandlerComesBackWithTheLast) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  ASSERT_TRUE(is_handled(comm));
  for (const bool first_ends_first : {true, false}) {
    std::optional<ErrorsReturned> first(abi::comm(comm)), second(abi::comm(comm));
    EXPECT_FALSE(is_handled(comm));
    (first_ends_first ? first : second).reset();
    EXPECT_FALSE(is_handled(comm));
    (first_ends_first ? second : first).reset();
    EXPECT_TRUE(is_handled(comm));
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  {
    const ErrorsReturned guard(abi::comm(comm));
    MPI_Comm_set_errhandler(comm, handler);  // as another thread of the program may
  }
  EXPECT_TRUE(is_handled(comm));
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace quadrille::test
