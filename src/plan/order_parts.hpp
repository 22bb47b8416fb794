// Boxes of the square of blocks, and curves through them. Used by order.cpp, mn_co.cpp and tests alone.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/order.hpp"

namespace quadrille::plan {

// The pairs of `sources` consecutive sources with `destinations` consecutive destinations.
struct Box {
  int source, destination;    // the first of each
  int sources, destinations;  // how many, at least one
};

// Number of pairs, or place of a pair on a curve.
using Place = std::int64_t;

inline Place pairs_in(const Box& box) { return Place{box.sources} * box.destinations; }

// The places [first, end) of a curve.
struct Piece {
  Place first, end;
};

inline bool apart(Piece a, Piece b) { return a.end <= b.first || b.end <= a.first; }

inline bool apart(const Box& a, const Box& b) {
  return a.source + a.sources <= b.source || b.source + b.sources <= a.source ||
         a.destination + a.destinations <= b.destination || b.destination + b.destinations <= a.destination;
}

// Piece `index` of `pieces` equal ones; one more or less where `total` is no multiple of `pieces`.
inline Piece equal_piece(Place total, int index, int pieces) {
  return {total * index / pieces, total * (index + 1) / pieces};
}

struct Halves {
  Box first, second;
};
// Cuts the longer side of a box, of a square that of destinations: `first_of(side)` of it are the first part.
template <class FirstOf>
Halves cut(const Box& box, FirstOf first_of) {
  Halves parts = {box, box};
  const bool of_destinations = box.destinations >= box.sources;
  int Box::*const side = of_destinations ? &Box::destinations : &Box::sources;
  parts.first.*side = first_of(box.*side);
  parts.second.*side -= parts.first.*side;
  parts.second.*(of_destinations ? &Box::destination : &Box::source) += parts.first.*side;
  return parts;
}
// The two parts that the Z curve goes through one after the other; not of a single pair.
inline Halves halves(const Box& box) {
  return cut(box, [](int side) { return side / 2; });
}

// Appends those pairs of `piece` of the Hilbert curve through the square of `ranks` * `ranks` pairs
// that lie in `box`.
void append_hilbert(int ranks, Piece piece, const Box& box, std::vector<Pair>& pairs);

}  // namespace quadrille::plan
