/* The messages of some algorithms, written by hand, for SimGrid's SMPI: prints the simulated microseconds.
     smpi_program spread-out|pairwise|bruck|ring BYTES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static char *out, *in;

/* All messages at once. */
static void spread_out(int bytes) {
  MPI_Request* requests = malloc(2 * (size_t)ranks * sizeof *requests);
  int count = 0;
  for (int i = 1; i < ranks; ++i) {
    MPI_Irecv(in, bytes, MPI_BYTE, (rank - i + ranks) % ranks, 0, MPI_COMM_WORLD, &requests[count++]);
    MPI_Isend(out, bytes, MPI_BYTE, (rank + i) % ranks, 0, MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

static void exchange(int to, int from, int bytes) {
  MPI_Request requests[2];
  MPI_Irecv(in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) return 1;
  const int bytes = atoi(argv[2]);
  out = calloc((size_t)ranks, (size_t)bytes);
  in = calloc((size_t)ranks, (size_t)bytes);
  const double start = MPI_Wtime();
  if (strcmp(argv[1], "spread-out") == 0) {
    spread_out(bytes);
  } else if (strcmp(argv[1], "pairwise") == 0) {
    for (int i = 1; i < ranks; ++i) exchange((rank + i) % ranks, (rank - i + ranks) % ranks, bytes);
  } else if (strcmp(argv[1], "ring") == 0) {
    for (int i = 1; i < ranks; ++i) exchange((rank + 1) % ranks, (rank - 1 + ranks) % ranks, bytes);
  } else if (strcmp(argv[1], "bruck") == 0) {
    for (int step = 1; step < ranks; step *= 2) {
      int blocks = 0;
      for (int i = 1; i < ranks; ++i) blocks += (i / step) % 2;
      exchange((rank - step + ranks) % ranks, (rank + step) % ranks, blocks * bytes);
    }
  } else {
    return 1;
  }
  const double mine = MPI_Wtime() - start;
  double last = 0;
  MPI_Reduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f\n", last * 1e6);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
