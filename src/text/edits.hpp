// How far one word is from another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::text {

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

}  // namespace quadrille::text
