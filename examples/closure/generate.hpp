// Graphs that are made, not read. No MPI here.
#pragma once

#include <string>

#include "graph.hpp"

namespace closure {

// "chains:COUNT,LONGEST": so many chains of vertices, the i-th (from 1) with LONGEST * i / COUNT edges, rounded up. The
// longest way decides how many iterations a closure takes, so this one takes LONGEST + 1, and few tuples are new in
// each: a graph of high diameter, as one of the two that section 5.1 of Fan et al. (HPDC 2022) compares (2,933
// iterations against 89). Errors are std::runtime_error of one line: another word, numbers that are no numbers or 0,
// too many vertices.
Graph generate_graph(const std::string& what);

}  // namespace closure
