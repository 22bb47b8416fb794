#include "tools/bench_neighbors.hpp"

#include "quadrille.h"

namespace quadrille::tools {

std::shared_ptr<const BenchNeighbors> make_neighbors(const plan::Neighborhood& neighborhood, int ranks, int me) {
  auto made = std::make_shared<BenchNeighbors>();
  made->neighborhood = neighborhood;
  made->grid.extents.assign(static_cast<std::size_t>(neighborhood.dimensions), 0);
  made->grid.periodic.assign(static_cast<std::size_t>(neighborhood.dimensions), true);
  mpi().Dims_create(ranks, neighborhood.dimensions, made->grid.extents.data());
  for (int i = 0; i < neighborhood.size(); ++i) {
    made->destinations.push_back(plan::rank_at(made->grid, me, neighborhood.offset(i), 1));
    made->sources.push_back(plan::rank_at(made->grid, me, neighborhood.offset(i), -1));
  }
  return made;
}

MPI_Comm make_graph_comm(MPI_Comm all, const BenchNeighbors& neighbors) {
  MPI_Comm comm = mpi().comm_null;
  mpi().Dist_graph_create_adjacent(all, neighbors.size(), neighbors.sources.data(), mpi().unweighted,
                                   neighbors.size(), neighbors.destinations.data(), mpi().unweighted,
                                   mpi().info_null, 0, &comm);
  return comm;
}

MPI_Comm make_isomorphic_comm(MPI_Comm all, const BenchNeighbors& neighbors) {
  MPI_Comm cart = mpi().comm_null, comm = mpi().comm_null;
  const std::vector<int> periodic(neighbors.grid.extents.size(), 1);
  mpi().Cart_create(all, neighbors.neighborhood.dimensions, neighbors.grid.extents.data(), periodic.data(), 0,
                    &cart);
  Quadrille_Iso_neighborhood_create(cart, neighbors.size(), neighbors.neighborhood.offsets.data(),
                                    mpi().info_null, &comm);
  mpi().Comm_free(&cart);
  return comm;
}

}  // namespace quadrille::tools
