/* A profiling tool: stands in front of MPI_Alltoall, as linked and preloaded tools do. Nobody calls it in the tests. */
#include <mpi.h>

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
  return PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
}
