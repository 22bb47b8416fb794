/* A preload library whose MPI_Alltoall delivers one wrong number to rank 0, where there are several ranks. The tests
   use it to see that the program notices. */
#include <mpi.h>

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                 MPI_Datatype recv_type, MPI_Comm comm) {
  int rank, ranks;
  int error = PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  if (rank == 0 && ranks > 1 && recv_count > 0) *(double*)recv += 1e-3;
  return error;
}
