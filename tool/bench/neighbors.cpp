#include "tool/bench/neighbors.hpp"

#include "abi/functions.hpp"
#include "tool/bench/statistics.hpp"

namespace quadrille::tools {

std::shared_ptr<const BenchNeighbors> make_neighbors(const plan::Neighborhood& neighborhood,
                                                     const std::vector<int>& extents, int ranks, int me,
                                                     bool same_sizes) {
  auto made = std::make_shared<BenchNeighbors>();
  made->same_sizes = same_sizes;
  made->neighborhood = neighborhood;
  made->grid.extents = extents;
  made->grid.periodic.assign(static_cast<std::size_t>(neighborhood.dimensions), true);
  if (extents.empty()) {
    made->grid.extents.assign(static_cast<std::size_t>(neighborhood.dimensions), 0);
    mpi().Dims_create(ranks, neighborhood.dimensions, made->grid.extents.data());
  }
  for (int i = 0; i < neighborhood.size(); ++i) {
    made->destinations.push_back(plan::rank_at(made->grid, me, neighborhood.offset(i), 1));
    made->sources.push_back(plan::rank_at(made->grid, me, neighborhood.offset(i), -1));
  }
  return made;
}

namespace {

// Some MPIs look at the address also where there is nobody.
const int* ranks_in(const std::vector<int>& list) {
  static const int nobody = 0;
  return list.empty() ? &nobody : list.data();
}

MpiComm make_adjacent(MpiComm all, const std::vector<int>& sources, const std::vector<int>& destinations) {
  MpiComm comm = mpi().comm_null;
  const int error = mpi().Dist_graph_create_adjacent(
      all, static_cast<int>(sources.size()), ranks_in(sources), mpi().unweighted, static_cast<int>(destinations.size()),
      ranks_in(destinations), mpi().unweighted, mpi().info_null, 0, &comm);
  return error == mpi_success ? comm : mpi().comm_null;
}

}  // namespace

MpiComm make_graph_comm(MpiComm all, const BenchNeighbors& neighbors) {
  return make_adjacent(all, neighbors.sources, neighbors.destinations);
}

MpiComm make_graph_comm(MpiComm all, const BenchEdges& edges) {
  return make_adjacent(all, edges.sources, edges.destinations);
}

MpiComm make_graph_comm_around(MpiComm cart, const BenchNeighbors& neighbors) {
  const auto d = static_cast<std::size_t>(neighbors.neighborhood.dimensions);
  const auto s = static_cast<std::size_t>(neighbors.size());
  std::vector<int> extents(d), periodic(d), here(d), there(d), sources(s), destinations(s);
  mpi().Cart_get(cart, static_cast<int>(d), extents.data(), periodic.data(), here.data());
  const int* offset = neighbors.neighborhood.offsets.data();
  for (std::size_t i = 0; i < s; ++i, offset += d) {
    for (std::size_t j = 0; j < d; ++j) there[j] = here[j] - offset[j];
    mpi().Cart_rank(cart, there.data(), &sources[i]);
    for (std::size_t j = 0; j < d; ++j) there[j] = here[j] + offset[j];
    mpi().Cart_rank(cart, there.data(), &destinations[i]);
  }
  return make_adjacent(cart, sources, destinations);
}

MpiComm make_general_graph_comm(MpiComm all, const BenchNeighbors& neighbors) {
  MpiComm comm = mpi().comm_null;
  int me = 0;
  const int degree = neighbors.size();
  mpi().Comm_rank(all, &me);
  mpi().Dist_graph_create(all, 1, &me, &degree, neighbors.destinations.data(), mpi().unweighted, mpi().info_null, 0,
                          &comm);
  return comm;
}

MpiComm make_cart(MpiComm all, const BenchNeighbors& neighbors) {
  MpiComm cart = mpi().comm_null;
  const std::vector<int> periodic(neighbors.grid.extents.size(), 1);
  mpi().Cart_create(all, neighbors.neighborhood.dimensions, neighbors.grid.extents.data(), periodic.data(), 0, &cart);
  return cart;
}

MpiComm make_around(MpiComm cart, const BenchNeighbors& neighbors, MpiInfo info) {
  MpiComm comm = mpi().comm_null;
  Quadrille_Iso_neighborhood_create(cart, neighbors.size(), neighbors.neighborhood.offsets.data(), info, &comm);
  return comm;
}

namespace {

constexpr int setups = 41;

MpiInfo make_info(const BenchNeighbors& neighbors) {
  MpiInfo info = mpi().info_null;
  if (!neighbors.same_sizes) return info;
  mpi().Info_create(&info);
  mpi().Info_set(info, "quadrille_iso_sizes", "true");
  return info;
}

// Seconds of the slowest rank.
template <class Make>
double time_setup(MpiComm all, const Make& make) {
  mpi().Barrier(all);
  const double begin = mpi().Wtime();
  MpiComm comm = make();
  double mine = mpi().Wtime() - begin, most = mine;
  mpi().Comm_free(&comm);
  mpi().Allreduce(&mine, &most, 1, mpi().double_type, mpi().op_max, all);
  return most;
}

}  // namespace

MpiComm make_isomorphic_comm(MpiComm all, const BenchNeighbors& neighbors) {
  MpiInfo info = make_info(neighbors);
  MpiComm cart = make_cart(all, neighbors), comm = make_around(cart, neighbors, info);
  mpi().Comm_free(&cart);
  if (info != mpi().info_null) mpi().Info_free(&info);
  return comm;
}

SetupTimes measure_setup(MpiComm all, const BenchNeighbors& neighbors) {
  MpiComm cart = make_cart(all, neighbors);
  MpiInfo info = make_info(neighbors);
  std::vector<double> theirs, ours;
  // In turn, and each as often first: what comes second finds the MPI's memory warm.
  for (int i = 0; i < setups; ++i) {
    for (const bool ours_now : {i % 2 == 0, i % 2 != 0}) {
      if (ours_now) {
        ours.push_back(time_setup(all, [&] { return make_around(cart, neighbors, info); }));
      } else {
        theirs.push_back(time_setup(all, [&] { return make_graph_comm(all, neighbors); }));
      }
    }
  }
  mpi().Comm_free(&cart);
  if (info != mpi().info_null) mpi().Info_free(&info);
  return {quantile(theirs, 0.5) * 1e6, quantile(ours, 0.5) * 1e6};
}

}  // namespace quadrille::tools
