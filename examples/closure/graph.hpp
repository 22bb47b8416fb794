// A directed graph, and its form as a text: an edge list. No MPI here.
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

// `name` is what errors call the text, with the number of the line.
Graph parse_edge_list(std::string_view text, const std::string& name);

// An edge list, or what a Matrix Market file says (matrix_market.hpp).
Graph parse_graph(std::string_view text, const std::string& name);

// The whole file, decompressed if it was made by gzip.
std::string read_text(const std::string& path);

// Writes an edge list with `comment`, the text of one line, above it; compressed if the name of the
// file ends in .gz.
void write_graph(const Graph& graph, const std::string& path, const std::string& comment);

}  // namespace closure
