#include "neighbors.hpp"

#include <quadrille.h>

namespace heat {

ProcessGrid::ProcessGrid(MPI_Comm of, const Extents& extents, int count, bool wraps)
    : base(of), grid(extents), dimensions(count), periodic(wraps) {
  const int periods[] = {wraps, wraps, wraps};
  MPI_Cart_create(of, dimensions, grid.data(), periods, 0, &comm);
  MPI_Comm_rank(comm, &rank);
}

ProcessGrid::~ProcessGrid() { MPI_Comm_free(&comm); }

Extents ProcessGrid::coordinates(int of) const {
  Extents result{};
  MPI_Cart_coords(comm, of, dimensions, result.data());
  return result;
}

int ProcessGrid::rank_at(const Offset& offset) const {
  Extents place = coordinates(rank);
  for (int d = 0; d < dimensions; ++d) {
    place[d] += offset[d];
    if (!periodic && (place[d] < 0 || place[d] >= grid[d])) return MPI_PROC_NULL;
  }
  int result = MPI_PROC_NULL;
  MPI_Cart_rank(comm, place.data(), &result);  // wraps around periodic dimensions
  return result;
}

Offset opposite(const Offset& offset) { return {-offset[0], -offset[1], -offset[2]}; }

Neighborhood cartesian_neighborhood(const ProcessGrid& grid) {
  const std::vector<Offset> sides = neighbor_offsets(grid.dimensions, 2 * grid.dimensions + 1);
  return {grid.comm, sides, sides};
}

// All processes have the same relative neighbours: an isomorphic neighbourhood, defined by `offsets`
// alone. Only this function creates a communicator for it.
Neighborhood graph_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets) {
  Neighborhood result;
  std::vector<int> sources, destinations;
  // Both lists are ordered by the direction of travel. Then the edges of a process that is the
  // neighbour on several sides come in the same order at both ends, which is how MPI matches them.
  for (const Offset& offset : offsets) {
    if (const int to = grid.rank_at(offset); to != MPI_PROC_NULL) {
      result.sends.push_back(offset);
      destinations.push_back(to);
    }
    if (const int from = grid.rank_at(opposite(offset)); from != MPI_PROC_NULL) {
      result.receives.push_back(opposite(offset));
      sources.push_back(from);
    }
  }
  // Not from the Cartesian communicator: Open MPI 5.0 treats a graph created from it as a grid.
  MPI_Dist_graph_create_adjacent(grid.base, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &result.comm);
  return result;
}

bool force_algorithm(MPI_Comm comm, const std::string& collective, const std::string& algorithm) {
  // An unknown name must end the program with one line, not with the MPI's report of an abort.
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm, &handler);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int error = Quadrille_Set_algorithm(comm, collective.c_str(), algorithm.c_str());
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  return error == MPI_SUCCESS;
}

Neighborhood isomorphic_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets, bool equal_blocks,
                                     const std::string& collective, const std::string& algorithm) {
  Neighborhood result;
  std::vector<int> coordinates;
  for (const Offset& offset : offsets) {
    coordinates.insert(coordinates.end(), offset.begin(), offset.begin() + grid.dimensions);
    if (grid.rank_at(offset) != MPI_PROC_NULL) result.sends.push_back(offset);
    if (grid.rank_at(opposite(offset)) != MPI_PROC_NULL) result.receives.push_back(opposite(offset));
  }
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "quadrille_iso_sizes", equal_blocks ? "true" : "false");
  Quadrille_Iso_neighborhood_create(grid.comm, static_cast<int>(offsets.size()), coordinates.data(), info,
                                    &result.comm);
  MPI_Info_free(&info);
  if (!algorithm.empty()) force_algorithm(result.comm, collective, algorithm);
  return result;
}

Neighborhood shift_neighborhood(const ProcessGrid& grid, const std::vector<Offset>& offsets) {
  Neighborhood result{grid.comm, offsets, {}};
  for (const Offset& offset : offsets) result.receives.push_back(opposite(offset));
  return result;
}

}  // namespace heat
