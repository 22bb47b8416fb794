// MPI_Init leaves MPI_COMM_WORLD as the MPI's own does. Open MPI 4.1 takes the tags of nonblocking collectives and of
// making communicators in turn from a count of the communicator, and hangs in MPI_Dist_graph_create where that count
// meets the tags of the graph (open-mpi/ompi issue 13918). So a program that makes just so many collectives must make
// as many under Quadrille.
//   world_tags CALLS
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace world_tags_check {

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int calls = argc > 1 ? std::atoi(argv[1]) : 0;
  for (int i = 0; i < calls; ++i) {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  const int degree = 2, neighbors[] = {(rank + 1) % size, (rank + size - 1) % size}, weights[] = {3, 5};
  MPI_Comm graph;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, neighbors, weights, MPI_INFO_NULL, 0, &graph);
  MPI_Comm_free(&graph);
  if (rank == 0) std::printf("%d calls\n", calls);
  MPI_Finalize();
  return 0;
}

}  // namespace world_tags_check
