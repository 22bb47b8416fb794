// Calls of the sparse exchange one after the other, on a stand-in for an MPI that keeps one message.
#include <gtest/gtest.h>

#include <array>

#include "changed_mpi.hpp"
#include "run/group.hpp"
#include "run/sparse.hpp"

namespace quadrille::test {
namespace {

// What the one rank that runs sends, and what another has sent it. Static, as MPI's functions have no other way to it.
int sent_with = -1, waiting_with = -1, taken = 0;

class SparseConsensus : public testing::Test {
 protected:
  SparseConsensus() {
    group_.ranks = 2;
    group_.change_messages().comm = fake_comm(0);
    sent_with = waiting_with = -1, taken = 0;
    Mpi& t = changed_.table();
    t.Issend = [](const void*, int, MpiType, int, int tag, MpiComm, MpiRequest*) {
      return sent_with = tag, int{mpi_success};
    };
    t.Iprobe = [](int, int tag, MpiComm, int* found, MpiStatus* status) {
      *found = tag == waiting_with ? 1 : 0;
      set_status(*status, 1, tag, mpi_success);
      return int{mpi_success};
    };
    t.Get_elements_x = [](const MpiStatus*, MpiType, MpiCount* bytes) { return *bytes = 0, int{mpi_success}; };
    t.Irecv = [](void*, int, MpiType, int, int, MpiComm, MpiRequest*) {
      return waiting_with = -1, ++taken, int{mpi_success};
    };
    t.Waitall = [](int, MpiRequests, MpiStatus*) { return int{mpi_success}; };
    t.Testany = [](int, MpiRequests, int* index, int* flag, MpiStatus*) {
      return *index = 0, *flag = 1, int{mpi_success};
    };
    // The barrier is complete at the third look, so that messages are looked for.
    t.Ibarrier = [](MpiComm, MpiRequest*) { return int{mpi_success}; };
    t.Test = [](MpiRequest*, int* flag, MpiStatus*) {
      static int looks = 0;
      *flag = ++looks % 3 == 0 ? 1 : 0;
      return int{mpi_success};
    };
  }
  // Returns the tag of the message that this rank sends to rank 1.
  int exchange() {
    const std::array<run::Parcel, 1> out = {run::Parcel{0, 1, 0, nullptr}};
    run::Mail mail;
    EXPECT_EQ(run::sparse_consensus(group_, turn_++, out, mpi_success, mail), mpi_success);
    return sent_with;
  }
  run::Group group_;
  unsigned turn_ = 0;

 private:
  ChangedMpi changed_;
};

// Rank 1 has left a call that this rank is still in, and sends in its next one.
TEST_F(SparseConsensus, LeavesMessagesOfTheNextCallAlone) {
  const int first = exchange();
  const int second = exchange();
  const int third = exchange();
  EXPECT_NE(first, second);
  EXPECT_EQ(first, third);
  waiting_with = first;
  exchange();  // the fourth
  EXPECT_EQ(taken, 0);
  exchange();  // the fifth
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace quadrille::test
