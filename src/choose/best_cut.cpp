#include "choose/best_cut.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::choose {

std::size_t best_cut(std::span<const double> first, std::span<const double> second) {
  const std::size_t sizes = std::min(first.size(), second.size());
  // What is lost, in the logarithm, by leaving the sizes up to a cut to the first way.
  double loss = 0, least = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < sizes; ++i) {
    if (first[i] > 0 && second[i] > 0) loss += std::log(first[i] / second[i]);
    if (loss <= least) {
      least = loss;
      best = i + 1;
    }
  }
  return best;
}

std::size_t largest_of_first(std::span<const std::size_t> sizes, std::size_t cut, std::size_t all) {
  if (sizes.empty() || cut == sizes.size()) return all;
  return cut == 0 ? sizes.front() - 1 : sizes[cut - 1];
}

std::size_t least_of_second(std::span<const std::size_t> sizes, std::size_t cut) {
  if (cut == 0 || sizes.empty()) return 0;
  return cut == sizes.size() ? sizes.back() + 1 : sizes[cut];
}

}  // namespace quadrille::choose
