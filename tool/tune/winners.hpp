// What `quadrille tune --algorithms` makes of its times.
#pragma once

#include <cstddef>
#include <vector>

#include "choose/tuning.hpp"

namespace quadrille::tools {

// Another algorithm must be so many times faster than the usual way: less may be noise.
inline constexpr double winning_margin = 1.05;
inline bool beats(double challenger, double usual) { return challenger * winning_margin <= usual; }

struct Winner {
  std::size_t bytes;      // ascending
  choose::Choice choice;  // without algorithm: the default way
};

// The winners as ranges of sizes. A range ends halfway, as their ratio goes, to the next size that was measured; the
// smallest and the largest size speak for those up to sqrt(2) times as small and large, and the default way for what
// lies beyond.
choose::SizedChoices ranges_of(const std::vector<Winner>& winners);

// Which algorithms are so slow that they need not be measured at each size. One that takes more than `hopeless` times
// as long as the best at two sizes in a row is left out at the next two, and then looked at again.
class Rests {
 public:
  static constexpr double hopeless = 4;
  explicit Rests(std::size_t algorithms) : slow_(algorithms), left_(algorithms) {}

  // Asked once a size: is it left out?
  bool rests(std::size_t algorithm) {
    if (left_[algorithm] == 0) return false;
    --left_[algorithm];
    return true;
  }
  void note(std::size_t algorithm, double seconds, double best) {
    slow_[algorithm] = seconds > hopeless * best ? slow_[algorithm] + 1 : 0;
    if (slow_[algorithm] < sizes_in_a_row) return;
    left_[algorithm] = sizes_in_a_row;
    slow_[algorithm] = sizes_in_a_row - 1;  // one look is enough to leave it out again
  }

 private:
  static constexpr int sizes_in_a_row = 2;
  std::vector<int> slow_, left_;
};

}  // namespace quadrille::tools
