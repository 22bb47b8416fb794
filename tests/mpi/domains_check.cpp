// An Alltoall on MPI_COMM_WORLD and on a communicator of the same ranks the other way round, for says.sh: which NUMA
// domains they are told to have does not depend on their numbers there.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace domains_check {

bool exchange(MPI_Comm comm) {
  int ranks = 0, me = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &me);
  std::vector<int> send, receive(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) send.push_back(100 * me + r);
  MPI_Alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm);
  for (int r = 0; r < ranks; ++r) {
    if (receive[static_cast<std::size_t>(r)] != 100 * r + me) return false;
  }
  return true;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm other;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &other);
  bool good = exchange(MPI_COMM_WORLD);
  good = exchange(other) && good;
  MPI_Comm_free(&other);
  if (!good) std::puts("wrong data");
  MPI_Finalize();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace domains_check
