// Finds the torus behind a graph communicator, once, for all ranks alike.
#include <algorithm>
#include <tuple>

#include "mpi/mpi.hpp"
#include "plan/recognize.hpp"
#include "team/neighbors.hpp"

namespace quadrille::team {
namespace {

// Tori that are tried: an allreduce of two numbers each.
constexpr int most_dimensions = 4;
constexpr std::size_t most_tori = 256;

// Does the user want an algorithm that needs the neighbours of all?
bool forces_isomorphic(const Team& team) {
  return std::any_of(std::begin(team.forced.by_collective), std::end(team.forced.by_collective),
                     [](const choose::Choice& choice) {
                       return choice.algorithm != nullptr && choice.algorithm->needs.isomorphic;
                     });
}

// For each torus: do all ranks see the same neighbourhood in it? Numbers of tori in which this rank's sources and
// destinations do not go together are 0 and, for the other end of the comparison, 0 as well: never equal.
int agree(MPI_Comm comm, const std::vector<std::uint64_t>& numbers, std::vector<bool>& agreed) {
  std::vector<std::uint64_t> mine, least(2 * numbers.size());
  for (const std::uint64_t number : numbers) {
    mine.push_back(number);
    mine.push_back(number == 0 ? 0 : ~number);
  }
  const int error = mpi().Allreduce(mine.data(), least.data(), static_cast<int>(mine.size()), mpi().uint64,
                                    mpi().op_min, comm);
  agreed.resize(numbers.size());
  for (std::size_t t = 0; t < numbers.size(); ++t) agreed[t] = least[2 * t] == ~least[2 * t + 1];
  return error;
}

// In user blocks, whose numbers the edges have.
std::vector<int> blocks_at(const std::vector<int>& edges, const std::vector<int>& block) {
  std::vector<int> blocks;
  for (const int edge : edges) blocks.push_back(block[static_cast<std::size_t>(edge)]);
  return blocks;
}

void become_isomorphic(Neighbors& n, plan::Grid torus, plan::TorusView view) {
  n.iso_send = blocks_at(view.order, n.send_block);
  n.iso_recv = blocks_at(view.received, n.recv_block);
  n.isomorphic = isomorphic_around(std::move(torus), std::move(view.around));
}

}  // namespace

bool may_be_torus(Team& team) {
  const Neighbors* n = neighbors_of(team);
  if (n == nullptr || n->isomorphic != nullptr || n->sought || !team.eligible) return false;
  return forces_isomorphic(team) || may_combine(team);
}

int recognize(Team& team) {
  Neighbors& n = *team.neighbors;
  n.sought = true;
  int me = 0, ranks = 0;
  mpi().Comm_rank(team.user, &me);
  mpi().Comm_size(team.user, &ranks);
  const std::vector<plan::Grid> tori = plan::tori(ranks, most_dimensions, most_tori);
  std::vector<plan::TorusView> views(tori.size());
  std::vector<std::uint64_t> numbers(tori.size(), 0);
  for (std::size_t t = 0; t < tori.size(); ++t) {
    if (plan::view_in(tori[t], me, n.sources, n.destinations, views[t])) {
      numbers[t] = std::max<std::uint64_t>(plan::fingerprint(views[t].around), 1);
    }
  }
  std::vector<bool> agreed;
  if (const int error = agree(team.user, numbers, agreed); error != MPI_SUCCESS) return error;

  // Several may fit: the one that combines best. All ranks look at the same numbers.
  std::size_t best = tori.size();
  std::tuple<std::int64_t, std::int64_t> least;
  for (std::size_t t = 0; t < tori.size(); ++t) {
    if (!agreed[t]) continue;
    const plan::NeighborCounts counts = plan::torus_direct_counts(views[t].around);
    const std::tuple cost{counts.rounds, counts.blocks};
    if (best == tori.size() || cost < least) best = t, least = cost;
  }
  if (best == tori.size() || views[best].around.size() == 0) return MPI_SUCCESS;
  become_isomorphic(n, tori[best], std::move(views[best]));
  forget_selections(team);
  return MPI_SUCCESS;
}

}  // namespace quadrille::team
