// Good bases are guessed first: the values themselves, and powers of two. Then all sets of fewer
// elements are tried, as far as a fixed number of additions allows: so the result is the same on
// every machine, and a plan never takes long.
#include "plan/line_basis.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

namespace quadrille::plan {
namespace {

constexpr std::int64_t kAdditions = 400'000;
constexpr std::size_t kMostCandidates = 64;
constexpr std::size_t kMostElements = 12;

std::int64_t length_of(const LineBasis& basis, std::span<const int> weights) {
  std::int64_t length = 0;
  for (std::size_t i = 0; i < basis.sums.size(); ++i) {
    length += static_cast<std::int64_t>(basis.sums[i].size()) * weights[i];
  }
  return length;
}

bool is_better(const LineBasis& a, const LineBasis& b, std::span<const int> weights) {
  if (a.elements.size() != b.elements.size()) return a.elements.size() < b.elements.size();
  return length_of(a, weights) < length_of(b, weights);
}

// n values need n different sums of at least one element.
std::size_t fewest_elements(std::size_t values) { return static_cast<std::size_t>(std::bit_width(values)); }

// --- guesses -------------------------------------------------------------------------------------

LineBasis themselves(std::span<const int> values) {
  LineBasis basis;
  basis.elements.assign(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) basis.sums.push_back({static_cast<int>(i)});
  return basis;
}

// The powers of two that appear in `patterns`, one pattern a value. Bit `sign` counts negative.
LineBasis powers(std::span<const std::int64_t> patterns, int sign = -1) {
  LineBasis basis;
  basis.sums.resize(patterns.size());
  for (int bit = 0; bit < 31; ++bit) {
    const auto number = static_cast<int>(basis.elements.size());
    bool appears = false;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if ((patterns[i] >> bit & 1) == 0) continue;
      basis.sums[i].push_back(number);
      appears = true;
    }
    if (appears) basis.elements.push_back(bit == sign ? -(1 << bit) : 1 << bit);
  }
  return basis;
}

LineBasis up_round_the_ring(std::span<const int> values, int ring) {
  std::vector<std::int64_t> patterns;
  for (const int value : values) patterns.push_back(value < 0 ? value + ring : value);
  return powers(patterns);
}

// 1, 2, 4, ... and the next power downwards: two's complement. Empty if that goes round the ring.
LineBasis up_and_one_down(std::span<const int> values, int ring) {
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

// --- search --------------------------------------------------------------------------------------

// Tries sets of `size` candidates. Sums are taken modulo `modulus`.
class Search {
 public:
  Search(std::span<const int> values, std::span<const int> weights, std::span<const int> candidates, int modulus,
         std::int64_t& additions)
      : values_(values),
        weights_(weights),
        candidates_(candidates),
        modulus_(modulus),
        additions_(additions),
        reached_(static_cast<std::size_t>(modulus), 0),
        candidate_at_(static_cast<std::size_t>(modulus), 0) {
    for (const int candidate : candidates) candidate_at_[index(candidate)] = candidate;
    sums_.push_back(0);
  }

  // Keeps the best basis of this size in `best`. False if there was not time for all sets.
  bool run(std::size_t size, LineBasis& best) {
    best_ = &best;
    extend(0, size);
    return additions_ > 0;
  }

 private:
  std::size_t index(int sum) const {
    const int rest = sum % modulus_;
    return static_cast<std::size_t>(rest < 0 ? rest + modulus_ : rest);
  }

  void add(int element) {
    const std::size_t before = sums_.size();
    for (std::size_t i = 0; i < before; ++i) {
      sums_.push_back(static_cast<int>(index(sums_[i] + element)));
      ++reached_[static_cast<std::size_t>(sums_.back())];
    }
    chosen_.push_back(element);
    additions_ -= static_cast<std::int64_t>(before + values_.size());
  }

  void remove() {
    const std::size_t before = sums_.size() / 2;
    for (std::size_t i = before; i < sums_.size(); ++i) {
      --reached_[static_cast<std::size_t>(sums_[i])];
    }
    sums_.resize(before);
    chosen_.pop_back();
  }

  // The first value that is no sum yet, or null.
  const int* missing() const {
    for (const int& value : values_) {
      if (reached_[index(value)] == 0) return &value;
    }
    return nullptr;
  }

  void extend(std::size_t first, std::size_t left) {
    if (left == 1) return complete();
    for (std::size_t c = first; c < candidates_.size() && additions_ > 0; ++c) {
      add(candidates_[c]);
      extend(c + 1, left - 1);
      remove();
    }
  }

  // The last element must make a sum of what is missing.
  void complete() {
    const int* value = missing();
    if (value == nullptr) return;  // found with fewer elements
    for (std::size_t i = 0, n = sums_.size(); i < n && additions_ > 0; ++i) {
      const int element = candidate_at_[index(*value - sums_[i])];
      if (element == 0 || std::find(chosen_.begin(), chosen_.end(), element) != chosen_.end()) {
        continue;
      }
      add(element);
      if (missing() == nullptr) consider();
      remove();
    }
  }

  // Takes the shortest sum of each value; bit j of an index in sums_ stands for chosen_[j].
  void consider() {
    LineBasis basis;
    basis.elements = chosen_;
    for (const int value : values_) {
      std::size_t shortest = std::numeric_limits<std::size_t>::max();
      for (std::size_t set = 1; set < sums_.size(); ++set) {
        if (static_cast<std::size_t>(sums_[set]) != index(value)) continue;
        if (std::popcount(set) < std::popcount(shortest)) shortest = set;
      }
      std::vector<int>& sum = basis.sums.emplace_back();
      for (std::size_t j = 0; j < chosen_.size(); ++j) {
        if ((shortest >> j & 1) != 0) sum.push_back(static_cast<int>(j));
      }
    }
    additions_ -= static_cast<std::int64_t>(sums_.size() * values_.size());
    if (is_better(basis, *best_, weights_)) *best_ = std::move(basis);
  }

  const std::span<const int> values_, weights_, candidates_;
  const int modulus_;
  std::int64_t& additions_;         // left to do
  std::vector<int> reached_;        // [sum] in how many ways
  std::vector<int> candidate_at_;   // [remainder] 0: none
  std::vector<int> chosen_, sums_;  // sums_: of all subsets of chosen_
  LineBasis* best_ = nullptr;
};

// Replaces `best` by the smallest basis of candidates, if that can be found.
void improve(LineBasis& best, std::span<const int> values, std::span<const int> weights,
             std::span<const int> candidates, int ring) {
  if (candidates.size() > kMostCandidates) return;
  int longest = 1;
  for (const int candidate : candidates) longest = std::max(longest, std::abs(candidate));
  const std::size_t most = best.elements.size();
  // A sum of that many candidates less a value does not go round.
  const int far = (static_cast<int>(std::min(most, kMostElements)) + 1) * longest + 1;
  const int modulus = ring > 0 ? std::min(ring, far) : far;
  std::int64_t additions = kAdditions;
  for (std::size_t size = fewest_elements(values.size()); size <= std::min(most, kMostElements); ++size) {
    const bool is_done = Search(values, weights, candidates, modulus, additions).run(size, best);
    if (best.elements.size() == size || !is_done) return;  // none is smaller, or there is no time left
  }
}

LineBasis on_ring(std::span<const int> values, std::span<const int> weights, int ring) {
  LineBasis best = themselves(values);
  for (LineBasis guess : {up_round_the_ring(values, ring), up_and_one_down(values, ring)}) {
    if (!guess.elements.empty() && is_better(guess, best, weights)) best = std::move(guess);
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const int span = std::min(std::max(*high, 0) - std::min(*low, 0), ring / 2);
  std::vector<int> candidates;
  for (int c = 1; c <= span && candidates.size() <= kMostCandidates; ++c) {
    candidates.push_back(c);
    if (2 * c != ring) candidates.push_back(-c);
  }
  improve(best, values, weights, candidates, ring);
  return best;
}

// Values above zero.
LineBasis upwards(std::span<const int> values, std::span<const int> weights) {
  LineBasis best = themselves(values);
  LineBasis guess = powers(std::vector<std::int64_t>(values.begin(), values.end()));
  if (is_better(guess, best, weights)) best = std::move(guess);
  std::vector<int> candidates;
  const int largest = *std::max_element(values.begin(), values.end());
  for (int c = 1; c <= largest && candidates.size() <= kMostCandidates; ++c) {
    candidates.push_back(c);
  }
  improve(best, values, weights, candidates, 0);
  return best;
}

}  // namespace

LineBasis line_basis(std::span<const int> values, std::span<const int> weights, int ring) {
  LineBasis result;
  if (values.empty()) return result;
  if (ring > 0) return on_ring(values, weights, ring);
  result.sums.resize(values.size());
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
    const LineBasis basis = upwards(part, part_weights);
    const auto before = static_cast<int>(result.elements.size());
    for (const int element : basis.elements) result.elements.push_back(sign * element);
    for (std::size_t i = 0; i < part.size(); ++i) {
      for (const int element : basis.sums[i]) result.sums[number[i]].push_back(before + element);
    }
  }
  return result;
}

}  // namespace quadrille::plan
