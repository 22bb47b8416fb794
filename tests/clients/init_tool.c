/* A profiling tool as users write them: it makes its table and a communicator in its own MPI_Init, counts calls in the
 * table, and gathers them in its own MPI_Finalize. It ends the program if a function of its own is called before its
 * MPI_Init.
 * It is preloaded, or linked into the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(PERSISTENT) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#define JOIN(a, b) a##b
#define PERSISTENT_NAME(prefix, name) JOIN(prefix, name)

enum { inits, sends, barriers, copies, blocks, blocking, nonblocking, persistent, kinds };
static long* table;
static MPI_Comm own;

static void count(int kind) {
  if (table == NULL) {
    fprintf(stderr, "the tool: a call of kind %d before its MPI_Init\n", kind);
    abort();
  }
  ++table[kind];
}

static void begin(void) {
  if (table == NULL) table = calloc(kinds, sizeof *table);
  count(inits);
  PMPI_Comm_dup(MPI_COMM_WORLD, &own);
}

int MPI_Init(int* argc, char*** argv) {
  const int error = PMPI_Init(argc, argv);
  begin();
  return error;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int error = PMPI_Init_thread(argc, argv, required, provided);
  begin();
  return error;
}

int MPI_Send(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count(sends);
  return PMPI_Send(data, n, type, to, tag, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  count(barriers);
  return PMPI_Barrier(comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  count(copies);
  return PMPI_Comm_dup(comm, copy);
}

int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void* base) {
  count(blocks);
  return PMPI_Alloc_mem(bytes, info, base);
}

int MPI_Alltoall(const void* s, int n, MPI_Datatype type, void* r, int m, MPI_Datatype u, MPI_Comm comm) {
  count(blocking);
  return PMPI_Alltoall(s, n, type, r, m, u, comm);
}

int MPI_Ialltoall(const void* s, int n, MPI_Datatype type, void* r, int m, MPI_Datatype u, MPI_Comm comm,
                  MPI_Request* q) {
  count(nonblocking);
  return PMPI_Ialltoall(s, n, type, r, m, u, comm, q);
}

#ifdef PERSISTENT
int PERSISTENT_NAME(PERSISTENT, _Alltoall_init)(const void* s, int n, MPI_Datatype type, void* r, int m, MPI_Datatype u,
                                                MPI_Comm comm, MPI_Info info, MPI_Request* q) {
  count(persistent);
  return PERSISTENT_NAME(P, PERSISTENT_NAME(PERSISTENT, _Alltoall_init))(s, n, type, r, m, u, comm, info, q);
}
#endif

/* Quadrille serves calls of the last three kinds itself: the tool sees those alone that it does not. */
int MPI_Finalize(void) {
  int rank = 0, size = 0;
  PMPI_Comm_rank(own, &rank);
  PMPI_Comm_size(own, &size);
  long* all = malloc(sizeof *all * kinds * (size_t)size);
  for (int turn = 0; turn < 20; ++turn) PMPI_Allgather(table, kinds, MPI_LONG, all, kinds, MPI_LONG, own);
  if (rank == 0) {
    long sum[kinds] = {0};
    for (int i = 0; i < kinds * size; ++i) sum[i % kinds] += all[i];
    printf("the tool saw %ld starts, %ld messages, %ld barriers, %ld copies\n", sum[inits], sum[sends], sum[barriers],
           sum[copies]);
    printf("blocks: %s, blocking: %s, nonblocking: %s\n", sum[blocks] > 0 ? "some" : "none",
           sum[blocking] > 0 ? "some" : "none", sum[nonblocking] > 0 ? "some" : "none");
    fflush(stdout);
  }
  free(all);
  PMPI_Comm_free(&own);
  return PMPI_Finalize();
}
