// Reads distributions and traffic matrices from text.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "tool/bench/distribution.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

__extension__ using Wide = unsigned __int128;

// As large as a size of `--sizes` can be.
constexpr std::uint64_t largest_number = std::uint64_t{1} << 46;

bool parse_number(std::string_view text, std::uint64_t least, std::uint64_t most, std::uint64_t& number) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc{} && end == last && number >= least && number <= most;
}

// "0.99" in units of 2^-64, without a floating point number: they are not the same everywhere.
bool parse_fraction(std::string_view text, std::uint64_t& fraction) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || (point > 0 && text.substr(0, point) != "0")) return false;
  const std::string_view digits = text.substr(point + 1);
  std::uint64_t number = 0, unit = 1;
  if (digits.size() > 18 || !parse_number(digits, 1, ~std::uint64_t{0}, number)) return false;
  for (std::size_t i = 0; i < digits.size(); ++i) unit *= 10;
  fraction = static_cast<std::uint64_t>(((Wide{number} << 64) + unit / 2) / unit);
  return fraction > 0;
}

// How a distribution is written. What is in brackets may be left out.
struct Name {
  std::string_view name;
  Distribution kind;
  std::string_view parameter;  // empty: it has none
  std::string_view by_itself;  // the parameter if none is given; empty: it is needed
  std::string_view meaning;    // of the parameter, for errors
};
constexpr Name names[] = {
    {"equal", Distribution::equal, "", "", ""},
    {"uniform", Distribution::uniform, "", "", ""},
    {"window", Distribution::window, ":R", "", "a percentage from 0 to 100"},
    {"normal", Distribution::normal, "", "", ""},
    {"power", Distribution::power, ":B", "", "a base between 0 and 1 with at most 18 digits, such as 0.99"},
    {"sparse", Distribution::sparse, "[:D]", "2", "a number of destinations from 0 to 1000000"},
    {"one-heavy", Distribution::one_heavy, "[:F]", "64", "a factor from 1 to 1000000"},
    {"file", Distribution::file, ":PATH", "", "the name of a file"},
    {"stencil", Distribution::stencil, "", "", ""},
};

bool parse_parameter(std::string_view text, Traffic& traffic) {
  switch (traffic.kind) {
    case Distribution::window:
      return parse_number(text, 0, 100, traffic.parameter);
    case Distribution::power:
      return parse_fraction(text, traffic.parameter);
    case Distribution::sparse:
      return parse_number(text, 0, 1000000, traffic.parameter);
    case Distribution::one_heavy:
      return parse_number(text, 1, 1000000, traffic.parameter);
    default:
      traffic.path = text;
      return !text.empty();
  }
}

// A position in a matrix file, counted from 1 as editors do.
struct Place {
  std::string_view name;
  std::size_t line = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view without_comment(std::string_view line) { return line.substr(0, line.find('#')); }

// The numbers of a line, after those that are there.
std::string parse_row(std::string_view line, const Place& at, std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    const auto* end = std::find_if(line.data() + i, line.data() + line.size(), is_blank);
    const std::string_view word(line.data() + i, static_cast<std::size_t>(end - line.data()) - i);
    std::uint64_t number = 0;
    if (!parse_number(word, 0, largest_number, number)) {
      return fmt::format("{}, line {}, column {}: expected a number of bytes from 0 to 2^46, not '{}'", at.name,
                         at.line, i + 1, word.substr(0, 40));
    }
    numbers.push_back(number);
    i += word.size();
  }
  return "";
}

std::string wrong_count(std::string_view where, std::size_t have, std::string_view what, std::size_t need) {
  return fmt::format("{} has {} {}, and {} ranks need {} lines of {} numbers", where, have, what, need, need, need);
}

}  // namespace

std::string known_distributions() {
  std::string text;
  for (const Name& name : names) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name.name, name.parameter);
  }
  return text;
}

std::string parse_traffic(std::string_view text, Traffic& traffic) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* found =
      std::find_if(std::begin(names), std::end(names), [&](const Name& one) { return one.name == name; });
  if (found == std::end(names)) {
    return fmt::format("--distribution={}: expected one of {}", text, known_distributions());
  }
  traffic = Traffic{};
  traffic.kind = found->kind;
  traffic.text = text;
  const bool given = colon != std::string_view::npos;
  if (found->parameter.empty()) {
    return given ? fmt::format("the distribution '{}' has no parameter", name) : "";
  }
  if (parse_parameter(given ? text.substr(colon + 1) : found->by_itself, traffic)) return "";
  return fmt::format("the distribution '{}' needs {}: {}{}", text, found->meaning, name, found->parameter);
}

std::string parse_matrix(std::string_view text, std::string_view name, int ranks, TrafficMatrix& matrix) {
  const auto need = static_cast<std::size_t>(ranks);
  matrix = TrafficMatrix{need, {}, 0};
  Place at{name};
  std::size_t rows = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++at.line;
    const std::size_t before = matrix.bytes.size();
    if (std::string error = parse_row(line, at, matrix.bytes); !error.empty()) return error;
    const std::size_t columns = matrix.bytes.size() - before;
    if (columns == 0) continue;
    ++rows;
    if (columns != need) {
      return wrong_count(fmt::format("{}, line {},", name, at.line), columns, "numbers", need);
    }
  }
  if (rows != need) return wrong_count(name, rows, "lines of numbers", need);
  matrix.largest = *std::max_element(matrix.bytes.begin(), matrix.bytes.end());
  return "";
}

std::string read_matrix(const std::string& path, int ranks, TrafficMatrix& matrix) {
  std::string text;
  if (const std::string problem = read_whole(path, text); !problem.empty())
    return fmt::format("cannot read the traffic matrix '{}': {}", path, problem);
  return parse_matrix(text, path, ranks, matrix);
}

}  // namespace quadrille::tools
