// Calls of the sparse exchange one after the other, on a stand-in for an MPI that keeps one message.
#include <gtest/gtest.h>

#include <array>

#include "changed_mpi.hpp"
#include "run/sparse.hpp"

namespace quadrille::test {
namespace {

// What the one rank that runs sends, and what another has sent it. Static, as MPI's functions have no other way to it.
int sent_with = -1, waiting_with = -1, taken = 0;

class SparseConsensus : public testing::Test {
 protected:
  SparseConsensus() {
    sent_with = waiting_with = -1, taken = 0;
    Mpi& t = changed_.table();
    t.Issend = [](const void*, int, MPI_Datatype, int, int tag, MPI_Comm, MPI_Request*) {
      return sent_with = tag, int{MPI_SUCCESS};
    };
    t.Iprobe = [](int, int tag, MPI_Comm, int* found, MPI_Status* status) {
      *found = tag == waiting_with ? 1 : 0;
      status->MPI_SOURCE = 1, status->MPI_TAG = tag;
      return int{MPI_SUCCESS};
    };
    t.Get_elements_x = [](const MPI_Status*, MPI_Datatype, MPI_Count* bytes) { return *bytes = 0, int{MPI_SUCCESS}; };
    t.Irecv = [](void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) {
      return waiting_with = -1, ++taken, int{MPI_SUCCESS};
    };
    t.Waitall = [](int, MPI_Request*, MPI_Status*) { return int{MPI_SUCCESS}; };
    // The barrier is complete at the third look, so that messages are looked for.
    t.Ibarrier = [](MPI_Comm, MPI_Request*) { return int{MPI_SUCCESS}; };
    t.Testall = [](int, MPI_Request*, int* flag, MPI_Status*) {
      static int looks = 0;
      *flag = ++looks % 3 == 0 ? 1 : 0;
      return int{MPI_SUCCESS};
    };
  }
  // Returns the tag of the message that this rank sends to rank 1.
  int exchange() {
    const std::array<run::Parcel, 1> out = {run::Parcel{0, 1, 0, nullptr}};
    run::Mail mail;
    EXPECT_EQ(run::sparse_consensus({fake_comm(0), 0, 2, 0, &turn_}, out, MPI_SUCCESS, mail), MPI_SUCCESS);
    return sent_with;
  }
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
