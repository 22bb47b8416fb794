// Requests whose explanation says.sh looks for. The first argument is an algorithm to force, the second how many
// requests to make.
#include <mpi.h>
#include <quadrille.h>

#include <cstdlib>
#include <vector>

#include "ring.hpp"

namespace persistent_explain_check {

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm ring = quadrille::test::ring_of_world();
  if (Quadrille_Set_algorithm(ring, "neighbor_alltoall", argv[1]) != MPI_SUCCESS) return 1;
  constexpr int count = 50'000;
  std::vector<int> send(2 * count), recv(2 * count);
  std::vector<Quadrille_Request> requests(static_cast<std::size_t>(std::atoi(argv[2])));
  for (Quadrille_Request& one : requests) {
    Quadrille_Neighbor_alltoall_init(send.data(), count, MPI_INT, recv.data(), count, MPI_INT, ring, MPI_INFO_NULL,
                                     &one);
  }
  for (Quadrille_Request& one : requests) Quadrille_Request_free(&one);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}

}  // namespace persistent_explain_check
