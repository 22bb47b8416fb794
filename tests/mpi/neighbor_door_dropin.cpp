#include "neighbors.hpp"

namespace quadrille::test {
const NeighborDoor tested_neighbors = {&MPI_Neighbor_alltoall, &MPI_Neighbor_alltoallv,
                                       &MPI_Neighbor_alltoallw, &MPI_Neighbor_allgather,
                                       &MPI_Neighbor_allgatherv};
}  // namespace quadrille::test
