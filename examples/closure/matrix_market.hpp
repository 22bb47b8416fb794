// The sparse matrix of a Matrix Market file as a graph: entry (i, j) is the edge from vertex i to vertex j. It is the
// form of the SuiteSparse Matrix Collection. No MPI here.
//
//     %%MatrixMarket matrix coordinate real symmetric
//     % comments
//     3 3 2          rows, columns, entries that follow
//     2 1 0.5        row and column, both from 1; values count for nothing
//     3 3 1.0
//
// Of a symmetric, skew-symmetric or Hermitian matrix the file has one triangle: the edges go both ways.
#pragma once

#include <string>
#include <string_view>

#include "graph.hpp"

namespace closure {

bool is_matrix_market(std::string_view text);

// `name` is what errors call the text, with the number of the line. Errors are std::runtime_error of one line: a dense
// matrix, a malformed line, a number beyond the rows or columns, more or fewer entries than the file says.
Graph parse_matrix_market(std::string_view text, const std::string& name);

}  // namespace closure
