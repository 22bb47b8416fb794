// As many communicators at a time as the MPI has, or 1500, each with a collective call: Quadrille's own may not take
// them from the program, and where it gets none for itself, the MPI makes the call.
//   communicators [COUNT]
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace communicators_check {

int rank = 0, size = 1;

bool is_right(MPI_Comm comm, int turn) {
  std::vector<int> send(static_cast<std::size_t>(size)), recv(send.size(), -1);
  for (int to = 0; to < size; ++to) send[static_cast<std::size_t>(to)] = turn * 10000 + rank * 100 + to;
  if (MPI_Alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm) != MPI_SUCCESS) return false;
  for (int from = 0; from < size; ++from) {
    if (recv[static_cast<std::size_t>(from)] != turn * 10000 + from * 100 + rank) return false;
  }
  return true;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 1500;
  std::vector<MPI_Comm> all;
  bool good = true;
  for (int i = 0; i < wanted && good; ++i) {
    MPI_Comm made = MPI_COMM_NULL;
    good = MPI_Comm_dup(MPI_COMM_WORLD, &made) == MPI_SUCCESS;  // or the program ends
    if (good) all.push_back(made);
    good = good && is_right(made, i);
  }
  for (std::size_t i = 0; i < all.size() && good; i += 97) good = is_right(all[i], static_cast<int>(i));
  for (MPI_Comm& comm : all) MPI_Comm_free(&comm);
  std::printf("rank %d: %zu communicators, %s\n", rank, all.size(), good ? "good" : "WRONG");
  MPI_Finalize();
  return good ? 0 : 1;
}

}  // namespace communicators_check
