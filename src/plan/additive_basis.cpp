#include "plan/additive_basis.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

namespace quadrille::plan {

NeighborCounts AdditiveBasis::counts(std::span<const int> weights) const {
  NeighborCounts counts{size(), 0};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    counts.blocks += std::ssize(sums[i]) * (weights.empty() ? 1 : weights[i]);
  }
  return counts;
}

namespace {

// ---- Of numbers ----
//
// Good bases are guessed: the values themselves, and powers of two. Of a few values a search looks for better ones
// (small_basis.cpp).

AdditiveBasis themselves(std::span<const int> values) {
  AdditiveBasis basis{{1, {values.begin(), values.end()}}, {}};
  for (int i = 0; i < basis.size(); ++i) basis.sums.push_back({i});
  return basis;
}

// The powers of two that appear in the values, of which those below zero have gone round by `turn`. Bit `sign` counts
// negative.
AdditiveBasis powers(std::span<const int> values, std::int64_t turn, int sign = -1) {
  AdditiveBasis basis{{1, {}}, std::vector<std::vector<int>>(values.size())};
  for (int bit = 0; bit < 31; ++bit) {
    const int number = basis.size();
    bool appears = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t pattern = values[i] < 0 ? values[i] + turn : values[i];
      if ((pattern >> bit & 1) == 0) continue;
      basis.sums[i].push_back(number);
      appears = true;
    }
    if (appears) basis.elements.offsets.push_back(bit == sign ? -(1 << bit) : 1 << bit);
  }
  return basis;
}

// 1, 2, 4, ... and the next power downwards: two's complement. Empty if that goes round the ring, or there is none.
AdditiveBasis up_and_one_down(std::span<const int> values, int ring) {
  int sign = 0;
  for (const int value : values) {
    const auto size = static_cast<unsigned>(value < 0 ? -(value + 1) : value);
    sign = std::max(sign, static_cast<int>(std::bit_width(size)));
  }
  if (sign > 29 || 1 << sign >= ring) return {};
  return powers(values, 2 << sign, sign);
}

