/* A preload library whose MPI_Neighbor_alltoallw delivers one wrong number to rank 0, once. The
   tests use it to see that the program notices. */
#include <mpi.h>

int MPI_Neighbor_alltoallw(const void* send, const int send_counts[], const MPI_Aint send_displacements[],
                           const MPI_Datatype send_types[], void* recv, const int recv_counts[],
                           const MPI_Aint recv_displacements[], const MPI_Datatype recv_types[], MPI_Comm comm) {
  /* Not the first calls: they only set things up. */
  static int calls = 0;
  int rank;
  int error = PMPI_Neighbor_alltoallw(send, send_counts, send_displacements, send_types, recv, recv_counts,
                                      recv_displacements, recv_types, comm);
  PMPI_Comm_rank(comm, &rank);
  if (++calls == 5 && rank == 0) {
    MPI_Aint begin, extent;
    PMPI_Type_get_true_extent(recv_types[0], &begin, &extent);
    *(double*)((char*)recv + recv_displacements[0] + begin) += 1;
  }
  return error;
}
