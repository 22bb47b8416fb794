/* A program with large counts (MPI 4) that knows nothing of Quadrille. Prints what it received. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_ranks = 16, turns = 12 };

static int rank, ranks;
static unsigned long sum = 17;

static void add(const int* data, int count) {
  int i;
  for (i = 0; i < count; ++i) sum = sum * 31 + (unsigned long)data[i];
}

static void add_and_clear(int* data) {
  int i;
  add(data, 2 * most_ranks);
  for (i = 0; i < 2 * most_ranks; ++i) data[i] = -1;
}

static void dense(int turn) {
  int send[2 * most_ranks], receive[2 * most_ranks], i;
  MPI_Count counts[most_ranks];
  MPI_Aint places[most_ranks], bytes[most_ranks];
  MPI_Datatype types[most_ranks];
  for (i = 0; i < 2 * most_ranks; ++i) send[i] = 1000 * turn + 100 * rank + i, receive[i] = -1;
  for (i = 0; i < ranks; ++i) {
    counts[i] = (rank + i) % 3;
    places[i] = 2 * (ranks - 1 - i);
    bytes[i] = (MPI_Aint)(places[i] * (MPI_Aint)sizeof(int));
    types[i] = MPI_INT;
  }
  MPI_Alltoall_c(send, 2, MPI_INT, receive, 2, MPI_INT, MPI_COMM_WORLD);
  add_and_clear(receive);
  MPI_Alltoallv_c(send, counts, places, MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD);
  add_and_clear(receive);
  MPI_Alltoallw_c(send, counts, bytes, types, receive, counts, bytes, types, MPI_COMM_WORLD);
  add_and_clear(receive);
  MPI_Allgather_c(send, 2, MPI_INT, receive, 2, MPI_INT, MPI_COMM_WORLD);
  add_and_clear(receive);
  for (i = 0; i < ranks; ++i) counts[i] = i % 3;
  MPI_Allgatherv_c(send, rank % 3, MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD);
  add_and_clear(receive);
  for (i = 0; i < ranks; ++i) receive[i] = 10 * rank + i;
  MPI_Alltoall_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, 1, MPI_INT, MPI_COMM_WORLD);
  add_and_clear(receive);
}

static void neighbors(int turn, MPI_Comm ring) {
  int send[2 * most_ranks], receive[2 * most_ranks], i;
  const MPI_Count one[1] = {3};
  const MPI_Aint at[1] = {4}, bytes[1] = {8};
  const MPI_Datatype types[1] = {MPI_INT};
  for (i = 0; i < 2 * most_ranks; ++i) send[i] = 7000 * turn + 100 * rank + i, receive[i] = -1;
  MPI_Neighbor_alltoall_c(send, 5, MPI_INT, receive, 5, MPI_INT, ring);
  add_and_clear(receive);
  MPI_Neighbor_alltoallv_c(send, one, at, MPI_INT, receive, one, at, MPI_INT, ring);
  add_and_clear(receive);
  MPI_Neighbor_alltoallw_c(send, one, bytes, types, receive, one, bytes, types, ring);
  add_and_clear(receive);
  MPI_Neighbor_allgather_c(send, 5, MPI_INT, receive, 5, MPI_INT, ring);
  add_and_clear(receive);
  MPI_Neighbor_allgatherv_c(send, 3, MPI_INT, receive, one, at, MPI_INT, ring);
  add_and_clear(receive);
}

/* Types made with large counts: only functions with large counts tell how. */
enum { kinds = 6, ints_of_element = 16 };
static MPI_Datatype types[kinds];

static void make_types(void) {
  const MPI_Count lengths[2] = {1, 2}, places[2] = {8, 0};
  const MPI_Datatype parts[2] = {MPI_INT, MPI_INT};
  int i;
  MPI_Type_contiguous_c(3, MPI_INT, &types[0]);
  MPI_Type_vector_c(2, 1, 2, MPI_INT, &types[1]);
  MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &types[2]);
  MPI_Type_create_struct_c(2, lengths, places, parts, &types[3]);
  MPI_Type_dup(types[3], &types[4]);
  MPI_Type_contiguous(2, types[1], &types[5]);
  for (i = 0; i < kinds; ++i) MPI_Type_commit(&types[i]);
}

static void typed(int turn, MPI_Comm ring) {
  int send[most_ranks * ints_of_element], receive[most_ranks * ints_of_element], k, i;
  const int ones[1] = {1};
  const MPI_Aint none[1] = {0};
  int counts[most_ranks], bytes[most_ranks];
  MPI_Datatype of[most_ranks];
  for (i = 0; i < most_ranks * ints_of_element; ++i) send[i] = 300 * turn + 1000 * rank + i;
  for (k = 0; k < kinds; ++k) {
    for (i = 0; i < most_ranks * ints_of_element; ++i) receive[i] = -1;
    for (i = 0; i < ranks; ++i) {
      counts[i] = 1, bytes[i] = i * ints_of_element * (int)sizeof(int);
      of[i] = types[k];
    }
    MPI_Alltoallw(send, counts, bytes, of, receive, counts, bytes, of, MPI_COMM_WORLD);
    add(receive, ranks * ints_of_element);
    MPI_Alltoall(send, 1, types[k], receive, 1, types[k], MPI_COMM_WORLD);
    add(receive, ranks * ints_of_element);
    MPI_Allgather_c(send, 1, types[k], receive, 1, types[k], MPI_COMM_WORLD);
    add(receive, ranks * ints_of_element);
    MPI_Neighbor_alltoallw(send, ones, none, &types[k], receive, ones, none, &types[k], ring);
    add(receive, ranks * ints_of_element);
  }
}

int main(int argc, char** argv) {
  MPI_Comm ring;
  unsigned long sums[most_ranks];
  int i, before, after;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &ring);
  make_types();
  for (i = 0; i < turns; ++i) dense(i), neighbors(i, ring), typed(i, ring);
  for (i = 0; i < kinds; ++i) MPI_Type_free(&types[i]);
  MPI_Gather(&sum, 1, MPI_UNSIGNED_LONG, sums, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  for (i = 0; rank == 0 && i < ranks; ++i) printf("rank %d received %lx\n", i, sums[i]);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
