// The sequential reference: a search from every vertex. Without MPI.
#pragma once

#include <vector>

#include "graph.hpp"

namespace closure {

// All pairs of vertices with a path of one edge or more between them, sorted.
std::vector<Pair> reference_closure(const Graph& graph);

// The digest of these pairs, which needs little memory.
Digest reference_digest(const Graph& graph);

}  // namespace closure
