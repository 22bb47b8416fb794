/* An MPI program for tools that watch its memory. Its first argument:
 *   over   rank 1 writes one byte past the end of a block
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bytes = 32768, calls = 20 };

int main(int argc, char** argv) {
  int rank, ranks, call, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* sent = malloc((size_t)bytes * ranks);
  char* received = malloc((size_t)bytes * ranks);
  for (call = 0; call < calls; ++call) {
    memset(sent, rank + call, (size_t)bytes * ranks);
    MPI_Alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; ++from) {
      const char* block = received + (size_t)bytes * from;
      if (block[0] != from + call || block[bytes - 1] != from + call) ++wrong; /* decides something: valgrind looks */
    }
  }
  if (argc > 1 && strcmp(argv[1], "over") == 0 && rank == 1) received[(size_t)bytes * ranks] = 1;
  printf("%d wrong blocks\n", wrong);
  free(sent);
  free(received);
  MPI_Finalize();
  return wrong > 0 ? 3 : 0;
}
