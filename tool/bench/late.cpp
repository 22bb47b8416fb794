#include "tool/bench/late.hpp"

#include <fmt/format.h>

#include <charconv>
#include <climits>

#include "tool/bench/hash.hpp"

namespace quadrille::tools {
namespace {

constexpr long longest_microseconds = 10'000'000;

bool read_number(std::string_view text, long& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0;
}

}  // namespace

std::string parse_late(std::string_view text, std::optional<Late>& late) {
  late.reset();
  if (text.empty()) return "";
  const std::size_t colon = text.find(':');
  long microseconds = 0, rank = 0;
  const bool has_rank = colon != std::string_view::npos;
  const bool known = read_number(text.substr(0, colon), microseconds) && microseconds >= 1 &&
                     microseconds <= longest_microseconds &&
                     (!has_rank || (read_number(text.substr(colon + 1), rank) && rank <= INT_MAX));
  if (!known) {
    return fmt::format(
        "--late={}: expected microseconds from 1 to {}, for example 500, or 500:3 if it is always rank 3", text,
        longest_microseconds);
  }
  late = Late{static_cast<double>(microseconds) * 1e-6, has_rank ? static_cast<int>(rank) : -1};
  return "";
}

int late_rank(const Late& late, std::size_t round, int ranks) {
  if (!late.is_drawn()) return late.rank;
  constexpr std::uint64_t draws = 0x6c617465;
  return static_cast<int>(mix(mix(round) ^ draws) % static_cast<std::uint64_t>(ranks));
}

}  // namespace quadrille::tools
