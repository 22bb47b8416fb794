// `quadrille tune --neighbors` inside a node: which order of copies is faster than the default exchange, and up to
// which block.
#pragma once

#include <vector>

#include "choose/tuning.hpp"
#include "tool/tune/tune_neighbors.hpp"

namespace quadrille::tools {

// Collective, on ranks that share a node and reach each other's memory by load and store: measures neighbor_alltoall
// and neighbor_allgather on tori of all ranks, by the default exchange and by each order; rank 0 prints the times.
// `batches` of each. A neighbourhood in which nobody has another as neighbour is left out.
std::vector<choose::InsideEntry> tune_inside(team::Team& world, int batches,
                                             const std::vector<NamedNeighborhood>& neighborhoods);

}  // namespace quadrille::tools
