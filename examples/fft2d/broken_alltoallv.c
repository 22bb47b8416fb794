/* A preload library whose MPI_Alltoallv is wrong on rank 0, for tests of the program's own check. FFT2D_BROKEN=number
   changes one received number, FFT2D_BROKEN=order swaps the first two blocks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int MPI_Alltoallv(const void* send, const int send_counts[], const int send_displacements[], MPI_Datatype send_type,
                  void* recv, const int recv_counts[], const int recv_displacements[], MPI_Datatype recv_type,
                  MPI_Comm comm) {
  const char* how = getenv("FFT2D_BROKEN");
  int rank, ranks;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  int* places = malloc(ranks * sizeof(int));
  memcpy(places, recv_displacements, ranks * sizeof(int));
  if (rank == 0 && ranks > 1 && strcmp(how, "order") == 0 && recv_counts[0] == recv_counts[1]) {
    places[0] = recv_displacements[1];
    places[1] = recv_displacements[0];
  }
  int error =
      PMPI_Alltoallv(send, send_counts, send_displacements, send_type, recv, recv_counts, places, recv_type, comm);
  if (rank == 0 && strcmp(how, "number") == 0) *(double*)recv += 1e-3;
  free(places);
  return error;
}
