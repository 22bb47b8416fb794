// Calls whose explanation says.sh looks for: [large] [BLOCK [CALLS]], 64 bytes and 3 calls if not given; on
// MPI_COMM_WORLD like those that the preload library itself makes in MPI_Init, and few on another communicator, which
// is not set up then. `large`: through the doors for large counts.
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace explain_check {

// The functions have the arguments of MPI_Allgather and MPI_Alltoall.
template <class Allgather, class Alltoall>
int explain(int argc, char** argv, Allgather allgather, Alltoall alltoall) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int block = argc > 1 ? std::atoi(argv[1]) : 64, calls = argc > 2 ? std::atoi(argv[2]) : 3;
  std::vector<char> send(static_cast<std::size_t>(block) * static_cast<std::size_t>(ranks)), receive(send.size());
  for (int call = 0; call < calls; ++call) {
    allgather(send.data(), block, MPI_BYTE, receive.data(), block, MPI_BYTE, MPI_COMM_WORLD);
    alltoall(send.data(), block, MPI_BYTE, receive.data(), block, MPI_BYTE, MPI_COMM_WORLD);
  }
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int call = 0; call < 3; ++call) {
    alltoall(send.data(), block, MPI_BYTE, receive.data(), block, MPI_BYTE, other);
  }
  MPI_Comm_free(&other);
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
#if defined(QUADRILLE_HAVE_LARGE_COUNT)
  if (argc > 1 && std::string(argv[1]) == "large") {
    return explain(
        argc - 1, argv + 1, [](auto... of) { return MPI_Allgather_c(of...); },
        [](auto... of) { return MPI_Alltoall_c(of...); });
  }
#endif
  return explain(
      argc, argv, [](auto... of) { return MPI_Allgather(of...); }, [](auto... of) { return MPI_Alltoall(of...); });
}

}  // namespace explain_check
