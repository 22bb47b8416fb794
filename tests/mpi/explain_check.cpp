// Calls whose explanation says.sh looks for: on MPI_COMM_WORLD like those that the preload library itself makes in
// MPI_Init, and few on another communicator, which is not set up then.
#include <mpi.h>

#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> send(64 * static_cast<std::size_t>(ranks)), receive(send.size());
  for (int call = 0; call < 3; ++call) {
    MPI_Allgather(send.data(), 64, MPI_BYTE, receive.data(), 64, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoall(send.data(), 64, MPI_BYTE, receive.data(), 64, MPI_BYTE, MPI_COMM_WORLD);
  }
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int call = 0; call < 3; ++call) {
    MPI_Alltoall(send.data(), 64, MPI_BYTE, receive.data(), 64, MPI_BYTE, other);
  }
  MPI_Comm_free(&other);
  MPI_Finalize();
}
