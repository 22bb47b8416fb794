// Neighbourhoods of the benchmark: the same offsets around every rank of a torus.
#pragma once

#include <memory>
#include <vector>

#include "mpi/mpi.hpp"
#include "plan/neighborhood.hpp"

namespace quadrille::tools {

struct BenchNeighbors {
  plan::Neighborhood neighborhood;
  plan::Grid grid;                        // a torus of all ranks, as even as MPI_Dims_create makes it
  std::vector<int> sources, destinations;  // of this rank, one an offset
  int size() const { return neighborhood.size(); }
};

std::shared_ptr<const BenchNeighbors> make_neighbors(const plan::Neighborhood& neighborhood, int ranks, int me);

// Collective: a communicator with this topology, as a program makes it with the MPI, or for Quadrille.
MPI_Comm make_graph_comm(MPI_Comm all, const BenchNeighbors& neighbors);
MPI_Comm make_isomorphic_comm(MPI_Comm all, const BenchNeighbors& neighbors);

}  // namespace quadrille::tools
