// The JSON of a tuning table as values with their lines.
#include <sstream>

#include "choose/tuning_parts.hpp"

namespace quadrille::choose {
namespace {

using nlohmann::json;

// No table needs more, and whatever a file holds is refused before it takes long: no more values, and of a name or
// another string no more letters.
constexpr std::size_t most_values = 32768, most_letters_of_name = 32, most_letters = 256;

// Could it be one of ours, or one with a slip? What is left out could be mistaken for the way to a value.
bool may_be_name(const std::string& name) {
  return name.size() <= most_letters_of_name && std::all_of(name.begin(), name.end(), [](char c) {
           return c >= ' ' && c <= '~' && c != '/' && c != '[' && c != '{';
         });
}

// Called by the parser for each piece of the text. Returning false ends the reading.
class Collector {
 public:
  Collector(const std::string& text, Leaves& leaves) : stream(text), text_(text), leaves_(leaves) {}

  bool null() { return leaf(nullptr); }
  bool boolean(bool value) { return leaf(value); }
  bool number_integer(std::int64_t value) { return leaf(value); }
  bool number_unsigned(std::uint64_t value) { return leaf(value); }
  bool number_float(double value, const std::string&) { return leaf(value); }
  bool string(std::string& value) { return value.size() <= most_letters ? leaf(value) : fail("a string is too long"); }
  bool binary(json::binary_t&) { return leaf(nullptr); }
  bool start_object(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(true); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    key_ = name;
    return may_be_name(name) || fail("a name is not known here");
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return fail("it is not JSON");
  }

  std::istringstream stream;  // that the parser reads
  std::string problem;

 private:
  struct Level {
    std::string path;
    bool is_array;
    int next;
  };
  // The line of what was read last; the parser may have looked one letter ahead. Counted on from the last time: a
  // text has many values.
  std::size_t line() {
    const std::streamoff read = stream.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in);
    const auto end = text_.begin() + std::max<std::streamoff>(read - 1, 0);
    line_ += static_cast<std::size_t>(std::count(counted_, end, '\n'));
    counted_ = end;
    return line_;
  }
  bool fail(const std::string& why) {
    problem = fmt::format("line {}: {}", line(), why);
    return false;
  }
  std::string path() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    return level.path + "/" + (level.is_array ? std::to_string(level.next++) : key_);
  }
  bool leaf(json value) {
    const std::string where = path();
    if (where.empty()) return fail("it must be an object");
    if (leaves_.size() >= most_values) return fail("it has too many values");
    const bool is_new = leaves_.try_emplace(where, Leaf{std::move(value), line(), false}).second;
    return is_new || fail("\"" + key_ + "\" is there twice");
  }
  bool open(bool is_array) {
    if (levels_.size() > 8) return fail("it is nested too deep");
    if (leaves_.size() >= most_values) return fail("it has too many values");
    const std::string where = path();
    if (!leaves_.try_emplace(where + (is_array ? "[" : "{"), Leaf{nullptr, line(), false}).second) {
      return fail("\"" + key_ + "\" is there twice");
    }
    levels_.push_back({where, is_array, 0});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  const std::string& text_;
  Leaves& leaves_;
  std::string::const_iterator counted_ = text_.begin();  // up to where the lines are counted
  std::size_t line_ = 1;
  std::vector<Level> levels_;
  std::string key_;
};

std::string last_word(std::string path) {
  while (!path.empty() && (path.back() == '{' || path.back() == '[')) path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string read_leaves(const std::string& text, Leaves& leaves) {
  Collector collector(text, leaves);
  json::sax_parse(collector.stream, &collector);
  return collector.problem;
}

bool Table::enter(const std::string& path, char kind) {
  const auto found = leaves_.find(path + kind);
  if (found == leaves_.end()) {
    fail(line_of(path.substr(0, path.rfind('/'))),
         fmt::format("\"{}\" must be {}", last_word(path), kind == '{' ? "an object" : "a list"));
    return false;
  }
  return found->second.used = true;
}

template <class MustBe>
const json* Table::take(const std::string& parent, const std::string& name, const MustBe& must_be) {
  const auto found = leaves_.find(parent + "/" + name);
  if (found == leaves_.end()) {
    fail(line_of(parent), fmt::format("\"{}\" is missing or of the wrong kind", name));
    return nullptr;
  }
  Leaf& leaf = found->second;
  leaf.used = true;
  const std::string wanted = must_be(leaf.value);
  if (wanted.empty()) return &leaf.value;
  fail(leaf.line, fmt::format("\"{}\" must be {}", name, wanted));
  return nullptr;
}

std::uint64_t Table::number(const std::string& parent, const std::string& name, std::uint64_t least,
                            std::uint64_t most) {
  const json* found = take(parent, name, [&](const json& value) {
    const bool fits =
        value.is_number_unsigned() && value.get<std::uint64_t>() >= least && value.get<std::uint64_t>() <= most;
    return fits ? "" : fmt::format("a whole number from {} to {}", least, most);
  });
  return found == nullptr ? least : found->get<std::uint64_t>();
}

double Table::real(const std::string& parent, const std::string& name, double most) {
  const json* found = take(parent, name, [&](const json& value) {
    // Also refuses what is not a number.
    const bool fits = value.is_number() && value.get<double>() >= 0 && value.get<double>() <= most;
    return fits ? "" : fmt::format("a number from 0 to {:g}", most);
  });
  return found == nullptr ? 0 : found->get<double>();
}

bool Table::truth(const std::string& parent, const std::string& name) {
  const json* found = take(parent, name, [](const json& value) { return value.is_boolean() ? "" : "true or false"; });
  return found != nullptr && found->get<bool>();
}

std::string Table::words(const std::string& parent, const std::string& name) {
  const json* found = take(parent, name, [](const json& value) { return value.is_string() ? "" : "a string"; });
  return found == nullptr ? std::string() : found->get<std::string>();
}

void Table::fail(std::size_t line, const std::string& why) {
  if (problem.empty()) problem = fmt::format("line {}: {}", line, why);
}

std::size_t Table::line_of(const std::string& path) const {
  for (const char* kind : {"{", "["}) {
    if (const auto found = leaves_.find(path + kind); found != leaves_.end()) {
      return found->second.line;
    }
  }
  return 1;
}

std::size_t Table::line_of(const std::string& parent, const std::string& name) const {
  const auto found = leaves_.find(parent + "/" + name);
  return found != leaves_.end() ? found->second.line : line_of(parent);
}

void Table::refuse_the_rest() {
  for (const auto& [path, leaf] : leaves_) {
    if (!problem.empty()) return;
    if (!leaf.used) fail(leaf.line, fmt::format("\"{}\" is not known here", last_word(path)));
  }
}

}  // namespace quadrille::choose
