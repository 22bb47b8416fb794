// Which hook of the MPI's progress is there: what the library has says so, and the name of the MPI does not.
#include <gtest/gtest.h>

#include "changed_mpi.hpp"
#include "mpi/progress.hpp"

namespace quadrille::test {
namespace {

TEST(ProgressHook, OfOpenMpiIsThereByAnyAbi) {
  ChangedMpi changed;
  Mpi& t = changed.table();
  for (const Abi abi : {Abi::openmpi, Abi::standard}) {
    t.abi = abi;
    t.opal_progress_register = t.opal_progress_unregister = nullptr;
    EXPECT_FALSE(progress_hook_works());
    t.opal_progress_register = t.opal_progress_unregister = [](int (*)()) { return 0; };
    EXPECT_TRUE(progress_hook_works());
  }
}

TEST(ProgressHook, OfMpichIsThereByItsOwnAbi) {
  ChangedMpi changed;
  Mpi& t = changed.table();
  t.opal_progress_register = t.opal_progress_unregister = nullptr;
  t.Async_start = [](int (*)(void*), void*, int) { return int{mpi_success}; };
  t.Request_is_complete = [](MpiRequest) { return 1; };
  t.abi = Abi::mpich;
  EXPECT_TRUE(progress_hook_works());
  t.abi = Abi::standard;
  EXPECT_FALSE(progress_hook_works());
}

}  // namespace
}  // namespace quadrille::test
