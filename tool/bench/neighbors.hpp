// Neighbourhoods of the benchmark: the same offsets around every rank of a torus.
#pragma once

#include <memory>
#include <vector>

#include "mpi/mpi.hpp"
#include "plan/neighborhood.hpp"
#include "tool/bench/edges.hpp"

namespace quadrille::tools {

struct BenchNeighbors {
  plan::Neighborhood neighborhood;
  plan::Grid grid;                         // a torus of all ranks
  std::vector<int> sources, destinations;  // of this rank, one an offset
  bool same_sizes = false;                 // block i of a v or w call has one size on all ranks
  int size() const { return neighborhood.size(); }
};

// `extents` are those of the torus; none: as even as MPI_Dims_create makes it.
std::shared_ptr<const BenchNeighbors> make_neighbors(const plan::Neighborhood& neighborhood,
                                                     const std::vector<int>& extents, int ranks, int me,
                                                     bool same_sizes);

// Collective: a communicator with this topology, as a program makes it with the MPI, or for
// Quadrille.
MpiComm make_graph_comm(MpiComm all, const BenchNeighbors& neighbors);
// The same of a graph of any kind; null if the MPI has no communicator left.
MpiComm make_graph_comm(MpiComm all, const BenchEdges& edges);
// The same by a program that has only the offsets: it asks MPI_Cart_rank for the rank of each neighbour.
MpiComm make_graph_comm_around(MpiComm cart, const BenchNeighbors& neighbors);
// As make_graph_comm(), by MPI_Dist_graph_create, which finds out who the sources are.
MpiComm make_general_graph_comm(MpiComm all, const BenchNeighbors& neighbors);
// The Cartesian communicator of the torus, and what Quadrille makes of it.
MpiComm make_cart(MpiComm all, const BenchNeighbors& neighbors);
MpiComm make_around(MpiComm cart, const BenchNeighbors& neighbors, MpiInfo info);
MpiComm make_isomorphic_comm(MpiComm all, const BenchNeighbors& neighbors);

// Microseconds in which a communicator is made, in turn by the two: the median of some, each the
// maximum over the ranks. The MPI is given the ranks of the neighbours, Quadrille the offsets.
struct SetupTimes {
  double mpi = 0;        // MPI_Dist_graph_create_adjacent
  double quadrille = 0;  // Quadrille_Iso_neighborhood_create
};
// Collective.
SetupTimes measure_setup(MpiComm all, const BenchNeighbors& neighbors);

}  // namespace quadrille::tools
