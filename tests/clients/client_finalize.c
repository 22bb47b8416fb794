/* A library that cleans up in a callback of MPI_Finalize, with calls of all forms: blocking, nonblocking, and starts of
 * a persistent request that was made before. */
#include <mpi.h>
#include <stdio.h>
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

static void call(void) {
  MPI_Request request;
  fill();
  MPI_Ialltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check();
  fill();
  MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
  check();
  if (kept == MPI_REQUEST_NULL) return;
  fill();
  MPI_Start(&kept);
  MPI_Wait(&kept, MPI_STATUS_IGNORE);
  check();
}

static int clean_up(MPI_Comm self, int key, void* value, void* extra) {
  (void)self, (void)key, (void)value, (void)extra;
  for (int i = 0; i < 3; ++i) call();
  if (kept != MPI_REQUEST_NULL) MPI_Request_free(&kept);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, comm);
  if (rank == 0) printf("%d ranks, %d wrong values in %d turns\n", size, all, turn);
  fflush(stdout);
  MPI_Comm_free(&comm);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, clean_up, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  for (int i = 0; i < 15; ++i) call();
#ifdef PERSISTENT
  PERSISTENT_NAME(PERSISTENT, _Alltoall_init)(sent, 1, MPI_INT, received, 1, MPI_INT, comm, MPI_INFO_NULL, &kept);
#endif
  MPI_Finalize();
  return wrong != 0;
}
