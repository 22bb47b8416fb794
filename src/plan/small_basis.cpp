// Idea    Sets of k elements are tried, for smaller and smaller k. All elements but the last two are taken from the
//         vectors and their differences. The last two follow: if x and y are left, some vector that is no sum yet must
//         be a sum with x alone (were all of them sums with x + y, that one element would do), so x is a vector less a
//         sum of the elements before; and then y is the first vector that still is no sum, less some sum.
// Exact   A basis of up to three elements is found, whatever its elements are. Of three elements x y z, if one is a
//         vector, begin with it. If none is, the vectors are among x+y, x+z, y+z, x+y+z: three of them are a basis
//         themselves; if there are four, z = (x+y+z) - (x+y) is a difference. Larger ones need not be found.
// Cost    A fixed number of steps at most: well below a millisecond.
//
// Vectors are kept as lanes of a word, one for each dimension that is a ring, two (up and down) for each that is not:
// a sum with elements of both signs equals no vector, as it must be, and elements are no longer negative there.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plan/additive_basis.hpp"

namespace quadrille::plan {
namespace {

using Word = std::uint64_t;
using Set = std::uint32_t;  // of vectors, or of elements

constexpr std::int64_t kSteps = 100'000;
constexpr int kMostVectors = 31;
constexpr int kLargestBasis = 10;
constexpr std::size_t kMostLanes = 8;

struct Lane {
  std::size_t dimension;
  int direction;      // 0: a ring; else coordinates of this sign alone
  std::int64_t size;  // a ring: numbers are taken modulo this; else the largest
};

// --- vectors as words --------------------------------------------------------------------------------------------

class Lanes {
 public:
  // Empty if the vectors do not fit.
  static std::optional<Lanes> of(const Grid& grid, const Neighborhood& vectors) {
    std::vector<Lane> all;
    for (std::size_t j = 0; j < grid.extents.size(); ++j) {
      int up = 0, down = 0;
      for (int i = 0; i < vectors.size(); ++i) {
        up = std::max(up, vectors.offset(i)[j]), down = std::max(down, -vectors.offset(i)[j]);
      }
      const bool ring = grid.periodic[j];
      if (ring && (up > 0 || down > 0)) all.push_back({j, 0, grid.extents[j]});
      if (!ring && up > 0) all.push_back({j, +1, up});
      if (!ring && down > 0) all.push_back({j, -1, down});
    }
    if (all.empty() || all.size() > kMostLanes) return {};
    Lanes lanes(std::move(all), grid.extents.size());
    const std::int64_t largest = std::ranges::max_element(lanes.all_, {}, &Lane::size)->size;
    if (largest > static_cast<std::int64_t>(lanes.mask_ >> 1)) return {};
    lanes.fill();
    return lanes;
  }

  Word word(std::span<const int> vector) const {
    Word word = 0;
    for (std::size_t l = 0; l < all_.size(); ++l) word |= Word(value(all_[l], vector)) << bits_ * l;
    return word;
  }

  std::vector<int> vector(Word word) const {
    std::vector<int> vector(dimensions_, 0);
    for (std::size_t l = 0; l < all_.size(); ++l) {
      const Lane& lane = all_[l];
      const auto c = static_cast<std::int64_t>(word >> bits_ * l & mask_);
      vector[lane.dimension] += static_cast<int>(lane.direction != 0 ? lane.direction * c
                                                 : 2 * c > lane.size ? c - lane.size
                                                                     : c);
    }
    return vector;
  }

  // False if the sum leads beyond all vectors in a dimension that is no ring.
  bool add(Word a, Word b, Word& sum) const {
    sum = a + b;
    const Word beyond = (sum + to_high_) & high_;
    sum -= whole(beyond) & sizes_;
    return (beyond & lines_) == 0;
  }

  // False if the difference leads the other way in a dimension that is no ring.
  bool subtract(Word a, Word b, Word& difference) const {
    const Word lifted = a + high_ - b;  // no lane borrows
    const Word below = ~lifted & high_;
    difference = (lifted & ~high_) - (whole(below) & to_high_);
    return (below & lines_) == 0;
  }

 private:
  Lanes(std::vector<Lane> all, std::size_t dimensions)
      : all_(std::move(all)), dimensions_(dimensions), bits_(64 / all_.size()), mask_(~Word(0) >> (64 - bits_)) {}

  static std::int64_t value(const Lane& lane, std::span<const int> vector) {
    const std::int64_t c = vector[lane.dimension];
    if (lane.direction == 0) return (c % lane.size + lane.size) % lane.size;
    return std::max<std::int64_t>(lane.direction * c, 0);
  }

