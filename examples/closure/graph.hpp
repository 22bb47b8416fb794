// A directed graph, and its text form: an edge list. Without MPI.
//
//     # a comment
//     0 1
//     1 2        the edge from vertex 1 to vertex 2
//
// Files may be compressed with gzip. All errors are std::runtime_error of one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "relation.hpp"

namespace closure {

struct Graph {
  std::vector<Pair> edges;  // sorted, each once
};

// The vertices that have an edge, sorted.
std::vector<Vertex> vertices_of(const Graph& graph);

// Errors contain `name` and the line number.
Graph parse_edge_list(std::string_view text, const std::string& name);

// Reads an edge list or a Matrix Market file (matrix_market.hpp).
Graph parse_graph(std::string_view text, const std::string& name);

// The whole file, decompressed if it is a gzip file.
std::string read_text(const std::string& path);

// Writes an edge list below the one-line `comment`; compressed if the name of the file ends in .gz.
void write_graph(const Graph& graph, const std::string& path, const std::string& comment);

}  // namespace closure
