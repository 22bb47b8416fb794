// Cuts the curves into parts, one a rank.
//
// Example, P = 4, two domains: ranks 0 and 1, ranks 2 and 3. Pairs source->destination
//   row_numa     rank 0   0->0 1->0 2->0 3->0     rank 1   1->1 0->1 3->1 2->1
//                rank 2   2->2 3->2 0->2 1->2     rank 3   3->3 2->3 1->3 0->3
//   morton_numa  rank 0   0->0 1->0 2->0 3->0     rank 1   0->1 1->1 2->1 3->1
//                rank 2   2->2 3->2 0->2 1->2     rank 3   2->3 3->3 0->3 1->3
#include "plan/order.hpp"

#include <bit>
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

// The Z curve (Morton order).
//
// Idea    Halve the longer side of the box, go through the first half, then through the second. A
//         piece of the curve is then nearly a square, so it touches few send buffers and few recv
//         buffers, and what a cache line brings is used before it is lost.
// Source  Li, Zhang and Hoefler, sections 2.1 and 2.2. For a power of two the halving is the same
//         as taking the bits of the place apart: the even bits are the source, the odd ones the
//         destination. The paper leaves open which side of a square is halved first and which half
//         of an odd side is the larger one. Destinations first, as the bits have it; and the second
//         half.
// Cost    O(piece + log box). Halves outside the piece are not entered.
//
// Example, P = 4, pairs source->destination of rank 0: 0->0 1->0 0->1 1->1
//                                            rank 1: 2->0 3->0 2->1 3->1
//                                            rank 2: 0->2 1->2 0->3 1->3
void append_morton(const Box& box, Piece piece, std::vector<Pair>& pairs) {
  const Place size = pairs_in(box);
  if (apart({0, size}, piece)) return;
  if (size == 1) {
    pairs.push_back({box.source, box.destination});
    return;
  }
  const auto [first, second] = halves(box);
  const Place before = pairs_in(first);
  append_morton(first, piece, pairs);
  append_morton(second, {piece.first - before, piece.end - before}, pairs);
}

// The Hilbert curve through a square whose side is a power of two, and another order through the rest.
//
// Idea    The largest power of two, Q, of the P ranks have the boxes of the paper among themselves. What is beside that
//         square falls into two strips: what later ranks send to the first Q, and all that later ranks receive (by
//         columns: what the first Q send to later ranks, and all that those send). Each rank gets as much of them as
//         makes P pairs:
//           square_and_row     it fills what is left of its recv buffer, sources in the order of their ranks
//           square_and_column  it empties what is left of its send buffer
//           square_and_morton  its piece of the Z curves through the strips
//         The rows of the square may be sources or destinations (order.hpp): its boxes and their curve are transposed
//         then, the strips are not.
// Source  Ramesh et al., HINT, section V.F, "extensions for non-powers of two": "a Hilbert curve for the square region
//         with edge size a power-of-two in the alltoall matrix and filling the rest of the square with a different
//         traversal". Which, and who does how much of it, the paper leaves open.
// Cost    O(P) for a part. For a power of two it is the order `hilbert`.
//
// Example, P = 6, Q = 4, square_and_row: the rank that copies each pair; columns of this drawing are sources, its rows
// destinations
//   Rows::sources   0 0 2 2 0 0   Rows::destinations   0 0 1 1 0 0
//                   0 0 2 2 1 1                        0 0 1 1 1 1
//                   1 1 3 3 2 2                        2 2 3 3 2 2
//                   1 1 3 3 3 3                        2 2 3 3 3 3
//                   4 4 4 4 4 4                        4 4 4 4 4 4
//                   5 5 5 5 5 5                        5 5 5 5 5 5
void append_rest(Order order, int ranks, int side, int me, std::vector<Pair>& pairs) {
  const bool in_square = me < side;
  if (order == Order::square_and_morton) {
    // Of the strip beside the first `side` destinations, ranks - side pairs; or of the one of the others, `ranks`.
    const Box strip = in_square ? Box{side, 0, ranks - side, side} : Box{0, side, ranks, ranks - side};
    const int index = in_square ? me : me - side, pieces = in_square ? side : ranks - side;
    return append_morton(strip, equal_piece(pairs_in(strip), index, pieces), pairs);
  }
  for (int other = in_square ? side : 0; other < ranks; ++other) {
    pairs.push_back(order == Order::square_and_row ? Pair{other, me} : Pair{me, other});
  }
}

void append_square_part(Order order, int ranks, int me, std::span<const int> domains, Rows rows,
                        std::vector<Pair>& pairs) {
  const auto side = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  if (me < side) append_hilbert_part(side, me, domains, rows, pairs);
  if (side < ranks) append_rest(order, ranks, side, me, pairs);
}

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
