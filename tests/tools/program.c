/* An MPI program for the tests of `quadrille run`. Its first argument says what it does, mostly at the end:
 *   print    each rank prints LD_PRELOAD and QUADRILLE_EXPLAIN
 *   fail     rank 0 exits with status 7
 *   wait     prints "ready" and waits for a signal
 *   blocks   its blocks are large, and each rank prints how many were wrong; for tools that watch its memory
 *   over     then, too, and rank 1 writes one byte past the end of its memory
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* variable(const char* name) {
  const char* value = getenv(name);
  return value != NULL ? value : "";
}

int main(int argc, char** argv) {
  const char* action = argc > 1 ? argv[1] : "";
  const int is_over = strcmp(action, "over") == 0, is_large = is_over || strcmp(action, "blocks") == 0;
  const int calls = is_large ? 20 : 10, numbers = is_large ? 8192 : 1;
  int rank, ranks, call, i, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int* sent = malloc(sizeof(int) * numbers * ranks);
  int* received = malloc(sizeof(int) * numbers * ranks);
  for (call = 0; call < calls; ++call) {
    for (i = 0; i < numbers * ranks; ++i) sent[i] = 1000 * call + 100 * rank + i / numbers;
    MPI_Alltoall(sent, numbers, MPI_INT, received, numbers, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < ranks; ++i) {
      const int* block = received + i * numbers;
      const int expected = 1000 * call + 100 * i + rank;
      if (block[0] != expected || block[numbers - 1] != expected) ++wrong; /* decides something: valgrind looks */
    }
  }
  if (is_over && rank == 1) ((char*)received)[sizeof(int) * numbers * ranks] = 1;
  if (is_large) printf("%d wrong blocks\n", wrong);
  free(sent);
  free(received);
  if (strcmp(action, "print") == 0) {
    printf("preload=%s explain=%s\n", variable("LD_PRELOAD"), variable("QUADRILLE_EXPLAIN"));
  }
  if (strcmp(action, "wait") == 0) {
    puts("ready");
    fflush(stdout);
    for (;;) pause();
  }
  MPI_Finalize();
  if (wrong > 0) return 3;
  return strcmp(action, "fail") == 0 && rank == 0 ? 7 : 0;
}
