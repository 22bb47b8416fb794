// The Z curve (Morton order).
//
// Idea    Halve the longer side of the box, go through the first half, then through the second. A
//         piece of the curve is then nearly a square, so it touches few send buffers and few recv
//         buffers, and what a cache line brings is used before it is lost.
// Source  Li, Zhang and Hoefler, sections 2.1 and 2.2. For a power of two the halving is the same
//         as taking the bits of the place apart; that needs no recursion. The paper leaves open
//         which side of a square is halved first and which half of an odd side is the larger one.
//         Destinations first, as the bits have it; and the second half.
// Cost    O(piece + log box). Halves outside the piece are not entered.
//
// Example, P = 4, pairs source->destination of rank 0: 0->0 1->0 0->1 1->1
//                                            rank 1: 2->0 3->0 2->1 3->1
//                                            rank 2: 0->2 1->2 0->3 1->3
#include <bit>

#include "plan/order_parts.hpp"

namespace quadrille::plan {
namespace {

// Bits 0, 2, 4, ... of `code`, moved together.
std::uint32_t even_bits(std::uint32_t code) {
  code &= 0x55555555u;
  code = (code | (code >> 1)) & 0x33333333u;
  code = (code | (code >> 2)) & 0x0f0f0f0fu;
  code = (code | (code >> 4)) & 0x00ff00ffu;
  return (code | (code >> 8)) & 0x0000ffffu;
}

// `before`: the place of the first pair of `box` on the curve.
void halve(const Box& box, Place before, Piece piece, std::vector<Pair>& pairs) {
  const Place size = pairs_in(box);
  if (apart({before, before + size}, piece)) return;
  if (size == 1) {
    pairs.push_back({box.source, box.destination});
    return;
  }
  const auto [first, second] = halves(box);
  halve(first, before, piece, pairs);
  halve(second, before + pairs_in(first), piece, pairs);
}

bool takes_bits(const Box& box) {
  constexpr int most = 1 << 15;  // a place must fit 32 bits
  return box.sources == box.destinations && box.sources <= most &&
         std::has_single_bit(static_cast<unsigned>(box.sources));
}

}  // namespace

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

Pair morton_pair(std::uint32_t code) {
  return {static_cast<int>(even_bits(code)), static_cast<int>(even_bits(code >> 1))};
}

void append_morton(const Box& box, Piece piece, std::vector<Pair>& pairs) {
  if (!takes_bits(box)) return halve(box, 0, piece, pairs);
  for (Place place = piece.first; place < piece.end; ++place) {
    const Pair pair = morton_pair(static_cast<std::uint32_t>(place));
    pairs.push_back({box.source + pair.source, box.destination + pair.destination});
  }
}

}  // namespace quadrille::plan
