// A program with MPI sessions alone never calls MPI_Init: MPI_COMM_WORLD and MPI_COMM_SELF are not there.
#include <gtest/gtest.h>

#include "changed_mpi.hpp"
#include "team/team.hpp"

namespace quadrille::test {
namespace {

bool asked = false;

class SessionsAlone : public testing::Test {
 protected:
  SessionsAlone() {
    asked = false;
    Mpi& t = changed_.table();
    t.Initialized = [](int* flag) { return *flag = 0, int{mpi_success}; };
    t.Comm_create_keyval = [](auto*, auto*, int* keyval, void*) { return *keyval = 1, int{mpi_success}; };
    t.Comm_set_attr = [](MpiComm, int, void*) { return asked = true, int{mpi_success}; };
    t.Comm_get_attr = [](MpiComm, int, void*, int* found) { return *found = 0, int{mpi_success}; };
    t.Comm_get_info = [](MpiComm, MpiInfo*) { return asked = true, int{mpi().err_comm}; };
  }

 private:
  ChangedMpi changed_;
};

TEST_F(SessionsAlone, NoTeamIsSought) {
  EXPECT_EQ(team::find_team(fake_comm(0)), nullptr);
  EXPECT_FALSE(asked);
}

TEST_F(SessionsAlone, TheMpiIsNotAskedForDevices) {
  EXPECT_EQ(team::mpi_device_use(), DeviceUse::none);
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace quadrille::test
