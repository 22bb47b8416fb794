// From measured times to a switch point.
#pragma once

#include <cstddef>
#include <span>

namespace quadrille::tools {

// Two ways were measured at growing sizes; the first is better for small ones. Returns how many of
// the sizes are best left to it: with that cut, the product of the times is least, so that one
// disturbed measurement among good ones does not move it. Of equal cuts the largest, that is, the
// first way.
std::size_t best_cut(std::span<const double> first, std::span<const double> second);

}  // namespace quadrille::tools
