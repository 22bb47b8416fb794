// agrees, disagrees, the runs differ, cannot be tested here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace quadrille::tools {

struct Verdict {
  enum class Word : std::uint8_t { agrees, disagrees, runs_differ, cannot_be_tested } word = Word::cannot_be_tested;
  std::string reason{};  // why not
  std::string scale{};   // where the paper had other numbers of ranks: which, and how many there were
  double here = 0;       // the number, where there is one
  std::size_t points = 0;
};
std::string_view to_text(Verdict::Word word);
// Of a number, with its least and most over the runs, against what confirms it: all must be there, or none.
Verdict::Word word_of(const std::pair<double, double>& bounds, double least, double most);

}  // namespace quadrille::tools
