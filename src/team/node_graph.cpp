// The graph of a communicator whose ranks share a node, brought together once.
#include <numeric>

#include "mpi/mpi.hpp"
#include "team/neighbors.hpp"

namespace quadrille::team {
namespace {

// Both ends of this rank's edges in one list: how many go out and come in, then a peer and a block for each.
std::vector<int> written_ends(const Neighbors& n) {
  std::vector<int> list = {static_cast<int>(n.destinations.size()), static_cast<int>(n.sources.size())};
  for (std::size_t k = 0; k < n.destinations.size(); ++k) {
    list.insert(list.end(), {n.destinations[k], n.send_block[k]});
  }
  for (std::size_t k = 0; k < n.sources.size(); ++k) list.insert(list.end(), {n.sources[k], n.recv_block[k]});
  return list;
}

const int* read_ends(const int* at, int count, plan::EdgeEnds& ends) {
  for (int k = 0; k < count; ++k, at += 2) ends.peers.push_back(at[0]), ends.blocks.push_back(at[1]);
  return at;
}

// What all ranks wrote, one behind the other. Returns an MPI error code.
int gather(const run::Group& group, const std::vector<int>& mine, std::vector<int>& all) {
  const auto ranks = static_cast<std::size_t>(group.ranks);
  std::vector<int> counts(ranks), at(ranks);
  const int count = static_cast<int>(mine.size());
  int error = mpi().Allgather(&count, 1, mpi().int_type, counts.data(), 1, mpi().int_type, group.messages().comm);
  if (error != mpi_success) return error;
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), 0);
  all.resize(static_cast<std::size_t>(at.back()) + static_cast<std::size_t>(counts.back()));
  return mpi().Allgatherv(mine.data(), count, mpi().int_type, all.data(), counts.data(), at.data(), mpi().int_type,
                          group.messages().comm);
}

int bring_together(Team& team, NodeGraph& graph) {
  const Neighbors& n = *team.neighbors;
  std::vector<int> all;
  if (const int error = gather(team.group, written_ends(n), all); error != mpi_success) return error;
  const auto ranks = static_cast<std::size_t>(team.group.ranks);
  std::vector<plan::EdgeEnds> destinations(ranks), sources(ranks);
  const int* at = all.data();
  for (std::size_t r = 0; r < ranks; ++r) {
    const int out = at[0], in = at[1];
    at = read_ends(at + 2, out, destinations[r]);
    at = read_ends(at, in, sources[r]);
  }
  graph.edges = plan::join_edges(destinations, sources);
  graph.here = run::edges_here(team.group.me, n.send_blocks, n.recv_blocks, graph.edges);
  return mpi_success;
}

}  // namespace

const plan::Schedule* copy_plan_of(Team& team, plan::BuildEdges build, int& error) {
  error = mpi_success;
  std::optional<NodeGraph>& graph = team.neighbors->node_graph;
  if (!graph) {
    NodeGraph made;
    error = bring_together(team, made);
    if (error != mpi_success) return nullptr;
    graph = std::move(made);
  }
  auto found = graph->schedules.find(build);
  if (found == graph->schedules.end()) {
    const plan::EdgeProblem problem{team.group.ranks, team.group.me, graph->edges, domains_of(team)};
    found = graph->schedules.emplace(build, build(problem)).first;
  }
  return &found->second;
}

}  // namespace quadrille::team
