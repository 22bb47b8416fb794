// Additive bases of numbers: small sets of which every given number is a sum, each used at most
// once.
#pragma once

#include <span>

#include "plan/additive_basis.hpp"

namespace quadrille::plan {

// A basis, in one dimension, of `values`, which differ and are not zero. Of bases of one size, one with short sums,
// value i counting `weights[i]` times.
//   ring > 0   numbers are taken modulo `ring`, and lie from -ring / 2 to ring / 2. Elements may have any sign
//   ring == 0  elements of a sum have the sign of the sum
AdditiveBasis line_basis(std::span<const int> values, std::span<const int> weights, int ring);

}  // namespace quadrille::plan
