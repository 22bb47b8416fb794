// Good bases are guessed: the values themselves, and powers of two. Of a few values a search looks for better ones
// (small_basis.hpp).
#include "plan/line_basis.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "plan/small_basis.hpp"

namespace quadrille::plan {
namespace {

AdditiveBasis themselves(std::span<const int> values) {
  AdditiveBasis basis{{1, {values.begin(), values.end()}}, {}};
  for (int i = 0; i < basis.size(); ++i) basis.sums.push_back({i});
  return basis;
}

// The powers of two that appear in `patterns`, one pattern a value. Bit `sign` counts negative.
AdditiveBasis powers(std::span<const std::int64_t> patterns, int sign = -1) {
  AdditiveBasis basis{{1, {}}, std::vector<std::vector<int>>(patterns.size())};
  for (int bit = 0; bit < 31; ++bit) {
    const int number = basis.size();
    bool appears = false;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if ((patterns[i] >> bit & 1) == 0) continue;
      basis.sums[i].push_back(number);
      appears = true;
    }
    if (appears) basis.elements.offsets.push_back(bit == sign ? -(1 << bit) : 1 << bit);
  }
  return basis;
}

AdditiveBasis up_round_the_ring(std::span<const int> values, int ring) {
  std::vector<std::int64_t> patterns;
  for (const int value : values) patterns.push_back(value < 0 ? value + ring : value);
  return powers(patterns);
}

// 1, 2, 4, ... and the next power downwards: two's complement. Empty if that goes round the ring, or there is none.
AdditiveBasis up_and_one_down(std::span<const int> values, int ring) {
  int sign = 0;
  for (const int value : values) {
    const auto size = static_cast<unsigned>(value < 0 ? -(value + 1) : value);
    sign = std::max(sign, static_cast<int>(std::bit_width(size)));
  }
  if (sign > 29 || 1 << sign >= ring) return {};
  std::vector<std::int64_t> patterns;
  for (const int value : values) patterns.push_back(value < 0 ? value + (2 << sign) : value);
  return powers(patterns, sign);
}

// On a ring, or of values above zero.
AdditiveBasis one_way(std::span<const int> values, std::span<const int> weights, int ring) {
  AdditiveBasis best = themselves(values);
  const auto offer = [&](AdditiveBasis other) {
    if (other.size() > 0 && other.counts(weights) < best.counts(weights)) best = std::move(other);
  };
  offer(up_round_the_ring(values, ring));
  offer(up_and_one_down(values, ring));
  offer(small_basis({{ring}, {ring > 0}}, {1, {values.begin(), values.end()}}, weights, best.counts(weights)));
  return best;
}

}  // namespace

AdditiveBasis line_basis(std::span<const int> values, std::span<const int> weights, int ring) {
  if (ring > 0 && !values.empty()) return one_way(values, weights, ring);
  AdditiveBasis result{{1, {}}, std::vector<std::vector<int>>(values.size())};
  for (const int sign : {1, -1}) {
    std::vector<int> part, part_weights;
    std::vector<std::size_t> number;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((values[i] > 0) != (sign > 0)) continue;
      part.push_back(sign * values[i]);
      part_weights.push_back(weights[i]);
      number.push_back(i);
    }
    if (part.empty()) continue;
    const AdditiveBasis basis = one_way(part, part_weights, 0);
    const int before = result.size();
    for (const int element : basis.elements.offsets) result.elements.offsets.push_back(sign * element);
    for (std::size_t i = 0; i < part.size(); ++i) {
      for (const int element : basis.sums[i]) result.sums[number[i]].push_back(before + element);
    }
  }
  return result;
}

}  // namespace quadrille::plan
