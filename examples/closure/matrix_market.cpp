#include "matrix_market.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

#include "words.hpp"

namespace closure {
namespace {

constexpr std::string_view kBanner = "%%matrixmarket";

std::string lower_case(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Graph read() {
    read_banner();
    read_sizes();
    Graph graph;
    // The file's count may be wrong: no memory is reserved for it.
    graph.edges.reserve(std::min<std::uint64_t>(entries_, text_.size() / 4) * (goes_both_ways_ ? 2 : 1));
    std::uint64_t found = 0;
    while (next_line()) {
      if (++found > entries_)
        fail("more than the " + std::to_string(entries_) + " entries that line " + sizes_at_ + " promises");
      read_entry(graph.edges);
    }
    if (found < entries_) {
      throw std::runtime_error(name_ + ": " + std::to_string(found) + " entries, but line " + sizes_at_ + " promises " +
                               std::to_string(entries_));
    }
    sort_unique(graph.edges);
    return graph;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(name_ + ":" + std::to_string(number_) + ": " + why);
  }

  // Goes to the next line that is neither empty nor a comment.
  bool next_line() {
    while (!text_.empty()) {
      line_ = whole_ = take_line(text_);
      ++number_;
      skip_blanks(line_);
      if (!line_.empty() && line_.front() != '%') return true;
    }
    return false;
  }

  void read_banner() {
    std::string_view line = take_line(text_);
    ++number_;
    std::array<std::string, 5> words;
    for (std::string& word : words) word = lower_case(take_word(line));
    const auto& [banner, object, format, field, symmetry] = words;
    if (banner != kBanner || object != "matrix") fail("no matrix of the Matrix Market");
    if (format != "coordinate") fail("only sparse matrices are read, which say coordinate");
    if (field != "real" && field != "integer" && field != "pattern" && field != "complex")
      fail("unknown field '" + field + "'");
    goes_both_ways_ = symmetry == "symmetric" || symmetry == "skew-symmetric" || symmetry == "hermitian";
    if (!goes_both_ways_ && symmetry != "general") fail("unknown symmetry '" + symmetry + "'");
    values_ = field == "pattern" ? 0 : field == "complex" ? 2 : 1;
  }

  void read_sizes() {
    constexpr std::uint64_t most = kLargestVertex, any = UINT64_MAX;
    const bool right = next_line() && take_number(line_, rows_, most) && take_number(line_, columns_, most) &&
                       take_number(line_, entries_, any) && line_.empty();
    if (!right) fail("'" + shown(whole_) + "' is not rows, columns and entries");
    sizes_at_ = std::to_string(number_);
  }

  void read_entry(std::vector<Pair>& edges) {
    std::uint64_t row = 0, column = 0;
    bool right = take_number(line_, row, rows_) && take_number(line_, column, columns_) && row > 0 && column > 0;
    for (int value = 0; value < values_; ++value) right = right && !take_word(line_).empty();
    if (!right || !line_.empty()) {
      fail("'" + shown(whole_) + "' is not a row from 1 to " + std::to_string(rows_) + ", a column from 1 to " +
           std::to_string(columns_) + (values_ > 0 ? " and a value" : ""));
    }
    const Pair edge{static_cast<Vertex>(row), static_cast<Vertex>(column)};
    edges.push_back(edge);
    if (goes_both_ways_ && row != column) edges.push_back({edge.to, edge.from});
  }

  std::string_view text_, line_, whole_;
  const std::string& name_;
  std::size_t number_ = 0;
  std::string sizes_at_;
  bool goes_both_ways_ = false;
  int values_ = 0;
  std::uint64_t rows_ = 0, columns_ = 0, entries_ = 0;
};

}  // namespace

bool is_matrix_market(std::string_view text) { return lower_case(text.substr(0, kBanner.size())) == kBanner; }

Graph parse_matrix_market(std::string_view text, const std::string& name) { return Reader(text, name).read(); }

}  // namespace closure
