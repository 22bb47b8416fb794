// One rank has no memory to pack its blocks in: all ranks get an error, nobody waits, and the next call is right.
#include <mpi.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace no_memory_check {

int rank = 0, size = 1;

// Bytes of addresses that this process has taken.
rlim_t bytes_taken() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * 4096;
}

// Past the library's setrlimit, which leaves room for what Quadrille has reserved.
void allow_only(rlim_t more) {
  rlimit limit{};
  syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit);
  limit.rlim_cur = more == RLIM_INFINITY ? limit.rlim_max : bytes_taken() + more;
  syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, nullptr);
}

int value(int from, int to) { return from * 1000 + to; }

// In place: all blocks must be copied before the first is received over.
int alltoall(std::vector<int>& buffer, int ints) {
  for (int peer = 0; peer < size; ++peer) {
    buffer[static_cast<std::size_t>(peer) * static_cast<std::size_t>(ints)] = value(rank, peer);
  }
  return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, buffer.data(), ints, MPI_INT, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  constexpr int ints = 12 << 20;  // more than the 64 MiB that an arena of malloc may have in reserve
  std::vector<int> buffer(static_cast<std::size_t>(size) * ints);
  bool good = true;
  for (int turn = 0; turn < 3; ++turn) {
    if (rank == 1) allow_only(rlim_t{1} << 20);
    const int failed = alltoall(buffer, ints);
    if (rank == 1) allow_only(RLIM_INFINITY);
    if (failed == MPI_SUCCESS) std::printf("rank %d: no error in turn %d\n", rank, turn);
    good = good && failed != MPI_SUCCESS;
    const int error = alltoall(buffer, ints);
    if (error != MPI_SUCCESS) std::printf("rank %d: error %d in turn %d\n", rank, error, turn);
    good = good && error == MPI_SUCCESS;
    for (int peer = 0; peer < size; ++peer) {
      good = good && buffer[static_cast<std::size_t>(peer) * static_cast<std::size_t>(ints)] == value(peer, rank);
    }
  }
  std::printf("rank %d: %s\n", rank, good ? "good" : "WRONG");
  MPI_Finalize();
  return good ? 0 : 1;
}

}  // namespace no_memory_check
