// The process grid and its neighbourhoods.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "decomposition.hpp"

namespace heat {

// A process grid with a Cartesian communicator, whose ranks are those of its parent. Frees the
// communicator in the destructor.
class ProcessGrid {
 public:
  ProcessGrid(MPI_Comm comm, const Extents& grid, int dimensions, bool periodic);
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  Extents coordinates(int rank) const;
  // MPI_PROC_NULL beyond the end of a grid that is not periodic.
  int rank_at(const Offset& offset) const;

  MPI_Comm base = MPI_COMM_NULL;  // the parent
  MPI_Comm comm = MPI_COMM_NULL;
  Extents grid{};
  int dimensions = 0;
  bool periodic = false;
  int rank = 0;
};

// Block i goes to the neighbour at sends[i]; received block i comes from the neighbour at receives[i]. In
// a neighbour collective on `comm` the order is that of its topology.
struct Neighborhood {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<Offset> sends;
  std::vector<Offset> receives;
};

// The neighbourhood of the Cartesian communicator itself, without neighbours across corners.
Neighborhood cartesian_neighborhood(const ProcessGrid& grid);

// The neighbourhood of a new communicator with all processes at `offsets`. The caller frees it.
Neighborhood graph_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets);

// The same, created by Quadrille_Iso_neighborhood_create. `equal_blocks` asserts that block i has the same size on all
// ranks, so that Quadrille may combine messages. `algorithm` is forced unless empty. The caller frees it.
Neighborhood isomorphic_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets, bool equal_blocks,
                                     const std::string& collective, const std::string& algorithm);

// Forces an algorithm of Quadrille for `collective` (for example neighbor_alltoallw) on `comm`, on all ranks. False for
// an unknown algorithm: one line on stderr lists the known ones.
bool force_algorithm(MPI_Comm comm, const std::string& collective, const std::string& algorithm);

// For messages without a topology: block i goes to offsets[i] and comes from the opposite side.
Neighborhood shift_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets);

Offset opposite(const Offset& offset);

}  // namespace heat
