// Additive bases of neighbourhoods (Träff et al., 2016, section 5): few vectors, of which every
// offset is a sum, each used at most once. A basis of b vectors makes a schedule of b rounds.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {

struct AdditiveBasis {
  Neighborhood elements;
  std::vector<std::vector<int>> sums;  // [offset] numbers of its elements, rising; zero: none

  int size() const { return elements.size(); }
  std::span<const int> element(int number) const { return elements.offset(number); }
  // Rounds and blocks of neighbor_basis, offset i counting `weights[i]` times; without weights once.
  NeighborCounts counts(std::span<const int> weights = {}) const;
};

// A basis of offsets that are travelled(), never larger than the one of torus-direct or than the
// number of different offsets. The best of these is taken, in rounds and then in blocks:
//   - for each dimension a basis of its coordinates, the smallest one if there are few
//     (line_basis())
//   - the different offsets, less those that are sums of shorter ones
//   - offsets on one line through zero: a basis of their places on it (line_basis())
//   - of up to 31 different offsets, the smallest one that a bounded search finds: the smallest of
//     all, if three vectors or less will do (small_basis())
// Vectors need not be offsets: (3,3) (4,4) (5,5) (6,6) (7,7) are sums of (2,2) (3,3) (4,4); and on a
// torus the 2 d nearest neighbours have a basis of d + 1, the unit vectors and minus their sum.
// How hard the smallest basis of all is, the paper leaves open; so do we. In a dimension that is
// not periodic the elements of a sum never lead beyond it, so no block leaves the mesh on its way.
// Elements that serve most offsets come first: so the ways of an allgather part late.
AdditiveBasis additive_basis(const Grid& grid, const Neighborhood& offsets);

// A basis, in one dimension, of `values`, which differ and are not zero. Of bases of one size, one with short sums,
// value i counting `weights[i]` times.
//   ring > 0   numbers are taken modulo `ring`, and lie from -ring / 2 to ring / 2. Elements may have any sign
//   ring == 0  elements of a sum have the sign of the sum
AdditiveBasis line_basis(std::span<const int> values, std::span<const int> weights, int ring);

// The smallest basis of a few vectors in any number of dimensions, by search. Elements need not be among the vectors,
// which are travelled(), differ, and are not zero. It has smaller counts() than `than`, vector i counting `weights[i]`
// times; without elements if none is found. In a dimension that is not periodic the elements of a sum never lead beyond
// it. Work is bounded, and the result is the same on all ranks.
AdditiveBasis small_basis(const Grid& grid, const Neighborhood& vectors, std::span<const int> weights,
                          NeighborCounts than);

// Keeps the basis of the last problem: costs and the plans of both collectives need the same basis, and a proof needs
// the basis once for each rank. Threads may share one.
class LastBasis {
 public:
  AdditiveBasis of(const Grid& grid, const Neighborhood& offsets);

 private:
  std::mutex mutex_;
  Grid grid_;
  Neighborhood offsets_;
  AdditiveBasis basis_;
};

}  // namespace quadrille::plan
