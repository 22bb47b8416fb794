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
#include <bit>

#include "plan/order_parts.hpp"

namespace quadrille::plan {
namespace {

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

}  // namespace

void append_square_part(Order order, int ranks, int me, std::span<const int> domains, Rows rows,
                        std::vector<Pair>& pairs) {
  const auto side = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  if (me < side) append_hilbert_part(side, me, domains, rows, pairs);
  if (side < ranks) append_rest(order, ranks, side, me, pairs);
}

}  // namespace quadrille::plan
