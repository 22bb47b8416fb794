// Finds the grid behind a graph communicator, once, for all ranks alike.
#include "plan/recognize.hpp"

#include <algorithm>
#include <tuple>

#include "mpi/mpi.hpp"
#include "team/neighbors.hpp"

namespace quadrille::team {
namespace {

// Tori that are tried: a broadcast and an allreduce of a number each.
constexpr int most_dimensions = 4;
constexpr std::size_t most_tori = 256;
// Meshes: an allreduce of two numbers a dimension, then one of the offsets within reach.
constexpr int most_mesh_dimensions = 3;
constexpr std::size_t most_meshes = 512;
constexpr std::int64_t most_cells = 1024, most_cells_of_all = 16384;
constexpr std::size_t most_mesh_neighbors = 1024;

// Of all ranks the largest, or the smallest.
int reduce(MpiComm comm, std::vector<int>& numbers, MpiOp op) {
  const std::vector<int> mine = numbers;
  return ours::allreduce(mine.data(), numbers.data(), static_cast<int>(mine.size()), mpi().int_type, op, comm);
}

// In user blocks, whose numbers the edges have; -1 where there is no edge.
std::vector<int> blocks_at(const std::vector<int>& edges, const std::vector<int>& block) {
  std::vector<int> blocks;
  blocks.reserve(edges.size());
  for (const int edge : edges) blocks.push_back(edge < 0 ? -1 : block[static_cast<std::size_t>(edge)]);
  return blocks;
}

void become_isomorphic(Neighbors& n, plan::Grid grid, plan::GridView view) {
  n.iso_send = blocks_at(view.order, n.destinations.blocks);
  n.iso_recv = blocks_at(view.received, n.sources.blocks);
  n.isomorphic = isomorphic_around(std::move(grid), std::move(view.around));
}

struct Place {
  int me, ranks;
};

// The grid that combines best of those that fit; without extents if none does. All ranks look at the same numbers.
struct Fit {
  plan::Grid grid;
  plan::GridView view;
  std::tuple<std::int64_t, std::int64_t> cost;

