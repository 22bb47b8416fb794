// The closure by another method: a search from every vertex, by one process. No MPI here.
#pragma once

#include <vector>

#include "graph.hpp"

namespace closure {

// All pairs of vertices with a path of one edge or more between them, sorted.
std::vector<Pair> reference_closure(const Graph& graph);

// Only their digest, which needs little memory.
Digest reference_digest(const Graph& graph);

}  // namespace closure
