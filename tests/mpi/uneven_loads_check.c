/* All-to-alls of unequal blocks, small and large ones in turn, so that ranks ask each other from time to time which
 * calls are alike. Run with a tool behind Quadrille on one rank only. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { turns = 1500, most_ranks = 16, most_ints = 3001 };

static int wrong;

static void exchange(int turn, int rank, int ranks, int ints, int* send, int* receive) {
  int counts[most_ranks], places[most_ranks], i, j;
  for (i = 0; i < ranks; ++i) {
    counts[i] = ints + (rank + i) % 2, places[i] = i * most_ints;
    for (j = 0; j < counts[i]; ++j) send[places[i] + j] = turn + 100 * rank + i;
  }
  MPI_Alltoallv(send, counts, places, MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (i = 0; i < ranks; ++i) {
    for (j = 0; j < counts[i]; ++j) wrong += receive[places[i] + j] != turn + 100 * i + rank;
  }
}

int main(int argc, char** argv) {
  const int sizes[3] = {1, 50, most_ints - 1};
  int rank, ranks, turn;
  int *send, *receive;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  send = malloc(sizeof(int) * most_ints * (size_t)ranks);
  receive = malloc(sizeof(int) * most_ints * (size_t)ranks);
  for (turn = 0; turn < turns; ++turn) exchange(turn, rank, ranks, sizes[turn / 7 % 3], send, receive);
  printf("rank %d: %d wrong values\n", rank, wrong);
  free(send);
  free(receive);
  MPI_Finalize();
  return wrong != 0;
}
