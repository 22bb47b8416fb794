// Additive bases of numbers: small sets of which every given number is a sum, each used at most
// once.
#pragma once

#include <span>
#include <vector>

namespace quadrille::plan {

struct LineBasis {
  std::vector<int> elements;
  std::vector<std::vector<int>> sums;  // [value] numbers of the elements that add up to it
};

// A basis of `values`, which differ and are not zero. Of bases of one size, the one with the
// shortest sums, value i counting `weights[i]` times.
//   ring > 0   numbers are taken modulo `ring`, and lie from -ring / 2 to ring / 2. Elements may
//              have any sign, and are no longer than from the smallest value (or 0) to the largest
//              (or 0)
//   ring == 0  elements of a sum have the sign of the sum
LineBasis line_basis(std::span<const int> values, std::span<const int> weights, int ring);

}  // namespace quadrille::plan
