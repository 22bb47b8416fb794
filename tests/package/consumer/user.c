/* A user's program in C: an all-to-all by the public API, checked. */
#include <quadrille.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int* sent = malloc(ranks * sizeof *sent);
  int* received = malloc(ranks * sizeof *received);
  for (int to = 0; to < ranks; ++to) {
    sent[to] = 1000 * rank + to;
    received[to] = -1;
  }
  Quadrille_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from) wrong += received[from] != 1000 * from + rank;
  wrong += Quadrille_Version() != QUADRILLE_VERSION;
  wrong += ranks < 2; /* one rank alone would prove nothing */
  if (wrong) fprintf(stderr, "rank %d of %d: %d wrong\n", rank, ranks, wrong);
  free(sent);
  free(received);
  MPI_Finalize();
  return wrong != 0;
}
