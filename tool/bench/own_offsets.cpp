#include "tool/bench/own_offsets.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

constexpr int farthest = 1000000;  // so that sums of coordinates and ranks stay in an int

// Adds the coordinates of one offset, which stand between `separators`.
std::string add_offset(std::string_view text, std::string_view separators, plan::Neighborhood& neighborhood) {
  int dimensions = 0;
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    const std::string_view word = text.substr(0, end);
    int coordinate = 0;
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), coordinate);
    if (error != std::errc{} || last != word.data() + word.size() || coordinate < -farthest || coordinate > farthest) {
      return fmt::format("coordinate {}: expected -{} to {}", word.substr(0, 40), farthest, farthest);
    }
    neighborhood.offsets.push_back(coordinate);
    ++dimensions;
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    if (text.empty()) return fmt::format("the offset '{}' ends too early", whole.substr(0, 40));
  }
  if (dimensions == 0) return "an offset has no coordinates";
  if (dimensions > most_dimensions)
    return fmt::format("an offset has {} coordinates; {} are the most", dimensions, most_dimensions);
  if (neighborhood.dimensions == 0) neighborhood.dimensions = dimensions;
  if (dimensions != neighborhood.dimensions) {
    return fmt::format("the offset '{}' has {} coordinates, the first one {}", whole.substr(0, 40), dimensions,
                       neighborhood.dimensions);
  }
  if (neighborhood.size() > most_neighbors) return fmt::format("more than {} offsets", most_neighbors);
  return "";
}

// A line without its comment, each run of blanks and commas in it one blank.
std::string tidied(std::string_view line) {
  std::string words;
  for (const char c : line.substr(0, line.find('#'))) {
    const bool between = c == ' ' || c == '\t' || c == '\r' || c == ',';
    if (!between) words += c;
    if (between && !words.empty() && words.back() != ' ') words += ' ';
  }
  if (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

}  // namespace

std::string parse_offsets(std::string_view text, plan::Neighborhood& neighborhood) {
  neighborhood = {};
  for (;;) {
    const std::size_t end = std::min(text.find('/'), text.size());
    if (std::string problem = add_offset(text.substr(0, end), ",", neighborhood); !problem.empty()) {
      return problem + "; write offsets:1,0/0,1/-1,-1";
    }
    if (end == text.size()) return "";
    text.remove_prefix(end + 1);
  }
}

std::string parse_offsets_file(std::string_view text, std::string_view name, plan::Neighborhood& neighborhood) {
  neighborhood = {};
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string words = tidied(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (const std::string problem = add_offset(words, " ", neighborhood); !problem.empty())
      return fmt::format("{}, line {}: {}", name, line, problem);
  }
  return neighborhood.dimensions == 0 ? fmt::format("{} has no offsets; write one a line, as 1 0", name) : "";
}

std::string read_offsets(const std::string& path, plan::Neighborhood& neighborhood) {
  std::string text;
  if (const std::string problem = read_whole(path, text); !problem.empty())
    return fmt::format("cannot read '{}': {}", path, problem);
  return parse_offsets_file(text, path, neighborhood);
}

}  // namespace quadrille::tools
