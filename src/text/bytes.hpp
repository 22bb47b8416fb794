// Numbers as people write them; of sizes also with K, M or G behind them for powers of 1024.
#pragma once

#include <charconv>
#include <cstddef>
#include <string_view>

namespace quadrille::text {

// A whole number and nothing else. False if `text` is none, or does not fit; takes no memory.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

// "64", "16K", "1m", "2G" in bytes. False, and `bytes` as it was, if `text` is none of these or does not fit. Takes no
// memory and knows no locale: malloc may be what asks.
inline bool read_bytes(std::string_view text, std::size_t& bytes) {
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || end - unit > 1) return false;
  int shift = 0;
  if (unit != end) {
    constexpr std::string_view letters = "KkMmGg";
    const std::size_t place = letters.find(*unit);
    if (place == std::string_view::npos) return false;
    shift = 10 * (static_cast<int>(place / 2) + 1);
  }
  if (number > static_cast<std::size_t>(-1) >> shift) return false;
  bytes = number << shift;
  return true;
}

}  // namespace quadrille::text
