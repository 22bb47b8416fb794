#include <quadrille.h>

#include "neighbors.hpp"

namespace quadrille::test {
const NeighborDoor tested_neighbors = {&Quadrille_Neighbor_alltoall,   &Quadrille_Neighbor_alltoallv,
                                       &Quadrille_Neighbor_alltoallw,  &Quadrille_Neighbor_allgather,
                                       &Quadrille_Neighbor_allgatherv, &Quadrille_Neighbor_allgatherw};
}  // namespace quadrille::test