// On a ring, or of values above zero.
AdditiveBasis one_way(std::span<const int> values, std::span<const int> weights, int ring) {
  AdditiveBasis best = themselves(values);
  const auto offer = [&](AdditiveBasis other) {
    if (other.size() > 0 && other.counts(weights) < best.counts(weights)) best = std::move(other);
  };
  offer(powers(values, ring));
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

namespace {

// ---- Of offsets ----

AdditiveBasis empty_basis(const Neighborhood& offsets) {
  return {{offsets.dimensions, {}}, std::vector<std::vector<int>>(static_cast<std::size_t>(offsets.size()))};
}

void add_dimension(AdditiveBasis& basis, const Neighborhood& offsets, std::size_t j, int ring) {
  std::map<int, int> neighbors;  // [coordinate]
  for (int i = 0; i < offsets.size(); ++i) {
    if (offsets.offset(i)[j] != 0) ++neighbors[offsets.offset(i)[j]];
  }
  std::vector<int> values, weights;
  for (const auto& [value, weight] : neighbors) {
    values.push_back(value);
    weights.push_back(weight);
  }
  const AdditiveBasis line = line_basis(values, weights, ring);
  const int before = basis.size();
  for (const int length : line.elements.offsets) {
    std::vector<int> element(static_cast<std::size_t>(offsets.dimensions), 0);
    element[j] = length;
    basis.elements.add(element);
  }
  for (int i = 0; i < offsets.size(); ++i) {
    const auto at = std::lower_bound(values.begin(), values.end(), offsets.offset(i)[j]);
    if (at == values.end() || *at != offsets.offset(i)[j]) continue;
    std::vector<int>& sum = basis.sums[static_cast<std::size_t>(i)];
    for (const int e : line.sums[static_cast<std::size_t>(at - values.begin())]) sum.push_back(before + e);
  }
}

AdditiveBasis by_dimension(const Grid& grid, const Neighborhood& offsets) {
  AdditiveBasis basis = empty_basis(offsets);
  for (std::size_t j = 0; j < grid.extents.size(); ++j) {
    add_dimension(basis, offsets, j, grid.periodic[j] ? grid.extents[j] : 0);
  }
  return basis;
}

bool is_zero(std::span<const int> offset) {
  return std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
}

// Finds an offset as a sum of elements that all point its way, so that none leads beyond it.
class Sums {
 public:
  explicit Sums(const AdditiveBasis& basis) : basis_(basis) {}

  // Appends the elements to `sum`. False if there is no such sum, or none is found soon.
  bool find(std::span<const int> offset, std::vector<int>& sum) {
    tries_ = 1000;
    return find(std::vector<int>(offset.begin(), offset.end()), basis_.size(), sum);
  }

 private:
  static bool fits(std::span<const int> element, const std::vector<int>& rest) {
    for (std::size_t j = 0; j < rest.size(); ++j) {
      const bool fits =
          rest[j] >= 0 ? element[j] >= 0 && element[j] <= rest[j] : element[j] <= 0 && element[j] >= rest[j];
      if (!fits) return false;
    }
    return true;
  }

  // Of elements before `end`, the longest first.
  bool find(const std::vector<int>& rest, int end, std::vector<int>& sum) {
    if (is_zero(rest)) return true;
    for (int e = end; e-- > 0 && tries_ > 0;) {
      if (!fits(basis_.element(e), rest)) continue;
      --tries_;
      std::vector<int> less = rest;
      for (std::size_t j = 0; j < less.size(); ++j) less[j] -= basis_.element(e)[j];
      sum.push_back(e);
      if (find(less, e, sum)) return true;
      sum.pop_back();
    }
    return false;
  }

  const AdditiveBasis& basis_;
  int tries_ = 0;
};

AdditiveBasis of_offsets(const Neighborhood& offsets) {
  AdditiveBasis basis = empty_basis(offsets);
  const auto norm = [&offsets](int i) {
    std::int64_t hops = 0;
    for (const int c : offsets.offset(i)) hops += std::abs(c);
    return hops;
  };
  std::vector<int> by_norm(basis.sums.size());
  std::iota(by_norm.begin(), by_norm.end(), 0);
  std::stable_sort(by_norm.begin(), by_norm.end(), [&norm](int a, int b) { return norm(a) < norm(b); });
  for (const int i : by_norm) {
    std::vector<int>& sum = basis.sums[static_cast<std::size_t>(i)];
    if (Sums(basis).find(offsets.offset(i), sum)) continue;
    sum = {basis.size()};
    basis.elements.add(offsets.offset(i));
  }
  return basis;
}

// Offsets that differ and are not zero, and how often each is given.
struct Different {
  Neighborhood vectors;
  std::vector<int> weights;
  std::vector<int> number;  // [offset] its vector; -1: zero
};

Different different(const Neighborhood& offsets) {
  Different result{{offsets.dimensions, {}}, {}, {}};
  std::map<std::vector<int>, int> known;
  for (int i = 0; i < offsets.size(); ++i) {
    const std::span<const int> offset = offsets.offset(i);
    int& number = result.number.emplace_back(-1);
    if (is_zero(offset)) continue;
    const auto [at, is_new] = known.try_emplace(std::vector<int>(offset.begin(), offset.end()), result.vectors.size());
    if (is_new) result.vectors.add(offset), result.weights.push_back(0);
    number = at->second;
    ++result.weights[static_cast<std::size_t>(number)];
  }
  return result;
}

// A basis of the different offsets is one of all.
AdditiveBasis of_all(const Different& of, const AdditiveBasis& of_vectors) {
  AdditiveBasis basis{of_vectors.elements, {}};
  for (const int number : of.number) {
    basis.sums.push_back(number < 0 ? std::vector<int>() : of_vectors.sums[static_cast<std::size_t>(number)]);
  }
  return basis;
}

// The shortest vector on the line through zero and `vector`.
std::vector<int> direction_of(std::span<const int> vector) {
  int divisor = 0;
  for (const int c : vector) divisor = std::gcd(divisor, c);
  std::vector<int> direction;
  for (const int c : vector) direction.push_back(c / divisor);
  return direction;
}

// After how many hops by `step` a block is back; 0: never, or too late to matter.
int round_trip(const Grid& grid, const std::vector<int>& step) {
  std::int64_t hops = 1;
  for (std::size_t j = 0; j < step.size(); ++j) {
    if (step[j] != 0 && !grid.periodic[j]) return 0;
    hops = std::lcm(hops, std::int64_t{grid.extents[j] / std::gcd(grid.extents[j], step[j])});
    if (hops > 1 << 20) return 0;
  }
  return static_cast<int>(hops);
}

// If all offsets lie on one line, and none has gone round the torus on it; else without elements.
AdditiveBasis along_a_line(const Grid& grid, const Different& of) {
  if (of.vectors.size() == 0) return {};
  const std::vector<int> step = direction_of(of.vectors.offset(0));
  const auto j =
      static_cast<std::size_t>(std::find_if(step.begin(), step.end(), [](int c) { return c != 0; }) - step.begin());
  const int ring = round_trip(grid, step);
  std::vector<int> places;
  for (int k = 0; k < of.vectors.size(); ++k) {
    const std::span<const int> vector = of.vectors.offset(k);
    const int place = vector[j] / step[j];
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (std::int64_t{place} * step[i] != vector[i]) return {};
    }
    if (ring > 0 && (2 * place > ring || 2 * place < -ring)) return {};
    places.push_back(place);
  }
  const AdditiveBasis line = line_basis(places, of.weights, ring);
  AdditiveBasis basis{{of.vectors.dimensions, {}}, line.sums};
  for (const int length : line.elements.offsets) {
    for (const int c : step) basis.elements.offsets.push_back(c * length);
  }
  return of_all(of, basis);
}

// Elements in decreasing number of offsets that they serve.
AdditiveBasis sorted(const AdditiveBasis& basis) {
  const auto n = static_cast<std::size_t>(basis.size());
  std::vector<int> uses(n, 0), order(n), number(n);
  for (const std::vector<int>& sum : basis.sums) {
    for (const int e : sum) ++uses[static_cast<std::size_t>(e)];
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&uses](int a, int b) {
    return uses[static_cast<std::size_t>(a)] > uses[static_cast<std::size_t>(b)];
  });
  AdditiveBasis result{{basis.elements.dimensions, {}}, basis.sums};
  for (const int e : order) {
    if (uses[static_cast<std::size_t>(e)] == 0) break;  // left over from a search that was not finished
    number[static_cast<std::size_t>(e)] = result.size();
    result.elements.add(basis.element(e));
  }
  for (std::vector<int>& sum : result.sums) {
    for (int& e : sum) e = number[static_cast<std::size_t>(e)];
    std::sort(sum.begin(), sum.end());
  }
  return result;
}

}  // namespace

AdditiveBasis additive_basis(const Grid& grid, const Neighborhood& offsets) {
  const Different of = different(offsets);
  AdditiveBasis best = by_dimension(grid, offsets);
  for (AdditiveBasis other : {of_offsets(offsets), along_a_line(grid, of)}) {
    if (other.size() > 0 && other.counts() < best.counts()) best = std::move(other);
  }
  const AdditiveBasis small = small_basis(grid, of.vectors, of.weights, best.counts());
  return sorted(small.size() > 0 ? of_all(of, small) : best);
}

AdditiveBasis LastBasis::of(const Grid& grid, const Neighborhood& offsets) {
  {
    const std::lock_guard lock(mutex_);
    if (grid_ == grid && offsets_ == offsets) return basis_;
  }
  AdditiveBasis basis = additive_basis(grid, offsets), kept = basis;
  Grid of_grid = grid;
  Neighborhood of_offsets = offsets;  // nothing throws from here on
  const std::lock_guard lock(mutex_);
  std::swap(basis_, kept), std::swap(grid_, of_grid), std::swap(offsets_, of_offsets);
  return basis;
}

}  // namespace quadrille::plan
