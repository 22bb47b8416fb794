/* A program of one MPI that loads another one, as a plugin may, and takes a function from the other one's handle.
 *
 *   client_other_mpi LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

enum { turns = 24, most = 8, count = 5 };

static int wrong;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  fprintf(stderr, "wrong: %s\n", what);
}

/* It is the other MPI's own function. */
static void check_function(void* other) {
  Dl_info of_rank, of_alltoall;
  void* const rank = dlsym(other, "PMPI_Comm_rank");
  void* const alltoall = dlsym(other, "MPI_Alltoall");
  const int found =
      rank != NULL && alltoall != NULL && dladdr(rank, &of_rank) != 0 && dladdr(alltoall, &of_alltoall) != 0;
  expect(found, "a function is not found");
  expect(found && of_rank.dli_fbase == of_alltoall.dli_fbase, "MPI_Alltoall of the other MPI is another library's");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* const other = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (other == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  check_function(other);
  MPI_Init(&argc, &argv);
  check_function(other);
  int rank, size, send[most * count], receive[most * count];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < size * count; ++i) send[i] = turn + rank * 100 + i / count * 10;
    MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size * count; ++i) expect(receive[i] == turn + i / count * 100 + rank * 10, "alltoall");
  }
  check_function(other);
  if (rank == 0) printf("%d ranks, %d wrong values\n", size, wrong);
  fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}
