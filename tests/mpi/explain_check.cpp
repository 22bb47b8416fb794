// Calls whose explanation says.sh looks for: [BLOCK [CALLS]], 64 bytes and 3 calls if not given; on MPI_COMM_WORLD like
// those that the preload library itself makes in MPI_Init, and few on another communicator, which is not set up then.
#include <mpi.h>

#include <cstdlib>
#include <vector>

// Through the doors for large counts.
#if defined(LARGE_COUNTS)
#define MPI_Allgather MPI_Allgather_c
#define MPI_Alltoall MPI_Alltoall_c
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int block = argc > 1 ? std::atoi(argv[1]) : 64, calls = argc > 2 ? std::atoi(argv[2]) : 3;
  std::vector<char> send(static_cast<std::size_t>(block) * static_cast<std::size_t>(ranks)), receive(send.size());
  for (int call = 0; call < calls; ++call) {
    MPI_Allgather(send.data(), block, MPI_BYTE, receive.data(), block, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoall(send.data(), block, MPI_BYTE, receive.data(), block, MPI_BYTE, MPI_COMM_WORLD);
  }
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int call = 0; call < 3; ++call) {
    MPI_Alltoall(send.data(), block, MPI_BYTE, receive.data(), block, MPI_BYTE, other);
  }
  MPI_Comm_free(&other);
  MPI_Finalize();
}
