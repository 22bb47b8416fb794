// Scatters edges and gathers tuples, outside of the measured exchange.
#pragma once

#include <vector>

#include "exchange.hpp"
#include "graph.hpp"

namespace closure {

// Rank 0 has the graph. Returns this rank's edges, those that begin at its vertices. Collective.
std::vector<Pair> scatter_edges(const Graph& graph, const Placement& placement, const World& world);

// The tuples of all ranks, sorted, on rank 0; nothing on the others. Collective.
std::vector<Pair> gather_tuples(const PairSet& tuples, const World& world);

}  // namespace closure
