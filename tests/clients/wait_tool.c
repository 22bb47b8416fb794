/* A profiling tool as users write them, loaded by LD_PRELOAD: it counts what the program waits for, barriers and
 * reductions too, by the names of MPI's profiling interface, and looks into the status that comes back. */
#include <mpi.h>
#include <stdio.h>

static long waits, in_lists, barriers, bad;

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  MPI_Status own;
  MPI_Request before = *request;
  const int error = PMPI_Wait(request, &own);
  int bytes = 0;
  ++waits;
  if (before != MPI_REQUEST_NULL && (PMPI_Get_count(&own, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0)) ++bad;
  if (status != MPI_STATUS_IGNORE) *status = own;
  return error;
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  in_lists += count;
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++barriers;
  return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}

int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("the tool saw %ld waits, %ld requests in lists, %ld barriers, %ld bad counts\n", waits, in_lists, barriers,
           bad);
    fflush(stdout);
  }
  return PMPI_Finalize();
}