  void offer(const plan::Grid& other, plan::GridView& seen) {
    const plan::NeighborCounts counts = plan::torus_direct_counts(seen.around);
    const std::tuple cost_of_other{counts.rounds, counts.blocks};
    if (seen.around.size() == 0 || (!grid.extents.empty() && cost_of_other >= cost)) return;
    grid = other, view = std::move(seen), cost = cost_of_other;
  }
};

int seek_torus(MpiComm comm, const Neighbors& n, const Place& place, Fit& fit) {
  const std::vector<plan::Grid> tori = plan::tori(place.ranks, most_dimensions, most_tori);
  std::vector<plan::GridView> views(tori.size());
  std::vector<std::uint64_t> numbers(tori.size(), 0);  // 0: its sources and destinations do not go together
  for (std::size_t t = 0; t < tori.size(); ++t) {
    if (plan::view_in(tori[t], place.me, n.sources.peers, n.destinations.peers, views[t])) {
      numbers[t] = std::max<std::uint64_t>(plan::fingerprint(views[t].around), 1);
    }
  }
  // Do all ranks see the same neighbourhood in it?
  std::vector<std::uint64_t> of_rank_0 = numbers;
  int error = ours::bcast(of_rank_0.data(), static_cast<int>(numbers.size()), mpi().uint64, 0, comm);
  if (error != mpi_success) return error;
  std::vector<int> fits(tori.size());
  for (std::size_t t = 0; t < tori.size(); ++t) fits[t] = numbers[t] != 0 && numbers[t] == of_rank_0[t] ? 1 : 0;
  error = reduce(comm, fits, mpi().op_min);
  if (error != mpi_success) return error;
  for (std::size_t t = 0; t < tori.size(); ++t) {
    if (fits[t] == 1) fit.offer(tori[t], views[t]);
  }
  return mpi_success;
}

// A mesh that may fit, and how far the offsets of all ranks reach in it.
struct Candidate {
  const plan::Grid* mesh;
  plan::Reach reach;
  std::int64_t cells;
};

// Those in which the offsets do not reach too far, the narrowest first. The same on all ranks.
int seek_candidates(MpiComm comm, const Neighbors& n, const Place& place, const std::vector<plan::Grid>& meshes,
                    std::vector<Candidate>& candidates) {
  const bool too_many = std::max(n.destinations.peers.size(), n.sources.peers.size()) > most_mesh_neighbors;
  std::vector<int> reaches;
  for (const plan::Grid& mesh : meshes) {
    plan::Reach reach(2 * mesh.extents.size(), static_cast<int>(most_cells));
    if (!too_many) reach = plan::reach_of(plan::offsets_in(mesh, place.me, n.destinations.peers));
    reaches.insert(reaches.end(), reach.begin(), reach.end());
  }
  if (const int error = reduce(comm, reaches, mpi().op_max); error != mpi_success) return error;
  auto next = reaches.begin();
  for (const plan::Grid& mesh : meshes) {
    const auto end = next + static_cast<std::ptrdiff_t>(2 * mesh.extents.size());
    Candidate one{&mesh, {next, end}, 0};
    one.cells = plan::cells_in(one.reach, most_cells);
    if (one.cells <= most_cells) candidates.push_back(std::move(one));
    next = end;
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::cells);
  std::int64_t cells = 0;
  std::erase_if(candidates, [&](const Candidate& one) { return (cells += one.cells) > most_cells_of_all; });
  return mpi_success;
}

int seek_mesh(MpiComm comm, const Neighbors& n, const Place& place, Fit& fit) {
  const std::vector<plan::Grid> meshes = plan::meshes(place.ranks, most_mesh_dimensions, most_meshes);
  std::vector<Candidate> candidates;
  if (const int error = seek_candidates(comm, n, place, meshes, candidates); error != mpi_success) return error;
  if (candidates.empty()) return mpi_success;
  std::vector<int> counts;  // of the offsets within reach of each candidate
  for (const Candidate& one : candidates) {
    const plan::Neighborhood offsets = plan::offsets_in(*one.mesh, place.me, n.destinations.peers);
    const std::vector<int> mine = plan::count_offsets(offsets, one.reach);
    counts.insert(counts.end(), mine.begin(), mine.end());
  }
  if (const int error = reduce(comm, counts, mpi().op_max); error != mpi_success) return error;
  std::vector<plan::GridView> views(candidates.size());
  std::vector<int> fits(candidates.size());
  std::span<const int> rest = counts;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const auto cells = static_cast<std::size_t>(candidates[c].cells);
    views[c].around = plan::counted_offsets(rest.first(cells), candidates[c].reach);
    const plan::Grid& mesh = *candidates[c].mesh;
    fits[c] = plan::view_around(mesh, place.me, n.sources.peers, n.destinations.peers, views[c]) ? 1 : 0;
    rest = rest.subspan(cells);
  }
  if (const int error = reduce(comm, fits, mpi().op_min); error != mpi_success) return error;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (fits[c] == 1) fit.offer(*candidates[c].mesh, views[c]);
  }
  return mpi_success;
}

}  // namespace

bool may_be_grid(Team& team) {
  const Neighbors* n = neighbors_of(team);
  if (n == nullptr || n->isomorphic != nullptr || n->sought || !team.eligible()) return false;
  return forces(team, &choose::Needs::isomorphic) || may_combine(team) || may_choose_inside(team);
}

int recognize(Team& team) {
  Neighbors& n = *team.neighbors;
  n.sought = true;
  const Place place{rank_in(team.user), size_of(team.user)};
  Fit fit;
  int error = seek_torus(team.user, n, place, fit);
  if (error == mpi_success && fit.grid.extents.empty()) error = seek_mesh(team.user, n, place, fit);
  if (error != mpi_success || fit.grid.extents.empty()) return error;
  become_isomorphic(n, std::move(fit.grid), std::move(fit.view));
  forget_selections(team);
  return mpi_success;
}

}  // namespace quadrille::team
