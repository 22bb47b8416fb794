// From measured times to a switch point.
#pragma once

#include <cstddef>
#include <span>

namespace quadrille::choose {

// Two ways were measured at growing sizes; the first is better for small ones. Returns how many of
// the sizes are best left to it: with that cut, the product of the times is least, so that one
// disturbed measurement among good ones does not move it. Of equal cuts the largest, that is, the
// first way.
std::size_t best_cut(std::span<const double> first, std::span<const double> second);

// The same as sizes. Largest block that is left to the first way; `all` if every size is.
std::size_t largest_of_first(std::span<const std::size_t> sizes, std::size_t cut, std::size_t all);
// Least block for the second way: just above what was measured if that is none of it.
std::size_t least_of_second(std::span<const std::size_t> sizes, std::size_t cut);

}  // namespace quadrille::choose
