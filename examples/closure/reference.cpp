#include "reference.hpp"

#include <algorithm>
#include <cstddef>

namespace closure {
namespace {

// The graph with its vertices numbered from 0: the neighbours of vertex v are targets[first[v]] up
// to targets[first[v + 1]].
struct Adjacency {
  std::vector<Vertex> names;  // by number
  std::vector<std::size_t> first;
  std::vector<std::size_t> targets;
};

Adjacency adjacency_of(const Graph& graph) {
  Adjacency result;
  result.names = vertices_of(graph);
  const auto number = [&](Vertex vertex) {
    return static_cast<std::size_t>(std::lower_bound(result.names.begin(), result.names.end(), vertex) -
                                    result.names.begin());
  };
  std::vector<std::vector<std::size_t>> lists(result.names.size());
  for (const Pair edge : graph.edges) lists[number(edge.from)].push_back(number(edge.to));
  result.first.push_back(0);
  for (const auto& list : lists) {
    result.targets.insert(result.targets.end(), list.begin(), list.end());
    result.first.push_back(result.targets.size());
  }
  return result;
}

// Depth first from every vertex in turn. Calls visit(start, reached) for each vertex that an edge
// leads to, so the start itself is among them only if it lies on a cycle.
template <typename Visit>
void search(const Adjacency& graph, Visit visit) {
  const std::size_t none = graph.names.size();
  std::vector<std::size_t> reached_from(graph.names.size(), none);
  std::vector<std::size_t> open;
  for (std::size_t start = 0; start < graph.names.size(); ++start) {
    open.assign(1, start);
    while (!open.empty()) {
      const std::size_t vertex = open.back();
      open.pop_back();
      for (std::size_t i = graph.first[vertex]; i < graph.first[vertex + 1]; ++i) {
        const std::size_t next = graph.targets[i];
        if (reached_from[next] == start) continue;
        reached_from[next] = start;
        open.push_back(next);
        visit(graph.names[start], graph.names[next]);
      }
    }
  }
}

}  // namespace

std::vector<Pair> reference_closure(const Graph& graph) {
  std::vector<Pair> pairs;
  search(adjacency_of(graph), [&](Vertex from, Vertex to) { pairs.push_back({from, to}); });
  sort_unique(pairs);
  return pairs;
}

Digest reference_digest(const Graph& graph) {
  Digest digest;
  search(adjacency_of(graph), [&](Vertex from, Vertex to) { digest.add({from, to}); });
  return digest;
}

}  // namespace closure
