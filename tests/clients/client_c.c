/* A C program that knows nothing of Quadrille: every collective, in place too, checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { turns = 12, most = 64 };

static int rank, size, wrong;

static int value(int turn, int from, int to) { return turn * 10000 + from * 100 + to; }

static void expect(int found, int wanted, const char* what) {
  if (found == wanted) return;
  if (wrong++ < 3) fprintf(stderr, "rank %d, %s: %d is not %d\n", rank, what, found, wanted);
}

static void alltoall(int turn) {
  int send[most], receive[most], place[most];
  for (int p = 0; p < size; ++p) {
    send[p] = place[p] = value(turn, rank, p);
    receive[p] = -1;
  }
  MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, 1, MPI_INT, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) {
    expect(receive[p], value(turn, p, rank), "alltoall");
    expect(place[p], value(turn, p, rank), "alltoall in place");
  }
}

/* Rank s sends s + d ints to rank d, from the end of the buffer to its start. */
static void alltoallv(int turn) {
  int counts[most], places[most], send[2 * most * most], receive[2 * most * most];
  int place[2 * most * most], total = 0;
  for (int p = size - 1; p >= 0; --p) {
    counts[p] = rank + p;
    places[p] = total;
    for (int i = 0; i < counts[p]; ++i) send[total + i] = place[total + i] = value(turn, rank, p) + i;
    total += counts[p];
  }
  MPI_Alltoallv(send, counts, places, MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, place, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) {
    for (int i = 0; i < counts[p]; ++i) {
      expect(receive[places[p] + i], value(turn, p, rank) + i, "alltoallv");
      expect(place[places[p] + i], value(turn, p, rank) + i, "alltoallv in place");
    }
  }
}

static MPI_Datatype at_address(int* where) {
  MPI_Aint address;
  MPI_Datatype type;
  const int one = 1;
  MPI_Get_address(where, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static void alltoallw_at_addresses(int turn) {
  int counts[most], zeros[most], send[most], receive[most];
  MPI_Datatype from[most], to[most];
  for (int p = 0; p < size; ++p) {
    counts[p] = 1;
    zeros[p] = 0;
    send[p] = value(turn, rank, p);
    from[p] = at_address(&send[p]);
    to[p] = at_address(&receive[p]);
  }
  MPI_Alltoallw(MPI_BOTTOM, counts, zeros, from, MPI_BOTTOM, counts, zeros, to, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) {
    expect(receive[p], value(turn, p, rank), "alltoallw");
    MPI_Type_free(&from[p]);
    MPI_Type_free(&to[p]);
  }
}

static void allgather(int turn) {
  int all[most], place[most], counts[most], places[most], gathered[most];
  const int mine = value(turn, rank, 0);
  for (int p = 0; p < size; ++p) {
    all[p] = place[p] = gathered[p] = -1;
    counts[p] = p % 2;
    places[p] = size - 1 - p;
  }
  place[rank] = mine;
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(&mine, rank % 2, MPI_INT, gathered, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) {
    expect(all[p], value(turn, p, 0), "allgather");
    expect(place[p], value(turn, p, 0), "allgather in place");
    expect(gathered[size - 1 - p], p % 2 ? value(turn, p, 0) : -1, "allgatherv");
  }
}

/* Types of Fortran that come with the MPI have no name. */
static void alltoall_of_fortran(int turn) {
  int send[most], receive[most];
  MPI_Datatype integer, one;
  MPI_Type_create_f90_integer(9, &integer);
  MPI_Type_contiguous(1, integer, &one);
  MPI_Type_commit(&one);
  for (int p = 0; p < size; ++p) send[p] = value(turn, rank, p);
  MPI_Alltoall(send, 1, one, receive, 1, one, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) expect(receive[p], value(turn, p, rank), "alltoall of Fortran's integers");
  MPI_Type_free(&one);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < turns; ++turn) {
    alltoall(turn);
    alltoallv(turn);
    alltoallw_at_addresses(turn);
    allgather(turn);
    alltoall_of_fortran(turn);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong values\n", size, wrong);
  MPI_Finalize();
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
