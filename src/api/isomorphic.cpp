// Isomorphic communicators: Listing 1 of Träff et al. What the MPI can be told of the neighbourhood it is told, as
// a distributed graph; the offsets themselves stay with the communicator.
#include <span>
#include <vector>

#include "abi/functions.hpp"
#include "api/serve.hpp"
#include "mpi/types.hpp"
#include "team/config.hpp"
#include "team/neighbors.hpp"
#include "text/hash.hpp"

using namespace quadrille;

namespace {

// What is wrong with the arguments of this rank.
int check(MpiComm cartcomm, int s, const int offsets[], const MpiComm* isocomm, plan::Grid& grid) {
  if (!team::grid_of(cartcomm, grid)) return mpi().err_topology;
  if (s < 0 || isocomm == nullptr) return mpi().err_arg;
  return s > 0 && offsets == nullptr && !grid.extents.empty() ? mpi().err_arg : mpi_success;
}

std::uint64_t hash(int s, std::span<const int> offsets, bool asserted) {
  return text::Hash().add(s).add(asserted ? 1 : 0).add_all(offsets).value();
}

plan::RanksAround edges_of(const plan::Grid& grid, const plan::Neighborhood& around, int s, int me) {
  // In a grid without dimensions every neighbour is the process itself.
  if (grid.extents.empty()) {
    const std::vector<int> self(static_cast<std::size_t>(s), me);
    return {self, self};
  }
  plan::RanksAround edges = plan::ranks_around(grid, around, me);
  if (!grid.is_torus()) {
    std::erase(edges.sources, -1);
    std::erase(edges.destinations, -1);
  }
  return edges;
}

int make_graph_on(MpiComm comm, const plan::RanksAround& edges, MpiInfo info, MpiComm* graph) {
  const auto in = static_cast<int>(edges.sources.size());
  const auto out = static_cast<int>(edges.destinations.size());
  return mpi().Dist_graph_create_adjacent(comm, in, edges.sources.data(), mpi().unweighted, out,
                                          edges.destinations.data(), mpi().unweighted, info, 0, graph);
}

// Open MPI 5 makes a graph from a grid that says it is a grid, and its collectives take it for one: then once more from
// the ranks alone. Errors are raised by the MPI itself.
int make_graph(MpiComm cartcomm, plan::RanksAround edges, MpiInfo info, MpiComm* isocomm) {
  edges.sources.reserve(1), edges.destinations.reserve(1);  // some MPIs refuse a null array
  int error = make_graph_on(cartcomm, edges, info, isocomm);
  int topology = mpi().dist_graph;
  if (error != mpi_success || mpi().Topo_test(*isocomm, &topology) != mpi_success || topology == mpi().dist_graph)
    return error;
  mpi().Comm_free(isocomm);
  MpiComm plain;
  error = make_plain(cartcomm, &plain);
  if (error != mpi_success) return error;
  error = make_graph_on(plain, edges, info, isocomm);
  mpi().Comm_free(&plain);
  return error;
}

// The new communicator has the program's error handler, not the one that was set while it was made.
void inherit_handler(MpiComm from, MpiComm made) {
  MpiErrhandler inherited, of_the_program;
  if (!has_own_handler(from) || mpi().Comm_get_errhandler(made, &inherited) != mpi_success) return;
  if (inherited == mpi().errors_return && mpi().Comm_get_errhandler(from, &of_the_program) == mpi_success) {
    mpi().Comm_set_errhandler(made, of_the_program);
    mpi().Errhandler_free(&of_the_program);
  }
  mpi().Errhandler_free(&inherited);
}

int create(MpiComm cartcomm, int s, const int offsets[], MpiInfo info, MpiComm* isocomm) {
  if (isocomm != nullptr) *isocomm = mpi().comm_null;
  if (!mpi().usable) return api::raise(cartcomm, mpi().err_other);
  if (cartcomm == mpi().comm_null) return api::raise(cartcomm, mpi().err_comm);
  plan::Grid grid;
  const team::Hints hints = team::read_hints(info);
  const bool checked = hints.check || team::config().check;
  int error = check(cartcomm, s, offsets, isocomm, grid);
  const auto dimensions = static_cast<int>(grid.extents.size());
  std::span<const int> given;
  if (error == mpi_success && dimensions > 0) {
    given = {offsets, static_cast<std::size_t>(s) * grid.extents.size()};
  }
  int me = 0;
  mpi().Comm_rank(cartcomm, &me);
  if (me == 0 && team::config().explain) team::say_problems(hints, "Quadrille_Iso_neighborhood_create");
  if (checked) {
    // A rank with a mistake gives what no other gives, so that nobody waits for it.
    const std::uint64_t mine = error == mpi_success ? hash(s, given, hints.iso_sizes) : ~hash(me, {}, false);
    const int found = api::error_unless_alike(cartcomm, mine, true, me == 0 && error == mpi_success,
                                              "Quadrille_Iso_neighborhood_create", "the ranks gave different offsets");
    if (error == mpi_success) error = found;
  }
  if (error != mpi_success) return api::raise(cartcomm, error);
  // A copy of an info can cost as much as the graph: none for the MPI if all keys are ours.
  plan::Neighborhood around{dimensions, {given.begin(), given.end()}};
  error = api::handled_later(cartcomm, [&] {
    return make_graph(cartcomm, edges_of(grid, around, s, me), hints.others ? info : mpi().info_null, isocomm);
  });
  if (error == mpi_success) inherit_handler(cartcomm, *isocomm);
  if (error != mpi_success || dimensions == 0) return error;
  auto kept = team::isomorphic_around(std::move(grid), std::move(around));
  kept->asserted = hints.iso_sizes;
  kept->checked = checked;
  error = team::keep_isomorphic(*isocomm, std::move(kept));
  return error == mpi_success ? error : api::raise(cartcomm, error);
}

int set_iso_sizes(MpiComm comm, int asserted) {
  if (!mpi().usable) return api::raise(comm, mpi().err_other);
  team::Team* team = team::team_of(comm);
  if (team == nullptr || is_inter(comm)) return api::raise(comm, mpi().err_comm);
  if (team::neighbors_of(*team) == nullptr) return api::raise(comm, mpi().err_topology);
  // Whether the others say the same is asked when it may count.
  team->neighbors->wish = asserted != 0;
  team->neighbors->asserted = false;
  team->neighbors->asked = false;
  team::forget_selections(*team);
  return mpi_success;
}

}  // namespace

int Quadrille_Iso_neighborhood_create(MpiComm cartcomm, int s, const int offsets[], MpiInfo info, MpiComm* isocomm) {
  return api::leave(api::guarded(given(cartcomm), [&] {
    return give(isocomm, [&](MpiComm* made) { return create(given(cartcomm), s, offsets, given(info), made); });
  }));
}

int Quadrille_Set_iso_sizes(MpiComm comm, int asserted) {
  return api::leave(api::guarded(given(comm), [&] { return set_iso_sizes(given(comm), asserted); }));
}
