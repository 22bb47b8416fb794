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
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "plan/order_parts.hpp"

namespace quadrille::plan {
namespace {

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

}  // namespace

void append_hilbert(int ranks, Piece piece, const Box& box, std::vector<Pair>& pairs) {
  Walk(piece, box, pairs).cross({{0, 0}, {0, 1}, {1, 0}, ranks, ranks});
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

}  // namespace quadrille::plan
