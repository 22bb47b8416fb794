// read_only BYTES
// The receive buffer of the last rank is read-only. As natively, the program ends: by the signal of the first write
// there, or by an error of the call. One line says which.
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace read_only_check {

void say_signal(int number) {
  constexpr char line[] = "ended by a signal\n";
  static_cast<void>(!write(STDOUT_FILENO, line, sizeof line - 1));
  std::signal(number, SIG_DFL);
  raise(number);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int block = argc > 1 ? std::atoi(argv[1]) : 8;
  const std::size_t bytes = static_cast<std::size_t>(block) * static_cast<std::size_t>(size);
  std::vector<char> send(bytes, static_cast<char>(rank));
  void* const receive = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int error = MPI_SUCCESS;
  for (int call = 0; call < 3; ++call) {
    error |= MPI_Alltoall(send.data(), block, MPI_BYTE, receive, block, MPI_BYTE, MPI_COMM_WORLD);
  }
  if (error != MPI_SUCCESS) return 1;
  for (const int signal : {SIGSEGV, SIGBUS}) std::signal(signal, say_signal);
  if (rank == size - 1) mprotect(receive, bytes, PROT_READ);
  error = MPI_Alltoall(send.data(), block, MPI_BYTE, receive, block, MPI_BYTE, MPI_COMM_WORLD);
  if (rank == size - 1 && error != MPI_SUCCESS) {
    std::puts("ended by an error");
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

}  // namespace read_only_check
