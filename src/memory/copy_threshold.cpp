#include "memory/copy_threshold.hpp"

#include <algorithm>
#include <limits>

#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

double least_time(std::size_t threshold, const std::function<double(std::size_t)>& measure,
                  int repeats) {
  double least = std::numeric_limits<double>::infinity();
  for (int r = 0; r < std::max(repeats, 1); ++r) {
    const double time = measure(threshold);
    if (time < least) least = time;  // false for what is not a number
  }
  return least;
}

}  // namespace

std::size_t first_threshold(std::size_t l2_bytes, int ranks) {
  if (l2_bytes == 0) l2_bytes = std::size_t{1} << 20;
  const std::size_t share = l2_bytes / static_cast<std::size_t>(std::max(ranks, 1));
  return std::max(share / sys::cache_line, std::size_t{1}) * sys::cache_line;
}

std::size_t search_threshold(std::size_t start, std::size_t least,
                             const std::function<double(std::size_t threshold)>& measure,
                             const ThresholdSearch& search) {
  std::size_t best = start;
  double best_time = least_time(best, measure, search.repeats);
  while (best > 0) {
    const std::size_t candidate = best / 2 < least ? 0 : best / 2;
    const double time = least_time(candidate, measure, search.repeats);
    if (!(time < best_time * (1 - search.gain))) break;
    best = candidate;
    best_time = time;
  }
  return best;
}

}  // namespace quadrille::memory
