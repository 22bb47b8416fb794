// The smallest additive basis of a few vectors in any number of dimensions, by search. The vectors of a basis need not
// be among those given (Träff et al., 2016, section 5).
#pragma once

#include <span>
#include <vector>

#include "plan/neighborhood.hpp"

namespace quadrille::plan {

struct SmallBasis {
  std::vector<std::vector<int>> elements;  // none: none was found
  std::vector<std::vector<int>> sums;      // [vector] numbers of its elements, rising
};

// A basis of less than `fewer_than` elements of `vectors`, which are travelled(), differ, and are not zero. In a
// dimension that is not periodic the elements of a sum never lead beyond it. Of bases of one size one with short sums,
// vector i counting `weights[i]` times. Work is bounded, and the result is the same on all ranks.
SmallBasis small_basis(const Grid& grid, std::span<const std::vector<int>> vectors, std::span<const int> weights,
                       int fewer_than);

}  // namespace quadrille::plan
