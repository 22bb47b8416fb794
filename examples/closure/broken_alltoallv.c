/* A preload library whose MPI_Alltoallv delivers one wrong tuple to rank 0, once. The tests use it
   to see that the program notices. */
#include <mpi.h>
#include <stdint.h>

int MPI_Alltoallv(const void* send, const int send_counts[], const int send_displacements[], MPI_Datatype send_type,
                  void* recv, const int recv_counts[], const int recv_displacements[], MPI_Datatype recv_type,
                  MPI_Comm comm) {
  static int done = 0;
  int rank;
  int error = PMPI_Alltoallv(send, send_counts, send_displacements, send_type, recv, recv_counts, recv_displacements,
                             recv_type, comm);
  PMPI_Comm_rank(comm, &rank);
  if (rank == 0 && recv_counts[0] > 0 && !done) {
    ((uint32_t*)recv)[2 * recv_displacements[0]] += 1000;
    done = 1;
  }
  return error;
}
