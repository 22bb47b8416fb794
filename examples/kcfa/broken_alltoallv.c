/* A preload library whose MPI_Alltoallv changes one bit of what rank 0 receives. The tests use it to
   see that the program notices. */
#include <mpi.h>
#include <stdint.h>

int MPI_Alltoallv(const void* send, const int* send_counts, const int* send_starts, MPI_Datatype send_type, void* recv,
                  const int* recv_counts, const int* recv_starts, MPI_Datatype recv_type, MPI_Comm comm) {
  int rank, ranks, source;
  int error =
      PMPI_Alltoallv(send, send_counts, send_starts, send_type, recv, recv_counts, recv_starts, recv_type, comm);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  for (source = 0; rank == 0 && source < ranks; ++source) {
    if (recv_counts[source] == 0) continue;
    ((uint64_t*)recv)[1] ^= 1; /* the blocks begin at the start: a contour of the first fact */
    break;
  }
  return error;
}
