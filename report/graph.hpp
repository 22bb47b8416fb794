// The neighbours of the ranks of a communicator, as `quadrille report` makes their calls again: lists of all ranks as
// "sources" and "destinations" (read.hpp), and the bytes along the edges to the destinations.
#pragma once

#include <string>

#include "report/read.hpp"
#include "tool/bench/edges.hpp"

namespace quadrille::tools {

// Empty if a graph with the neighbours of a communicator can be made, else why not.
std::string why_no_graph(const ReportData& communicator);

// Empty if calls with so many bytes along the edges of such a graph can be made, else why not.
std::string why_not_such_bytes(const ReportData& graph, const ReportData& bytes);

// Of all ranks, each counted once, where it begins.
std::size_t edges_in(const ReportData& graph);

// Those of rank `me` of a group of a case (cases.hpp).
BenchEdges edges_of(const ReportData& work, std::size_t group, std::size_t me);

}  // namespace quadrille::tools
