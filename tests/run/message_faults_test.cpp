// Messages where a rank may fail, on a stand-in for an MPI: src/run/transport.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "changed_mpi.hpp"
#include "run/transport.hpp"

namespace quadrille::test::message_faults {
namespace {

// One that has no error of its own ends some looks after the revocation.
struct Message {
  int looks = 3;
  int error = mpi_success;
};
// By the numbers of their requests. Static, as are the others: MPI's functions have no other way to them.
std::array<Message, 4> messages;
int begun = 0, revocations = 0, error_of_all = mpi_success;
const bool is_enabled = true;

int test_message(MpiRequest* request, int* flag, MpiStatus*) {
  Message& message = messages.at(request->word >> 8);
  const bool ends = message.error != mpi_success || (revocations > 0 && --message.looks == 0);
  *flag = ends ? 1 : 0;
  if (!ends) return mpi_success;
  *request = mpi().request_null;
  return message.error != mpi_success ? message.error : err_revoked();
}

class MessageFaults : public testing::Test {
 protected:
  MessageFaults() {
    messages.fill({});
    begun = revocations = 0, error_of_all = mpi_success;
    Mpi& t = changed_.table();
    t.abi = Abi::openmpi;
    t.ftmpi_enabled = &is_enabled;
    t.Comm_is_revoked = [](MpiComm, int* flag) { return *flag = revocations > 0 ? 1 : 0, int{mpi_success}; };
    t.Comm_get_failed = [](MpiComm, MpiGroup*) { return int{mpi_success}; };
    t.Comm_revoke = [](MpiComm) { return ++revocations, int{mpi_success}; };
    t.Irecv = [](void*, int, MpiType, int, int, MpiComm, MpiRequest* request) {
      *request = MpiRequest{static_cast<std::uintptr_t>(++begun) << 8};
      return int{mpi_success};
    };
    t.Isend = [](const void*, int, MpiType, int, int, MpiComm, MpiRequest* request) {
      *request = MpiRequest{static_cast<std::uintptr_t>(++begun) << 8};
      return int{mpi_success};
    };
    t.Test = test_message;
    t.Testall = [](int, MpiRequests, int* flag, MpiStatus*) {
      *flag = error_of_all != mpi_success ? 1 : 0;
      return error_of_all;
    };
    t.Waitall = [](int, MpiRequests, MpiStatus*) { return int{mpi_success}; };
    t.Testany = [](int, MpiRequests, int*, int*, MpiStatus*) {
      ADD_FAILURE() << "MPI_Testany forgets messages that are in flight";
      return int{mpi_success};
    };
  }
  int receive(run::MpiTransport& transport, std::size_t slot) {
    const run::Place place = run::plain_place(&data_, 1);
    return transport.start_receive(slot, 1, {&place, 1});
  }

 private:
  std::byte data_{};
  ChangedMpi changed_;
};

TEST_F(MessageFaults, ATransportAwaitsItsMessages) {
  {
    run::MpiTransport transport(fake_comm(0), 0);
    EXPECT_EQ(receive(transport, 0), mpi_success);
    EXPECT_EQ(revocations, 0);
  }
  EXPECT_GT(revocations, 0);
  EXPECT_EQ(messages[1].looks, 0);
}

TEST_F(MessageFaults, ATransportWithoutMessagesRevokesNothing) {
  { const run::MpiTransport transport(fake_comm(0), 0); }
  EXPECT_EQ(revocations, 0);
}

// That of one that has ended: the others are still known.
TEST_F(MessageFaults, TheFaultOfAMessageIsRevokedAtOnce) {
  {
    run::MpiTransport transport(fake_comm(0), 0);
    receive(transport, 0);
    receive(transport, 1);
    messages[2].error = err_proc_failed();
    std::size_t slot = 2;
    EXPECT_EQ(transport.any_done(2, false, false, slot), err_proc_failed());
    EXPECT_EQ(slot, 1U);
    EXPECT_EQ(revocations, 1);
  }
  EXPECT_EQ(messages[1].looks, 0);
}

TEST_F(MessageFaults, TheFaultOfAllMessagesIsRevokedAtOnce) {
  run::MpiTransport transport(fake_comm(0), 0);
  error_of_all = err_revoked();
  bool done = false;
  EXPECT_EQ(transport.all_done(1, true, done), err_revoked());
  EXPECT_TRUE(done);
  EXPECT_EQ(revocations, 1);
}

// What this rank lacks it must not send on, and the MPI might do so.
TEST_F(MessageFaults, NothingIsSentAfterAFault) {
  run::MpiTransport transport(fake_comm(0), 0);
  messages[1].error = messages[2].error = err_proc_failed();
  const run::Place nothing = run::plain_place(nullptr, 0);
  EXPECT_EQ(transport.start_send(0, 1, {&nothing, 1}), mpi_success);
  receive(transport, 1);
  std::size_t slot = 2;
  transport.any_done(2, false, false, slot);
  EXPECT_EQ(transport.start_send(0, 1, {&nothing, 1}), err_revoked());
  EXPECT_EQ(begun, 2);
}

// Any other error is this rank's alone.
TEST_F(MessageFaults, AnotherErrorRevokesNothing) {
  run::MpiTransport transport(fake_comm(0), 0);
  error_of_all = mpi().err_truncate;
  bool done = false;
  EXPECT_EQ(transport.all_done(1, true, done), mpi().err_truncate);
  EXPECT_EQ(revocations, 0);
}

}  // namespace
}  // namespace quadrille::test::message_faults
