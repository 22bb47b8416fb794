// From one rank to all, and back. The exchange that is measured has no part in it.
#pragma once

#include <vector>

#include "exchange.hpp"
#include "graph.hpp"

namespace closure {

// Rank 0 has the graph. Returns the edges of this rank: those that begin at its vertices.
// Collective.
std::vector<Pair> scatter_edges(const Graph& graph, const Placement& placement, const World& world);

// The tuples of all ranks, sorted, on rank 0; nothing on the others. Collective.
std::vector<Pair> gather_tuples(const PairSet& tuples, const World& world);

}  // namespace closure