  void fill() {
    for (std::size_t l = 0; l < all_.size(); ++l) {
      const bool ring = all_[l].direction == 0;
      const Word high = (mask_ >> 1) + 1, size = Word(all_[l].size);
      high_ |= high << bits_ * l;
      to_high_ |= (ring ? high - size : high - 1 - size) << bits_ * l;
      (ring ? sizes_ : lines_) |= (ring ? size : mask_) << bits_ * l;
    }
  }

  // All bits of the lanes whose high bits these are.
  Word whole(Word high_bits) const { return (high_bits >> (bits_ - 1)) * mask_; }

  std::vector<Lane> all_;
  std::size_t dimensions_, bits_;  // of a lane
  Word mask_;                      // of the first lane
  Word high_ = 0;                  // bits
  Word to_high_ = 0;               // what sets the high bit of a lane that is too large
  Word sizes_ = 0;                 // of the rings
  Word lines_ = 0;                 // lanes that are no rings
};

// --- search ------------------------------------------------------------------------------------------------------

// What is given, and what elements are tried.
struct Case {
  std::span<const int> weights;
  Lanes lanes;
  std::vector<Word> words;       // of the vectors
  std::vector<Word> candidates;  // the vectors, then their differences, the shorter ones first
};

// Upwards before downwards, so that what leads down can be a sum that goes round.
std::vector<Word> by_length(const Lanes& lanes, const std::vector<Word>& words) {
  std::set<std::tuple<int, int, Word>> keys;
  for (const Word word : words) {
    int hops = 0, down = 0;
    for (const int c : lanes.vector(word)) hops += std::abs(c), down += std::max(-c, 0);
    keys.emplace(hops, down, word);
  }
  std::vector<Word> sorted;
  sorted.reserve(keys.size());
  for (const auto& [hops, down, word] : keys) sorted.push_back(word);
  return sorted;
}

Case case_of(const Neighborhood& vectors, std::span<const int> weights, const Lanes& lanes) {
  Case c{weights, lanes, {}, {}};
  for (int i = 0; i < vectors.size(); ++i) c.words.push_back(lanes.word(vectors.offset(i)));
  std::vector<Word> differences;
  for (const Word a : c.words) {
    for (const Word b : c.words) {
      Word difference = 0;
      if (a == b || !lanes.subtract(a, b, difference)) continue;
      const bool known = std::find(c.words.begin(), c.words.end(), difference) != c.words.end();
      if (!known) differences.push_back(difference);
    }
  }
  c.candidates = by_length(lanes, c.words);
  differences = by_length(lanes, differences);
  c.candidates.insert(c.candidates.end(), differences.begin(), differences.end());
  return c;
}

class VectorSearch {
 public:
  // A basis with smaller counts than `than` replaces `best`, and its counts replace `than`.
  VectorSearch(const Case& given, std::int64_t& steps, AdditiveBasis& best, NeighborCounts& than)
      : given_(given), steps_(steps), best_(best), than_(than) {
    for (const Word word : given.words) filter_ |= bit_of(word);
    all_ = (Set(1) << given.words.size()) - 1;
    sums_.push_back({0, 0});
  }

  // Seeks a basis of at most `size` elements with smaller counts: the first one, or the best that the steps allow.
  // False if it finds none.
  bool run(std::int64_t size, bool first_one) {
    first_one_ = first_one;
    extend(static_cast<int>(size), 0, 0);
    return found_;
  }

 private:
  struct Sum {
    Word word;
    Set elements;
  };

  static Word bit_of(Word word) { return Word(1) << (word * 0x9e3779b97f4a7c15u >> 58); }
  bool is_chosen(Word element) const { return std::find(chosen_.begin(), chosen_.end(), element) != chosen_.end(); }
  bool is_over() const { return steps_ <= 0 || (found_ && first_one_); }

  // The vectors that are sums, if `element` is added to what there is. Undone by remove().
  Set add(Word element, Set covered) {
    const Set bit = Set(1) << chosen_.size();
    const std::size_t before = sums_.size();
    starts_.push_back(before);
    chosen_.push_back(element);
    for (std::size_t i = 0; i < before; ++i) {
      Word sum = 0;
      if (!given_.lanes.add(sums_[i].word, element, sum)) continue;
      sums_.push_back({sum, sums_[i].elements | bit});
      if ((filter_ & bit_of(sum)) == 0) continue;
      const auto at = std::find(given_.words.begin(), given_.words.end(), sum);
      if (at != given_.words.end()) covered |= Set(1) << (at - given_.words.begin());
    }
    steps_ -= static_cast<std::int64_t>(4 * before);
    return covered;
  }

