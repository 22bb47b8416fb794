#include "report/graph.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace quadrille::tools {
namespace {

using Lists = std::vector<std::vector<int>>;

bool are_ranks_below(int ranks, const Lists& lists) {
  return std::all_of(lists.begin(), lists.end(), [ranks](const std::vector<int>& list) {
    return std::all_of(list.begin(), list.end(), [ranks](int rank) { return rank >= 0 && rank < ranks; });
  });
}

// Has each edge two ends? So many that a sender has to a rank, so many that rank has from it.
bool ends_match(const Lists& sources, const Lists& destinations) {
  std::map<std::pair<int, int>, int> open;
  for (int rank = 0; rank < static_cast<int>(sources.size()); ++rank) {
    for (const int to : destinations[static_cast<std::size_t>(rank)]) ++open[{rank, to}];
    for (const int from : sources[static_cast<std::size_t>(rank)]) --open[{from, rank}];
  }
  return std::all_of(open.begin(), open.end(), [](const auto& edge) { return edge.second == 0; });
}

// Several edges from one rank to another carry the same.
std::size_t bytes_between(const Lists& destinations, const ReportData& bytes, int from, int to) {
  const std::vector<int>& list = destinations[static_cast<std::size_t>(from)];
  const auto edge = std::find(list.begin(), list.end(), to) - list.begin();
  return bytes[static_cast<std::size_t>(from)][static_cast<std::size_t>(edge)];
}

}  // namespace

std::string why_no_graph(const ReportData& communicator) {
  if (!communicator.contains("neighbors")) return "not all ranks have left their neighbours";
  const ReportData& graph = communicator["neighbors"];
  if (graph.contains("why")) return graph["why"];
  const Lists sources = graph["sources"], destinations = graph["destinations"];
  const auto ranks = communicator["ranks"].get<std::size_t>();
  if (sources.size() != ranks || destinations.size() != ranks) return "not all ranks have left their neighbours";
  const int count = static_cast<int>(ranks);
  if (!are_ranks_below(count, sources) || !are_ranks_below(count, destinations) || !ends_match(sources, destinations)) {
    return "sources and destinations of the ranks do not match";
  }
  return edges_in(graph) == 0 ? "ranks without neighbours" : "";
}

std::string why_not_such_bytes(const ReportData& graph, const ReportData& bytes) {
  const Lists destinations = graph["destinations"];
  if (bytes.size() != destinations.size()) return "not all ranks have left the counts of one call";
  for (std::size_t rank = 0; rank < destinations.size(); ++rank) {
    if (bytes[rank].size() != destinations[rank].size()) return "not all ranks have left the counts of one call";
    std::map<int, std::uint64_t> first;
    for (std::size_t edge = 0; edge < destinations[rank].size(); ++edge) {
      const auto size = bytes[rank][edge].get<std::uint64_t>();
      if (first.try_emplace(destinations[rank][edge], size).first->second != size) {
        return "blocks of different sizes from one rank to one other, which some MPIs mix up";
      }
    }
  }
  return "";
}

std::size_t edges_in(const ReportData& graph) {
  std::size_t edges = 0;
  for (const auto& list : graph["destinations"]) edges += list.size();
  return edges;
}

BenchEdges edges_of(const ReportData& work, std::size_t group, std::size_t me) {
  const ReportData& graph = work["graphs"][group];
  const Lists destinations = graph["destinations"];
  BenchEdges edges;
  edges.sources = graph["sources"][me].get<std::vector<int>>();
  edges.destinations = destinations[me];
  if (work.contains("block")) {
    const std::size_t block = work["block"];
    edges.received.assign(edges.sources.size(), block);
    edges.sent.assign(edges.destinations.size(), block);
    return edges;
  }
  const ReportData& bytes = work["bytes"];
  edges.sent = bytes[me].get<std::vector<std::size_t>>();
  for (const int from : edges.sources) {
    edges.received.push_back(bytes_between(destinations, bytes, from, static_cast<int>(me)));
  }
  return edges;
}

}  // namespace quadrille::tools
