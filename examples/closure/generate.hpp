// Generated graphs. Without MPI.
#pragma once

#include <string>

#include "graph.hpp"

namespace closure {

// "chains:COUNT,LONGEST": COUNT chains of vertices, the i-th (from 1) with LONGEST * i / COUNT edges, rounded up. The
// longest path determines the number of iterations of a closure, here LONGEST + 1, and few tuples are new in each.
// Section 5.1 of Fan et al. (HPDC 2022) compares such a graph of high diameter with another (2,933 iterations against
// 89). Throws std::runtime_error of one line for another word, malformed or zero numbers, and too many vertices.
Graph generate_graph(const std::string& what);

}  // namespace closure
