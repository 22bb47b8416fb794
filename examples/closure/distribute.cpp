#include "distribute.hpp"

#include <cstdint>
#include <utility>

namespace closure {

std::vector<Pair> scatter_edges(const Graph& graph, const Placement& placement, const World& world) {
  Blocks blocks(world.ranks);
  for (const Pair edge : graph.edges) {
    for (const int home : placement.homes_of(edge.from)) blocks[home].push_back(edge);
  }
  const Layout layout = layout_of(sizes_of(blocks));
  const std::vector<Pair> all = joined(std::move(blocks));
  int count = 0;
  MPI_Scatter(layout.counts.data(), 1, MPI_INT, &count, 1, MPI_INT, 0, world.comm);
  std::vector<Pair> mine(count);
  const TupleType type;
  MPI_Scatterv(all.data(), layout.counts.data(), layout.displacements.data(), type.get(), mine.data(), count,
               type.get(), 0, world.comm);
  return mine;
}

std::vector<Pair> gather_tuples(const PairSet& tuples, const World& world) {
  const std::vector<Pair> mine = tuples.sorted();
  const Layout out = layout_of(std::vector<std::int64_t>{static_cast<std::int64_t>(mine.size())});
  std::vector<std::int64_t> counts(world.ranks);
  const std::int64_t count = out.counts.front();
  MPI_Gather(&count, 1, MPI_INT64_T, counts.data(), 1, MPI_INT64_T, 0, world.comm);
  const Layout in = layout_of(counts);
  std::vector<Pair> all(in.total);
  const TupleType type;
  MPI_Gatherv(mine.data(), out.counts.front(), type.get(), all.data(), in.counts.data(), in.displacements.data(),
              type.get(), 0, world.comm);
  // Duplicates stay: a tuple has one owner, so a duplicate is an error that the check must see.
  sort_pairs(all);
  return all;
}

}  // namespace closure
