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
#include "plan/order_parts.hpp"

namespace quadrille::plan {

Halves halves(const Box& box) {
  Halves parts = {box, box};
  if (box.destinations >= box.sources) {
    parts.first.destinations /= 2;
    parts.second.destination += parts.first.destinations;
    parts.second.destinations -= parts.first.destinations;
  } else {
    parts.first.sources /= 2;
    parts.second.source += parts.first.sources;
    parts.second.sources -= parts.first.sources;
  }
  return parts;
}

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

}  // namespace quadrille::plan
