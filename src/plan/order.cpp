// Cuts the curves into parts, one a rank.
//
// Example, P = 4, two domains: ranks 0 and 1, ranks 2 and 3. Pairs source->destination
//   row_numa     rank 0   0->0 1->0 2->0 3->0     rank 1   1->1 0->1 3->1 2->1
//                rank 2   2->2 3->2 0->2 1->2     rank 3   3->3 2->3 1->3 0->3
//   morton_numa  rank 0   0->0 1->0 2->0 3->0     rank 1   0->1 1->1 2->1 3->1
//                rank 2   2->2 3->2 0->2 1->2     rank 3   2->3 3->3 0->3 1->3
#include "plan/order.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "plan/order_parts.hpp"
#include "plan/problem.hpp"

namespace quadrille::plan {
namespace {

// The ranks of each domain, rising; domains in the order of their first rank.
struct Domains {
  std::vector<std::vector<int>> members;  // [domain]
  std::vector<int> domain_of;             // [rank]
  std::vector<int> index_of;              // [rank] which member of its domain

  int count() const { return static_cast<int>(members.size()); }
  const std::vector<int>& ranks_of(int domain) const { return members[static_cast<std::size_t>(domain)]; }
  int of(int rank) const { return domain_of[static_cast<std::size_t>(rank)]; }
};

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

// By rows: which member of domain `from` rank `me` reads first. Readers of one domain are spread over it.
int first_source(const Domains& domains, int me, int from) {
  const auto sources = static_cast<std::int64_t>(domains.ranks_of(from).size());
  const auto readers = static_cast<std::int64_t>(domains.ranks_of(domains.of(me)).size());
  return static_cast<int>(domains.index_of[static_cast<std::size_t>(me)] * sources / readers);
}

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

// The Hilbert curve through a square of any side.
//
// Idea    A tile is crossed from one corner to the other end of its main side. A tile that is
//         nearly a square is crossed in three bends: up one half of its start (with the sides
//         exchanged), along the other half of its width, and down again. A tile that is much wider
//         than high is cut across into two. For a power of two this is Hilbert's curve.
// Source  Ramesh et al., HINT, section V.A: the curve for powers of two, begun as in figure 5 (a),
//         cut into boxes by algorithm 1; and the remark in V.F that a curve for other sides may take
//         its place. The bends for any side are those of J. Cerveny's generalised Hilbert curve
//         (2018). The paper's two readings of the rows (order.hpp) are one curve, transposed.
// Cost    O(piece + log P) for a piece or an aligned box. Tiles outside are not entered. O(P) to
//         find the reading that suits the domains.
//
// Cuts are moved to even lengths where they can be. A tile of odd length and even width cannot be
// crossed by steps to neighbours alone (the colours of a chessboard show it). With even cuts no
// square up to 300, and none of the larger ones that are tested, needs such a step.
//
// Example, P = 4: the place of each pair on the curve, rows are sources, columns destinations; or
// rows are destinations, columns sources
//    0  1 14 15
//    3  2 13 12
//    4  7  8 11
//    5  6  9 10
// Rank 1 has the box at the top right, places 12 to 15, as source->destination:
//    sources       1->3 1->2 0->2 0->3   ranks 0 and 1 empty send buffers 0 and 1
//    destinations  3->1 2->1 2->0 3->0   ranks 0 and 1 fill recv buffers 0 and 1
// With ranks 0 and 1 in one domain, 2 and 3 in another: by sources half of the copies of a domain
// go to the other one, by destinations none.

// A direction along one axis of the square.
struct Step {
  int source, destination;
};

Step operator-(Step s) { return {-s.source, -s.destination}; }

Pair moved(Pair from, Step step, int times) {
  return {from.source + step.source * times, from.destination + step.destination * times};
}

// A part of the square as the curve crosses it: from `start` to the last pair along `main`.
struct Tile {
  Pair start;
  Step main, side;
  int length, width;  // pairs along main, and along side
};

Box box_of(const Tile& tile) {
  const Pair far = moved(moved(tile.start, tile.main, tile.length - 1), tile.side, tile.width - 1);
  return {std::min(tile.start.source, far.source), std::min(tile.start.destination, far.destination),
          std::abs(far.source - tile.start.source) + 1, std::abs(far.destination - tile.start.destination) + 1};
}

// Half of `length`, moved up to an even number if that leaves something.
int even_half(int length) {
  const int half = length / 2;
  return half % 2 == 1 && length > 2 ? half + 1 : half;
}

class Walk {
 public:
  Walk(Piece piece, const Box& box, std::vector<Pair>& pairs) : piece_(piece), box_(box), pairs_(pairs) {}