  void remove() {
    sums_.resize(starts_.back());
    starts_.pop_back();
    chosen_.pop_back();
  }

  bool is_sum(Word word) {
    steps_ -= static_cast<std::int64_t>(sums_.size() / 4);
    return std::any_of(sums_.begin(), sums_.end(), [word](const Sum& sum) { return sum.word == word; });
  }

  void extend(int left, std::size_t first, Set covered) {
    if (covered == all_) return consider();
    const auto missing = static_cast<std::size_t>(std::popcount(all_ & ~covered));
    if (is_over() || missing > sums_.size() * ((std::size_t(1) << left) - 1)) return;
    if (left == 1) return complete(covered);
    if (left == 2) return extend_by_what_is_missing(covered);
    for (std::size_t c = first; c < given_.candidates.size() && !is_over(); ++c) {
      extend(left - 1, c + 1, add(given_.candidates[c], covered));
      remove();
    }
  }

  void extend_by_what_is_missing(Set covered) {
    for (Set missing = all_ & ~covered; missing != 0; missing &= missing - 1) {
      const Word word = given_.words[static_cast<std::size_t>(std::countr_zero(missing))];
      for (std::size_t i = 0, n = sums_.size(); i < n && !is_over(); ++i) {
        Word element = 0;
        if (!given_.lanes.subtract(word, sums_[i].word, element) || is_chosen(element)) continue;
        extend(1, 0, add(element, covered));
        remove();
      }
    }
  }

  // The last element makes sums of all that is missing.
  void complete(Set covered) {
    const Word word = given_.words[static_cast<std::size_t>(std::countr_zero(all_ & ~covered))];
    for (std::size_t i = 0, n = sums_.size(); i < n && !is_over(); ++i) {
      Word element = 0;
      if (!given_.lanes.subtract(word, sums_[i].word, element)) continue;
      if (is_chosen(element) || !serves(element, covered)) continue;
      add(element, covered);
      consider();
      remove();
    }
  }

  bool serves(Word element, Set covered) {
    for (Set missing = all_ & ~covered; missing != 0; missing &= missing - 1) {
      const Word word = given_.words[static_cast<std::size_t>(std::countr_zero(missing))];
      Word rest = 0;
      if (!given_.lanes.subtract(word, element, rest) || !is_sum(rest)) return false;
    }
    return true;
  }

  // Takes the shortest sum of each vector.
  void consider() {
    AdditiveBasis basis;
    for (std::size_t i = 0; i < given_.words.size(); ++i) {
      Set shortest = ~Set(0);
      for (const Sum& sum : sums_) {
        if (sum.word == given_.words[i] && std::popcount(sum.elements) < std::popcount(shortest)) {
          shortest = sum.elements;
        }
      }
      std::vector<int>& sum = basis.sums.emplace_back();
      for (std::size_t e = 0; e < chosen_.size(); ++e) {
        if ((shortest >> e & 1) != 0) sum.push_back(static_cast<int>(e));
      }
    }
    steps_ -= static_cast<std::int64_t>(sums_.size() * given_.words.size());
    for (const Word element : chosen_) {
      const std::vector<int> vector = given_.lanes.vector(element);
      basis.elements.dimensions = static_cast<int>(vector.size());
      basis.elements.add(vector);
    }
    const NeighborCounts counts = basis.counts(given_.weights);
    if (counts >= than_) return;
    best_ = std::move(basis), than_ = counts;
    found_ = true;
  }

  const Case& given_;
  std::int64_t& steps_;  // left to do
  AdditiveBasis& best_;
  NeighborCounts& than_;
  Word filter_ = 0;                  // a bit of each vector
  Set all_ = 0;                      // vectors
  std::vector<Word> chosen_;         // elements
  std::vector<Sum> sums_;            // of the subsets of chosen_
  std::vector<std::size_t> starts_;  // [element] where its sums begin
  bool first_one_ = false, found_ = false;
};

}  // namespace

AdditiveBasis small_basis(const Grid& grid, const Neighborhood& vectors, std::span<const int> weights,
                          NeighborCounts than) {
  AdditiveBasis best;
  const std::optional<Lanes> lanes = Lanes::of(grid, vectors);
  if (!lanes || vectors.size() > kMostVectors || than.rounds > kLargestBasis + 1) return best;
  const Case given = case_of(vectors, weights, *lanes);
  std::int64_t steps = kSteps;
  while (VectorSearch(given, steps, best, than).run(than.rounds - 1, true)) continue;
  steps = kSteps;
  VectorSearch(given, steps, best, than).run(than.rounds, false);
  return best;
}

}  // namespace quadrille::plan
