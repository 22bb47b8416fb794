// The smallest additive basis of a few vectors in any number of dimensions, by search. The vectors of a basis need not
// be among those given (Träff et al., 2016, section 5).
#pragma once

#include <span>

#include "plan/additive_basis.hpp"

namespace quadrille::plan {

// A basis of `vectors`, which are travelled(), differ, and are not zero, with smaller counts() than `than`, vector i
// counting `weights[i]` times; without elements if none is found. In a dimension that is not periodic the elements of
// a sum never lead beyond it. Work is bounded, and the result is the same on all ranks.
AdditiveBasis small_basis(const Grid& grid, const Neighborhood& vectors, std::span<const int> weights,
                          NeighborCounts than);

}  // namespace quadrille::plan