  // `tile` begins at the place that the walk has come to.
  void cross(const Tile& tile) {
    const Place size = Place{tile.length} * tile.width;
    if (apart({place_, place_ + size}, piece_) || apart(box_of(tile), box_)) {
      place_ += size;
    } else if (tile.width == 1) {
      line(tile.start, tile.main, tile.length);
    } else if (tile.length == 1) {
      line(tile.start, tile.side, tile.width);
    } else if (2 * tile.length > 3 * tile.width) {
      cut(tile, even_half(tile.length));
    } else {
      bend(tile, tile.length / 2, even_half(tile.width));
    }
  }

 private:
  void line(Pair start, Step step, int length) {
    for (int i = 0; i < length; ++i, ++place_) {
      const Pair pair = moved(start, step, i);
      const bool wanted = !apart({place_, place_ + 1}, piece_) && !apart({pair.source, pair.destination, 1, 1}, box_);
      if (wanted) pairs_.push_back(pair);
    }
  }

  void cut(const Tile& tile, int length) {
    cross({tile.start, tile.main, tile.side, length, tile.width});
    cross({moved(tile.start, tile.main, length), tile.main, tile.side, tile.length - length, tile.width});
  }

  // Up over `length` of the main side, along at the far side, and down over the rest.
  void bend(const Tile& tile, int length, int width) {
    cross({tile.start, tile.side, tile.main, width, length});
    cross({moved(tile.start, tile.side, width), tile.main, tile.side, tile.length, tile.width - width});
    const Pair down = moved(moved(tile.start, tile.main, tile.length - 1), tile.side, width - 1);
    cross({down, -tile.side, -tile.main, width, tile.length - length});
  }

  const Piece piece_;
  const Box box_;
  std::vector<Pair>& pairs_;
  Place place_ = 0;
};

// Algorithm 1 of the paper: about a square; boxes of consecutive ranks lie side by side along the destinations, where
// rows are sources.
Box hilbert_box(int ranks, int me) {
  const int bits = std::countr_zero(static_cast<unsigned>(ranks));
  const int sources = 1 << ((bits + 1) / 2);
  const int destinations = ranks / sources;
  const int boxes_in_row = ranks / destinations;
  return {me / boxes_in_row * sources, me % boxes_in_row * destinations, sources, destinations};
}

// Copies into the domain of the rank that copies, by boxes. Each block of recv buffers is filled by as many ranks as it
// has buffers: by destinations the same ranks, by sources every `blocks`-th.
Place local_copies(int ranks, Rows rows, const Domains& domains) {
  const Box box = hilbert_box(ranks, 0);
  const bool same_ranks = rows == Rows::destinations;
  const int size = same_ranks ? box.sources : box.destinations;
  const int blocks = ranks / size;
  std::vector<int> buffers(static_cast<std::size_t>(domains.count()));  // [domain] in this block
  const auto in_domain_of = [&](int rank) -> int& { return buffers[static_cast<std::size_t>(domains.of(rank))]; };
  Place local = 0;
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < size; ++i) ++in_domain_of(block * size + i);
    for (int i = 0; i < size; ++i) local += in_domain_of(same_ranks ? block * size + i : i * blocks + block);
    for (int i = 0; i < size; ++i) --in_domain_of(block * size + i);
  }
  return local * blocks;  // a box has `blocks` sources
}

Rows rows_of_boxes(int ranks, std::span<const int> labels, Rows rows) {
  if (rows != Rows::by_domains || labels.empty()) return rows;
  const Domains domains = sort_domains(ranks, labels.first(static_cast<std::size_t>(ranks)));
  const bool more = local_copies(ranks, Rows::destinations, domains) > local_copies(ranks, Rows::sources, domains);
  return more ? Rows::destinations : Rows::sources;
}

// For a power of two a rank has its box. For other P the square does not fall into P equal boxes, and a rank has the
// next P places of the curve.
void append_hilbert_part(int ranks, int me, std::span<const int> domains, Rows rows, std::vector<Pair>& pairs) {
  const std::size_t first = pairs.size();
  const Box square = {0, 0, ranks, ranks};
  const Place all = pairs_in(square);
  const bool has_boxes = std::has_single_bit(static_cast<unsigned>(ranks));
  append_hilbert(ranks, has_boxes ? Piece{0, all} : equal_piece(all, me, ranks),
                 has_boxes ? hilbert_box(ranks, me) : square, pairs);
  if ((has_boxes ? rows_of_boxes(ranks, domains, rows) : rows) != Rows::destinations) return;
  for (Pair& pair : std::span(pairs).subspan(first)) std::swap(pair.source, pair.destination);
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

void append_hilbert(int ranks, Piece piece, const Box& box, std::vector<Pair>& pairs) {
  Walk(piece, box, pairs).cross({{0, 0}, {0, 1}, {1, 0}, ranks, ranks});
}

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

// ---- Blocks of neighbour collectives ----

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
    const int from = source_domain(domains, mine, step);
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
// copies, and in nothing else.
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
