// What becomes of a claim: it agrees, it disagrees, or it cannot be told, for one of six reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace quadrille::tools {

// The reasons; behind a colon may stand which machine, or why not.
inline constexpr const char* the_runs_differ = "the runs differ";
inline constexpr const char* the_networks_differ = "the networks differ";
inline constexpr const char* no_other_way = "could not have come out otherwise";
inline constexpr const char* no_machine = "no machine";
inline constexpr const char* not_measured = "not measured";
inline constexpr const char* not_built = "not built";

struct Verdict {
  enum class Word : std::uint8_t { agrees, disagrees, runs_differ, cannot_be_told } word = Word::cannot_be_told;
  std::string reason{};  // why it cannot be told
  std::string note{};    // on what else the verdict rests
  std::string scale{};   // where the paper had other numbers of ranks: which, and how many there were
  double here = 0;       // the number, where there is one
  std::size_t points = 0;
};
std::string_view to_text(Verdict::Word word);
// "no machine: 8 ranks shared 2 processors"
std::string because(const char* reason, const std::string& detail);
// Of a number, with its least and most over the runs, against what confirms it: all must be there, or none.
Verdict::Word word_of(const std::pair<double, double>& bounds, double least, double most);

}  // namespace quadrille::tools
