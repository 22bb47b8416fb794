// The process grid, and who of it exchanges which points with whom.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "decomposition.hpp"

namespace heat {

// A process grid with a Cartesian communicator. The ranks are those of the communicator it was made
// from. Frees the communicator at its end.
class ProcessGrid {
 public:
  ProcessGrid(MPI_Comm comm, const Extents& grid, int dimensions, bool periodic);
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  Extents coordinates(int rank) const;
  // MPI_PROC_NULL beyond the end of a grid that is not periodic.
  int rank_at(const Offset& offset) const;

  MPI_Comm base = MPI_COMM_NULL;  // that it was made from
  MPI_Comm comm = MPI_COMM_NULL;
  Extents grid{};
  int dimensions = 0;
  bool periodic = false;
  int rank = 0;
};

// Block i goes to the neighbour at sends[i]. The block that arrives as number i is of the neighbour
// at receives[i]. In a neighbour collective on `comm` the order is that of its topology.
struct Neighborhood {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<Offset> sends;
  std::vector<Offset> receives;
};

// Of the Cartesian communicator itself, which lists no neighbours across corners.
Neighborhood cartesian_neighborhood(const ProcessGrid& grid);

// Of a new communicator that lists all processes at `offsets`. To be freed by the caller.
Neighborhood graph_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets);

// The same, made by Quadrille_Iso_neighborhood_create. If `equal_blocks`, Quadrille is told that block i has one size
// everywhere, so that it may combine messages. `algorithm` is forced unless it is empty. To be freed by the caller.
Neighborhood isomorphic_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets, bool equal_blocks,
                                     const std::string& collective, const std::string& algorithm);

// Forces an algorithm of Quadrille for `collective` (as neighbor_alltoallw) on `comm`; on all ranks. False if it knows
// no such algorithm: one line on stderr says which it knows.
bool force_algorithm(MPI_Comm comm, const std::string& collective, const std::string& algorithm);

// For messages without a topology: block i goes to offsets[i] and comes from the opposite side.
Neighborhood shift_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets);

Offset opposite(const Offset& offset);

}  // namespace heat
