#include "tool/bench/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::tools {
namespace {

double quantile_of_sorted(std::span<const double> sorted, double q) {
  if (sorted.empty()) return 0;
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return quantile_of_sorted(sorted, q);
}

Summary summarize(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {quantile_of_sorted(sorted, 0.5), sorted.empty() ? 0 : sorted.front(), quantile_of_sorted(sorted, 0.9),
          quantile_of_sorted(sorted, 0.99)};
}

Quartiles quartiles_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {quantile_of_sorted(sorted, 0.25), quantile_of_sorted(sorted, 0.5), quantile_of_sorted(sorted, 0.75)};
}

double median_of_ratios(std::span<const double> ours, std::span<const double> theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (theirs[i] > 0) ratios.push_back(ours[i] / theirs[i]);
  }
  return quantile(ratios, 0.5);
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace quadrille::tools
