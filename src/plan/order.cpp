// Cuts the curves into parts, one a rank.
//
// Example, P = 4, two domains: ranks 0 and 1, ranks 2 and 3. Pairs source->destination
//   row_numa     rank 0   0->0 1->0 2->0 3->0     rank 1   1->1 0->1 3->1 2->1
//                rank 2   2->2 3->2 0->2 1->2     rank 3   3->3 2->3 1->3 0->3
//   morton_numa  rank 0   0->0 1->0 2->0 3->0     rank 1   0->1 1->1 2->1 3->1
//                rank 2   2->2 3->2 0->2 1->2     rank 3   2->3 3->3 0->3 1->3
#include "plan/order.hpp"

#include <cassert>

#include "plan/order_parts.hpp"
#include "plan/problem.hpp"

namespace quadrille::plan {

Domains sort_domains(int ranks, std::span<const int> labels) {
  assert(labels.empty() || labels.size() == static_cast<std::size_t>(ranks));
  const NodeMap map = labels.empty() ? one_node(ranks) : node_map_from_labels({labels.begin(), labels.end()});
  Domains domains{map.members(), map.node_of, std::vector<int>(map.node_of.size())};
  for (const std::vector<int>& members : domains.members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      domains.index_of[static_cast<std::size_t>(members[i])] = static_cast<int>(i);
    }
  }
  return domains;
}

int first_source(const Domains& domains, int me, int from) {
  const auto sources = static_cast<std::int64_t>(domains.ranks_of(from).size());
  const auto readers = static_cast<std::int64_t>(domains.ranks_of(domains.of(me)).size());
  return static_cast<int>(domains.index_of[static_cast<std::size_t>(me)] * sources / readers);
}

namespace {

// The domain from which domain `mine` reads in step `step`: never one that another reads then.
int source_domain(const Domains& domains, int mine, int step) { return (mine + step) % domains.count(); }

void append_row_numa(const Domains& domains, int me, std::vector<Pair>& pairs) {
  for (int step = 0; step < domains.count(); ++step) {
    const int from = source_domain(domains, domains.of(me), step);
    const std::vector<int>& sources = domains.ranks_of(from);
    const auto first = static_cast<std::size_t>(first_source(domains, me, from));
    for (std::size_t i = 0; i < sources.size(); ++i) pairs.push_back({sources[(first + i) % sources.size()], me});
  }
}

// All that the own domain reads in one step is a box of members. Its pieces, one a member, are equal even if the
// domains are not.
void append_morton_numa(const Domains& domains, int me, std::vector<Pair>& pairs) {
  const std::vector<int>& destinations = domains.ranks_of(domains.of(me));
  const int members = static_cast<int>(destinations.size());
  const int index = domains.index_of[static_cast<std::size_t>(me)];
  for (int step = 0; step < domains.count(); ++step) {
    const std::vector<int>& sources = domains.ranks_of(source_domain(domains, domains.of(me), step));
    const Box box = {0, 0, static_cast<int>(sources.size()), members};
    const std::size_t first = pairs.size();
    append_morton(box, equal_piece(pairs_in(box), index, members), pairs);
    for (std::size_t i = first; i < pairs.size(); ++i) {
      pairs[i] = {sources[static_cast<std::size_t>(pairs[i].source)],
                  destinations[static_cast<std::size_t>(pairs[i].destination)]};
    }
  }
}

}  // namespace

std::vector<Pair> part_of_order(Order order, int ranks, int me, std::span<const int> domains, Rows rows) {
  assert(0 <= me && me < ranks && ranks <= 1 << 15);
  const Box square = {0, 0, ranks, ranks};
  std::vector<Pair> pairs;
  pairs.reserve(static_cast<std::size_t>(ranks));
  switch (order) {
    case Order::row:
      for (int other = 0; other < ranks; ++other) pairs.push_back({other, me});
      break;
    case Order::column:
      for (int other = 0; other < ranks; ++other) pairs.push_back({me, other});
      break;
    case Order::morton:
      append_morton(square, equal_piece(pairs_in(square), me, ranks), pairs);
      break;
    case Order::hilbert:
      append_hilbert_part(ranks, me, domains, rows, pairs);
      break;
    case Order::row_numa:
      append_row_numa(sort_domains(ranks, domains), me, pairs);
      break;
    case Order::square_and_row:
    case Order::square_and_column:
    case Order::square_and_morton:
      append_square_part(order, ranks, me, domains, rows, pairs);
      break;
    case Order::morton_numa:
      append_morton_numa(sort_domains(ranks, domains), me, pairs);
      break;
  }
  return pairs;
}

}  // namespace quadrille::plan
