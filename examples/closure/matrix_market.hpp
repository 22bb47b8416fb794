// The sparse matrix of a Matrix Market file as a graph: entry (i, j) is the edge from vertex i to vertex j. The
// SuiteSparse Matrix Collection uses this format. Without MPI.
//
//     %%MatrixMarket matrix coordinate real symmetric
//     % comments
//     3 3 2          rows, columns, entries that follow
//     2 1 0.5        row and column, both from 1; values are ignored
//     3 3 1.0
//
// A file stores one triangle of a symmetric, skew-symmetric or Hermitian matrix: its edges go both ways.
#pragma once

#include <string>
#include <string_view>

#include "graph.hpp"

namespace closure {

bool is_matrix_market(std::string_view text);

// Throws std::runtime_error of one line, with `name` and the line number, for a dense matrix, a malformed line, an
// index beyond the rows or columns, or a wrong number of entries.
Graph parse_matrix_market(std::string_view text, const std::string& name);

}  // namespace closure
