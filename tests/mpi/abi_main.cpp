// main() of the small programs that are built for each ABI (abi.cmake). They run all their cases, whatever
// QUADRILLE_TEST_PART says.
#include <gtest/gtest.h>
#include <mpi.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
