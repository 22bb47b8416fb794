#include "tools/tune/tune_points.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::tools {

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

}  // namespace quadrille::tools
