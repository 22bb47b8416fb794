// Idea    Least squares with no negative constant, by coordinate descent: the normal equations of 5
//         unknowns are solved for one unknown at a time, cut off at 0, until nothing changes. The
//         sum is convex, so this finds the least one.
#include "tools/tune/fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille::tools {
namespace {

constexpr std::size_t unknowns = 5;
using Row = std::array<double, unknowns>;

Row amounts(const Sample& s) {
  return {s.messages, s.bytes, s.copied_bytes, s.copied_blocks, s.rounds};
}

Row constants(const plan::Machine& m) { return {m.alpha, m.beta, m.gamma, m.delta, m.rho}; }

}  // namespace

double modelled(const Sample& sample, const plan::Machine& machine) {
  const Row a = amounts(sample), c = constants(machine);
  double sum = 0;
  for (std::size_t i = 0; i < unknowns; ++i) sum += a[i] * c[i];
  return sum;
}

plan::Machine fit(std::span<const Sample> samples) {
  // Divided by its time, each sample is to come to 1. Columns are scaled to length 1.
  std::array<Row, unknowns> products{};
  Row wanted{}, scale{}, x{};
  for (const Sample& s : samples) {
    const Row a = amounts(s);
    for (std::size_t i = 0; i < unknowns; ++i) {
      wanted[i] += a[i] / s.seconds;
      for (std::size_t j = 0; j < unknowns; ++j)
        products[i][j] += a[i] * a[j] / (s.seconds * s.seconds);
    }
  }
  for (std::size_t i = 0; i < unknowns; ++i) scale[i] = std::sqrt(products[i][i]);
  for (int sweep = 0; sweep < 100000; ++sweep) {
    double change = 0;
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (scale[i] == 0) continue;
      double rest = wanted[i] / scale[i];
      for (std::size_t j = 0; j < unknowns; ++j) {
        if (j != i && scale[j] > 0) rest -= products[i][j] / (scale[i] * scale[j]) * x[j];
      }
      const double next = std::max(rest, 0.0);
      change = std::max(change, std::abs(next - x[i]));
      x[i] = next;
    }
    if (change < 1e-12) break;
  }
  for (std::size_t i = 0; i < unknowns; ++i) x[i] = scale[i] > 0 ? x[i] / scale[i] : 0;
  return {x[0], x[1], x[2], x[3], x[4]};
}

double median_error(std::span<const Sample> samples, const plan::Machine& machine) {
  std::vector<double> errors;
  for (const Sample& s : samples) errors.push_back(std::abs(modelled(s, machine) / s.seconds - 1));
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2),
                   errors.end());
  return errors[errors.size() / 2];
}

}  // namespace quadrille::tools
