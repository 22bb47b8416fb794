#include "fixpoint.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace closure {
namespace {

// The first rule: every edge is a path, and is sent to the owner of this path. If several ranks have an edge, the first
// of them sends it.
Blocks paths_of_edges(const std::vector<Pair>& edges, const Placement& placement, int rank) {
  Blocks blocks(placement.ranks);
  for (const Pair edge : edges) {
    if (placement.home_of(edge.from, 0) == rank) blocks[placement.home_of(edge)].push_back(edge);
  }
  return blocks;
}

// The second rule extends the new paths by one edge. A path that results from several middles is
// sent once.
Blocks extended(const std::vector<Pair>& delta, const EdgeIndex& edges, const Placement& placement) {
  Blocks blocks(placement.ranks);
  for (std::size_t begin = 0, end = 0; begin < delta.size(); begin = end) {
    const Vertex middle = delta[begin].to;
    while (end < delta.size() && delta[end].to == middle) ++end;
    for (const Pair edge : edges.from(middle)) {
      for (std::size_t i = begin; i < end; ++i) {
        const Pair longer{delta[i].from, edge.to};
        blocks[placement.home_of(longer)].push_back(longer);
      }
    }
  }
  for (auto& block : blocks) sort_unique(block);
  return blocks;
}

// Adds the received tuples to the relation. Returns the new ones, sorted.
std::vector<Pair> insert_new(const std::vector<Pair>& received, PairSet& tuples) {
  std::vector<Pair> delta;
  for (const Pair pair : received) {
    if (tuples.insert(pair)) delta.push_back(pair);
  }
  sort_unique(delta);
  return delta;
}

bool any_rank(bool mine, const World& world, double& seconds) {
  int answer = mine ? 1 : 0;
  const double start = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &answer, 1, MPI_INT, MPI_LOR, world.comm);
  seconds += MPI_Wtime() - start;
  return answer != 0;
}

}  // namespace

Result transitive_closure(std::vector<Pair> edges, const Placement& placement, const World& world, Exchange& exchange) {
  Result result;
  Blocks blocks = paths_of_edges(edges, placement, world.rank);
  const EdgeIndex index(std::move(edges));
  for (bool changed = true; changed;) {
    const std::vector<Pair> received = exchange(std::move(blocks));
    const std::vector<Pair> delta = insert_new(received, result.tuples);
    ++result.iterations;
    changed = any_rank(!delta.empty(), world, result.test_seconds);
    if (changed) blocks = extended(delta, index, placement);
  }
  return result;
}

}  // namespace closure
