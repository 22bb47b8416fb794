// agrees, disagrees, cannot be tested here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quadrille::tools {

struct Verdict {
  enum class Word : std::uint8_t { agrees, disagrees, cannot_be_tested } word = Word::cannot_be_tested;
  std::string reason{};  // why not
  double here = 0;       // the number, where there is one
  std::size_t points = 0;
};
std::string_view to_text(Verdict::Word word);

}  // namespace quadrille::tools
