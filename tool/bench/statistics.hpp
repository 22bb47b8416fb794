// Robust statistics of measured times.
#pragma once

#include <span>
#include <vector>

namespace quadrille::tools {

// The value below which a share `q` (0 to 1) of the values lies, interpolated between neighbours;
// 0 for no values.
double quantile(std::span<const double> values, double q);

struct Summary {
  double median = 0, least = 0, p90 = 0, p99 = 0;
};
Summary summarize(std::span<const double> values);

struct Quartiles {
  double low = 0, median = 0, high = 0;
};
Quartiles quartiles_of(std::span<const double> values);

// Median of ours[i] / theirs[i] over pairs that were measured in the same round; 0 for no pairs.
double median_of_ratios(std::span<const double> ours, std::span<const double> theirs);

// Geometric mean of positive values; 0 for no values.
double geometric_mean(std::span<const double> values);

}  // namespace quadrille::tools
