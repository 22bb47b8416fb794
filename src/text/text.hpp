// Texts that people write and read: numbers and sizes, the word that was meant, and the beginning that fits.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

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

// Levenshtein distance: the fewest letters to insert, delete or replace.
inline std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

// The candidate with the fewest edits, at most `most_edits`; empty if there is none, or the word is one of them.
template <class Candidates>
std::string_view nearest(std::string_view word, const Candidates& candidates, std::size_t most_edits = 2) {
  std::string_view found;
  std::size_t least = most_edits + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edits(word, candidate);
    if (distance == 0) return {};
    if (distance < least) found = candidate, least = distance;
  }
  return found;
}

// The beginning of a text, at most so many bytes, without a part of a character in UTF-8 at its end.
inline std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  constexpr std::size_t longest = 4;
  std::size_t cut = most;
  while (cut > 0 && most - cut < longest && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  // More bytes in a row that only follow others are in no such character: the text is in another code.
  return text.substr(0, most - cut < longest ? cut : most);
}

}  // namespace quadrille::text
