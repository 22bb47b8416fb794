/* An MPI program for the tests of `quadrille run`. Its first argument says what it does at the end:
 *   print    each rank prints LD_PRELOAD and QUADRILLE_EXPLAIN
 *   fail     rank 0 exits with status 7
 *   wait     prints "ready" and waits for a signal
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_ranks = 64, calls = 10 };

static const char* variable(const char* name) {
  const char* value = getenv(name);
  return value != NULL ? value : "";
}

int main(int argc, char** argv) {
  const char* action = argc > 1 ? argv[1] : "";
  int sent[most_ranks], received[most_ranks], rank, ranks, call, i, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (call = 0; call < calls; ++call) {
    for (i = 0; i < ranks; ++i) sent[i] = 1000 * call + 100 * rank + i;
    MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < ranks; ++i) wrong += received[i] != 1000 * call + 100 * i + rank;
  }
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
