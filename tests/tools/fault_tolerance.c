/* A program that survives: `kill` ends rank 1 in the middle of a loop of MPI_Alltoall, `revoke` revokes its
 * communicator. The others get an error from the call, shrink the communicator and go on. Each of them prints
 * "survived". For an MPI with the functions of ULFM. */
/* mpi-ext.h needs mpi.h before it. */
/* clang-format off */
#include <mpi.h>
#include <mpi-ext.h>
/* clang-format on */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { bytes = 64, calls_before = 100, calls_at_most = 10000000, calls_after = 50 };

static int exchange(const char* form, char* data, MPI_Comm comm) {
  MPI_Request request;
  if (strcmp(form, "blocking") == 0)
    return MPI_Alltoall(data, bytes, MPI_BYTE, data + 64 * bytes, bytes, MPI_BYTE, comm);
  const int error = MPI_Ialltoall(data, bytes, MPI_BYTE, data + 64 * bytes, bytes, MPI_BYTE, comm, &request);
  return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank, call, error = MPI_SUCCESS;
  static char data[128 * bytes];
  MPI_Comm all, left;
  if (argc < 3) return 2;
  MPI_Init(&argc, &argv);
  alarm(60);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  for (call = 0; error == MPI_SUCCESS && call < calls_at_most; ++call) {
    if (rank == 1 && call == calls_before) {
      if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
      MPIX_Comm_revoke(all);
    }
    error = exchange(argv[2], data, all);
  }
  MPIX_Comm_revoke(all);
  if (error == MPI_SUCCESS || MPIX_Comm_shrink(all, &left) != MPI_SUCCESS) return 3;
  for (error = MPI_SUCCESS, call = 0; error == MPI_SUCCESS && call < calls_after; ++call)
    error = exchange(argv[2], data, left);
  if (error == MPI_SUCCESS) printf("survived\n");
  fflush(stdout);
  alarm(4); /* Open MPI 5.0 does not always come to the end of MPI_Finalize after a death, also without Quadrille */
  MPI_Comm_free(&left);
  MPI_Finalize();
  return 0;
}
