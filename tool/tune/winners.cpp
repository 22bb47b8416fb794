#include "tool/tune/winners.hpp"

#include <cmath>
#include <numbers>

namespace quadrille::tools {

choose::SizedChoices ranges_of(const std::vector<Winner>& winners) {
  choose::SizedChoices ranges;
  const auto add = [&](double up_to, const choose::Choice& choice) {
    const auto end = static_cast<std::size_t>(up_to);
    if (end == 0) return;
    if (!ranges.empty() && to_string(ranges.back().choice) == to_string(choice)) {
      ranges.back().up_to = end;
    } else {
      ranges.push_back({end, choice});
    }
  };
  if (!winners.empty()) add(static_cast<double>(winners[0].bytes) / std::numbers::sqrt2, {});
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const auto bytes = static_cast<double>(winners[i].bytes);
    const double next = i + 1 < winners.size() ? static_cast<double>(winners[i + 1].bytes) : 2 * bytes;
    add(std::sqrt(bytes * next), winners[i].choice);
  }
  return ranges;
}

}  // namespace quadrille::tools
