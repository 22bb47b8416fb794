#include "plan/order_edges.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "plan/order_parts.hpp"

namespace quadrille::plan {
namespace {

// Sorts the edges, all of whose pairs lie in `box`, along its Z curve. Edges that join one pair stay in their order.
// `at` gives the place of an edge in the box's numbering.
template <class At>
void sort_along(const Box& box, std::span<EdgeCopy> edges, const At& at) {
  if (edges.size() < 2 || pairs_in(box) == 1) return;
  const auto [first, second] = halves(box);
  const auto middle = std::stable_partition(edges.begin(), edges.end(), [&, &half = first](const EdgeCopy& edge) {
    const Pair pair = at(edge);
    return pair.source < half.source + half.sources && pair.destination < half.destination + half.destinations;
  });
  const auto count = static_cast<std::size_t>(middle - edges.begin());
  sort_along(first, edges.first(count), at);
  sort_along(second, edges.subspan(count), at);
}

void append_piece(std::span<const EdgeCopy> edges, int index, int pieces, std::vector<EdgeCopy>& part) {
  const Piece piece = equal_piece(std::ssize(edges), index, pieces);
  part.insert(part.end(), edges.begin() + piece.first, edges.begin() + piece.end);
}

std::vector<EdgeCopy> between(std::span<const EdgeCopy> edges, const Domains& domains, int from, int to) {
  std::vector<EdgeCopy> some;
  for (const EdgeCopy& edge : edges) {
    if (domains.of(edge.source) == from && domains.of(edge.destination) == to) some.push_back(edge);
  }
  return some;
}

std::vector<EdgeCopy> row_part(std::span<const EdgeCopy> edges, const Domains& domains, int me) {
  std::vector<EdgeCopy> part;
  for (const EdgeCopy& edge : edges) {
    if (edge.destination == me) part.push_back(edge);
  }
  const int count = domains.count(), mine = domains.of(me);
  std::ranges::stable_sort(part, {}, [&](const EdgeCopy& edge) {
    const int from = domains.of(edge.source), size = static_cast<int>(domains.ranks_of(from).size());
    const int number = domains.index_of[static_cast<std::size_t>(edge.source)];
    return std::pair((from - mine + count) % count, (number - first_source(domains, me, from) + size) % size);
  });
  return part;
}

std::vector<EdgeCopy> morton_part(int ranks, int me, std::span<const EdgeCopy> edges) {
  std::vector<EdgeCopy> all(edges.begin(), edges.end()), part;
  sort_along(Box{0, 0, ranks, ranks}, all, [](const EdgeCopy& e) { return Pair{e.source, e.destination}; });
  append_piece(all, me, ranks, part);
  return part;
}

std::vector<EdgeCopy> morton_numa_part(std::span<const EdgeCopy> edges, const Domains& domains, int me) {
  const int mine = domains.of(me);
  const int members = static_cast<int>(domains.ranks_of(mine).size());
  const auto member = [&](int rank) { return domains.index_of[static_cast<std::size_t>(rank)]; };
  std::vector<EdgeCopy> part;
  for (int step = 0; step < domains.count(); ++step) {
    const int from = (mine + step) % domains.count();
    std::vector<EdgeCopy> some = between(edges, domains, from, mine);
    sort_along(Box{0, 0, static_cast<int>(domains.ranks_of(from).size()), members}, some, [&](const EdgeCopy& e) {
      return Pair{member(e.source), member(e.destination)};
    });
    append_piece(some, member(me), members, part);
  }
  return part;
}

}  // namespace

std::vector<EdgeCopy> part_of_edges(Order order, int ranks, int me, std::span<const EdgeCopy> edges,
                                    std::span<const int> domains) {
  if (order == Order::morton) return morton_part(ranks, me, edges);
  const Domains sorted = sort_domains(ranks, domains);
  if (order == Order::morton_numa) return morton_numa_part(edges, sorted, me);
  assert(order == Order::row_numa);
  return row_part(edges, sorted, me);
}

std::vector<EdgeCopy> join_edges(std::span<const EdgeEnds> destinations, std::span<const EdgeEnds> sources) {
  const auto pair_key = [](std::size_t source, std::size_t destination) {
    return static_cast<std::uint64_t>(source) << 32 | destination;
  };
  struct Ends {
    std::vector<int> blocks;  // recv blocks, in the order of the pair's edges
    std::size_t next = 0;
  };
  std::unordered_map<std::uint64_t, Ends> ends;  // of a pair
  for (std::size_t d = 0; d < sources.size(); ++d) {
    for (std::size_t k = 0; k < sources[d].peers.size(); ++k) {
      const int s = sources[d].peers[k];
      if (s >= 0) ends[pair_key(static_cast<std::size_t>(s), d)].blocks.push_back(sources[d].blocks[k]);
    }
  }
  std::vector<EdgeCopy> edges;
  for (std::size_t s = 0; s < destinations.size(); ++s) {
    for (std::size_t k = 0; k < destinations[s].peers.size(); ++k) {
      const int d = destinations[s].peers[k];
      if (d < 0) continue;
      Ends& pair = ends[pair_key(s, static_cast<std::size_t>(d))];
      if (pair.next == pair.blocks.size()) continue;
      edges.push_back({static_cast<int>(s), d, destinations[s].blocks[k], pair.blocks[pair.next++]});
    }
  }
  return edges;
}

// Neighbour collectives inside a node by copies alone: sh-naive, sh-co, sh-numa-co. They differ in the order of the
// copies (order_edges.hpp), and in nothing else.
//
// Idea    As node_copies.cpp, for the edges of a graph: each block moves once, from the send buffer of its source
//         straight into the recv buffer of its destination, and any rank may do it.
// Source  Li, Zhang and Hoefler, section 3.
// Cost    No messages, E / P copies a rank (sh-naive: one for each source), no scratch, two fences of the node.
//
// Between the fences each block is read and written once, so no two copies meet. Which block of a buffer an edge has
// is part of the graph, so any order of neighbours is served. Their "ordered buffers" are those of a distributed
// graph whose neighbours were given in the order of their ranks: then neighbouring places of the curve are
// neighbours in memory, too.
//
// Example, sh-co on a ring of 4, rank 1 (each rank sends block 0 down, 1 up; recv block 0 comes from below):
//   fence
//   copy  send[1] of 3 -> recv[0] of 0      send[0] of 2 -> recv[1]
//   fence
Schedule copies_in_order(const EdgeProblem& problem, Order order) {
  Builder builder(problem.me);
  builder.begin_round();
  builder.node_fence();
  builder.begin_round();
  for (const EdgeCopy& edge : part_of_edges(order, problem.ranks, problem.me, problem.edges, problem.domains)) {
    builder.copy(Span{edge.source, edge.send_block, Buffer::send},
                 Span{edge.destination, edge.recv_block, Buffer::recv});
  }
  builder.node_fence();
  return builder.take();
}

}  // namespace quadrille::plan
