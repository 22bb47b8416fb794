/* The program under the tool init_tool.c: the calls that the tool counts, and what they deliver.
 *
 *   client_tooled            calls, and MPI_Finalize
 *   client_tooled finalize   calls of all forms, also in a callback of MPI_Finalize, as a library cleans up: blocking,
 *                            nonblocking, and starts of a persistent request that was made before */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#if defined(PERSISTENT) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#define JOIN(a, b) a##b
#define PERSISTENT_NAME(prefix, name) JOIN(prefix, name)

enum { most = 16 };
static MPI_Comm comm;
static MPI_Request kept = MPI_REQUEST_NULL;
static int rank, size, wrong, sent[most], received[most], turn;

static void fill(void) {
  ++turn;
  for (int r = 0; r < size; ++r) sent[r] = rank * 100 + r + turn, received[r] = -1;
}

static void check(void) {
  for (int r = 0; r < size; ++r) wrong += received[r] != r * 100 + rank + turn;
}

static void blocking(void) {
  fill();
  MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
  check();
}

static void nonblocking(int in_list) {
  MPI_Request request;
  fill();
  MPI_Ialltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm, &request);
  in_list ? MPI_Waitall(1, &request, MPI_STATUSES_IGNORE) : MPI_Wait(&request, MPI_STATUS_IGNORE);
  check();
}

static void make_persistent(void) {
#ifdef PERSISTENT
  PERSISTENT_NAME(PERSISTENT, _Alltoall_init)(sent, 1, MPI_INT, received, 1, MPI_INT, comm, MPI_INFO_NULL, &kept);
#endif
}

static void start_persistent(void) {
  if (kept == MPI_REQUEST_NULL) return;
  fill();
  MPI_Start(&kept);
  MPI_Wait(&kept, MPI_STATUS_IGNORE);
  check();
}

static void call_all(void) {
  nonblocking(0);
  blocking();
  start_persistent();
}

static int clean_up(MPI_Comm self, int key, void* value, void* extra) {
  (void)self, (void)key, (void)value, (void)extra;
  for (int i = 0; i < 3; ++i) call_all();
  if (kept != MPI_REQUEST_NULL) MPI_Request_free(&kept);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, comm);
  if (rank == 0) printf("%d ranks, %d wrong values in %d turns\n", size, all, turn);
  fflush(stdout);
  MPI_Comm_free(&comm);
  return MPI_SUCCESS;
}

static void clean_up_in_finalize(void) {
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, clean_up, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  for (int i = 0; i < 15; ++i) call_all();
  make_persistent();
}

static void allocate(void) {
  void *heap, *hinted;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "false");
  MPI_Alloc_mem(100000, MPI_INFO_NULL, &heap);
  MPI_Alloc_mem(100000, info, &hinted); /* which is left to the MPI */
  MPI_Info_free(&info);
  MPI_Free_mem(hinted);
  MPI_Free_mem(heap);
}

static void do_what_the_tool_counts(void) {
  allocate();
  for (int i = 0; i < 40; ++i) {
    i % 2 == 0 ? blocking() : nonblocking(i % 4 == 3);
    if (rank == 0) MPI_Send(&i, 1, MPI_INT, 1, 3, comm);
    int got = i;
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
    wrong += got != i;
  }
  make_persistent();
  start_persistent();
  if (kept != MPI_REQUEST_NULL) MPI_Request_free(&kept);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong values\n", size, all);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  argc > 1 && strcmp(argv[1], "finalize") == 0 ? clean_up_in_finalize() : do_what_the_tool_counts();
  MPI_Finalize();
  return wrong != 0;
}
