/* The program under the tool init_tool.c: the calls that the tool counts, and what they deliver. */
#include <mpi.h>
#include <stdio.h>
#if defined(PERSISTENT) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#define JOIN(a, b) a##b
#define PERSISTENT_NAME(prefix, name) JOIN(prefix, name)

enum { most = 16 };
static int rank, size, wrong, sent[most], received[most];

static void fill(int turn) {
  for (int r = 0; r < size; ++r) sent[r] = rank * 100 + r + turn, received[r] = -1;
}

static void check(int turn) {
  for (int r = 0; r < size; ++r) wrong += received[r] != r * 100 + rank + turn;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  void *heap, *hinted;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "false");
  MPI_Alloc_mem(100000, MPI_INFO_NULL, &heap);
  MPI_Alloc_mem(100000, info, &hinted); /* which is left to the MPI */
  MPI_Info_free(&info);
  MPI_Free_mem(hinted);
  MPI_Free_mem(heap);
  for (int turn = 0; turn < 40; ++turn) {
    fill(turn);
    if (turn % 2 == 0) {
      MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
    } else {
      MPI_Request request;
      MPI_Ialltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm, &request);
      turn % 4 == 1 ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    check(turn);
    if (rank == 0) MPI_Send(&turn, 1, MPI_INT, 1, 3, comm);
    int got = turn;
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
    wrong += got != turn;
  }
#ifdef PERSISTENT
  MPI_Request kept;
  PERSISTENT_NAME(PERSISTENT, _Alltoall_init)(sent, 1, MPI_INT, received, 1, MPI_INT, comm, MPI_INFO_NULL, &kept);
  fill(7);
  MPI_Start(&kept);
  MPI_Wait(&kept, MPI_STATUS_IGNORE);
  check(7);
  MPI_Request_free(&kept);
#endif
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong values\n", size, all);
  fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}
