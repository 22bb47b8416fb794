// Arithmetic on ranks and blocks modulo P.
#pragma once

namespace quadrille::plan {

// `value` modulo `ranks`, for -ranks <= value < 2 * ranks. Cheaper than a division.
constexpr int cyclic(int value, int ranks) {
  if (value < 0) return value + ranks;
  return value < ranks ? value : value - ranks;
}

}  // namespace quadrille::plan
