#include "plan/additive_basis.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

#include "plan/line_basis.hpp"

namespace quadrille::plan {

int AdditiveBasis::size() const {
  return dimensions == 0 ? 0 : static_cast<int>(elements.size()) / dimensions;
}

std::span<const int> AdditiveBasis::element(int number) const {
  const auto d = static_cast<std::size_t>(dimensions);
  return std::span(elements).subspan(static_cast<std::size_t>(number) * d, d);
}

NeighborCounts AdditiveBasis::counts() const {
  NeighborCounts counts{size(), 0};
  for (const std::vector<int>& sum : sums) counts.blocks += static_cast<std::int64_t>(sum.size());
  return counts;
}

namespace {

int add_element(AdditiveBasis& basis, std::span<const int> element) {
  basis.elements.insert(basis.elements.end(), element.begin(), element.end());
  return basis.size() - 1;
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
  const LineBasis line = line_basis(values, weights, ring);
  std::map<int, int> number;  // [element of the line]
  for (const int length : line.elements) {
    std::vector<int> element(static_cast<std::size_t>(basis.dimensions), 0);
    element[j] = length;
    number[length] = add_element(basis, element);
  }
  for (int i = 0; i < offsets.size(); ++i) {
    const auto at = std::lower_bound(values.begin(), values.end(), offsets.offset(i)[j]);
    if (at == values.end() || *at != offsets.offset(i)[j]) continue;
    std::vector<int>& sum = basis.sums[static_cast<std::size_t>(i)];
    for (const int length : line.sums[static_cast<std::size_t>(at - values.begin())]) {
      sum.push_back(number[length]);
    }
  }
}

AdditiveBasis by_dimension(const Grid& grid, const Neighborhood& offsets) {
  AdditiveBasis basis{offsets.dimensions, {}, {}};
  basis.sums.resize(static_cast<std::size_t>(offsets.size()));
  for (std::size_t j = 0; j < grid.extents.size(); ++j) {
    add_dimension(basis, offsets, j, grid.periodic[j] ? grid.extents[j] : 0);
  }
  return basis;
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
      const bool fits = rest[j] >= 0 ? element[j] >= 0 && element[j] <= rest[j]
                                     : element[j] <= 0 && element[j] >= rest[j];
      if (!fits) return false;
    }
    return true;
  }

  // Of elements before `end`, the longest first.
  bool find(const std::vector<int>& rest, int end, std::vector<int>& sum) {
    if (std::all_of(rest.begin(), rest.end(), [](int c) { return c == 0; })) return true;
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
  AdditiveBasis basis{offsets.dimensions, {}, {}};
  basis.sums.resize(static_cast<std::size_t>(offsets.size()));
  const auto norm = [&offsets](int i) {
    std::int64_t hops = 0;
    for (const int c : offsets.offset(i)) hops += std::abs(c);
    return hops;
  };
  std::vector<int> by_norm(basis.sums.size());
  std::iota(by_norm.begin(), by_norm.end(), 0);
  std::stable_sort(by_norm.begin(), by_norm.end(),
                   [&norm](int a, int b) { return norm(a) < norm(b); });
  for (const int i : by_norm) {
    std::vector<int>& sum = basis.sums[static_cast<std::size_t>(i)];
    if (!Sums(basis).find(offsets.offset(i), sum)) {
      sum = {add_element(basis, offsets.offset(i))};
    }
  }
  return basis;
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
  AdditiveBasis result{basis.dimensions, {}, basis.sums};
  for (const int e : order) {
    number[static_cast<std::size_t>(e)] = add_element(result, basis.element(e));
  }
  for (std::vector<int>& sum : result.sums) {
    for (int& e : sum) e = number[static_cast<std::size_t>(e)];
    std::sort(sum.begin(), sum.end());
  }
  return result;
}

}  // namespace

AdditiveBasis additive_basis(const Grid& grid, const Neighborhood& offsets) {
  AdditiveBasis best = by_dimension(grid, offsets);
  AdditiveBasis other = of_offsets(offsets);
  const auto key = [](const AdditiveBasis& basis) {
    return std::pair(basis.counts().rounds, basis.counts().blocks);
  };
  if (key(other) < key(best)) best = std::move(other);
  return sorted(best);
}

}  // namespace quadrille::plan
