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
  Collector(const std::string& text, Reading& reading) : stream(text), text_(text), reading_(reading) {}

  bool null() { return leaf(nullptr); }
  bool boolean(bool value) { return leaf(value); }
  bool number_integer(std::int64_t value) { return leaf(value); }
  bool number_unsigned(std::uint64_t value) { return leaf(value); }
  bool number_float(double value, const std::string&) { return leaf(value); }
  bool string(std::string& value) { return value.size() <= most_letters ? leaf(value) : fail("a string is too long"); }
  bool binary(json::binary_t&) { return leaf(nullptr); }
  bool start_object(std::size_t) { return open(false); }
  bool end_object() { return levels_.pop_back(), true; }
  bool start_array(std::size_t) { return open(true); }
  bool end_array() { return end_object(); }
  bool key(std::string& name) {
    key_ = name;
    return may_be_name(name) || fail("a name is not known here");
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return fail("it is not JSON");
  }

  std::istringstream stream;  // that the parser reads

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
    reading_.fail(line(), why);
    return false;
  }
  std::string path() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    return level.path + "/" + (level.is_array ? std::to_string(level.next++) : key_);
  }
  bool add(const std::string& where, json value) {
    if (reading_.leaves.size() >= most_values) return fail("it has too many values");
    const bool is_new = reading_.leaves.try_emplace(where, Leaf{std::move(value), line(), false}).second;
    return is_new || fail("\"" + key_ + "\" is there twice");
  }
  bool leaf(json value) {
    const std::string where = path();
    return where.empty() ? fail("it must be an object") : add(where, std::move(value));
  }
  bool open(bool is_array) {
    if (levels_.size() > 8) return fail("it is nested too deep");
    const std::string where = path();
    if (!add(where + (is_array ? "[" : "{"), nullptr)) return false;
    levels_.push_back({where, is_array, 0});
    return true;
  }

  const std::string& text_;
  Reading& reading_;
  std::string::const_iterator counted_ = text_.begin();  // up to where the lines are counted
  std::size_t line_ = 1;
  std::vector<Level> levels_;
  std::string key_;
};

std::string last_word(std::string path) {
  while (!path.empty() && (path.back() == '{' || path.back() == '[')) path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

// Of a value, an object or a list; else of the object in which it ought to be.
std::size_t line_of(const Reading& reading, const std::string& path) {
  for (const char* kind : {"", "{", "["}) {
    const auto found = reading.leaves.find(path + kind);
    if (found != reading.leaves.end()) return found->second.line;
  }
  return path.empty() ? 1 : line_of(reading, path.substr(0, path.rfind('/')));
}

}  // namespace

Reading read_json(const std::string& text) {
  Reading reading;
  Collector collector(text, reading);
  json::sax_parse(collector.stream, &collector);
  const auto root = reading.leaves.find("{");
  if (root == reading.leaves.end()) {
    reading.fail(1, "it must be an object");
  } else {
    root->second.used = true;
  }
  return reading;
}

void refuse_the_rest(Reading& reading) {
  for (const auto& [path, leaf] : reading.leaves) {
    if (!reading.problem.empty()) return;
    if (!leaf.used) reading.fail(leaf.line, fmt::format("\"{}\" is not known here", last_word(path)));
  }
}

// ---- Reading ----

bool Fields::enter(const std::string& path, char kind) {
  const auto found = reading_->leaves.find(path + kind);
  if (found != reading_->leaves.end()) return found->second.used = true;
  reading_->fail(line_of(*reading_, path.substr(0, path.rfind('/'))),
                 fmt::format("\"{}\" must be {}", last_word(path), kind == '{' ? "an object" : "a list"));
  return false;
}

void Fields::read_each(const std::string& name, const std::function<void(Fields&)>& read) {
  if (!enter(at(name), '[')) return;
  for (int i = 0; reading_->problem.empty() && has(fmt::format("{}/{}{{", name, i)); ++i) {
    object(fmt::format("{}/{}", name, i), read);
  }
}

template <class MustBe>
const json* Fields::take(const std::string& name, const MustBe& must_be) {
  const auto found = reading_->leaves.find(at(name));
  if (found == reading_->leaves.end()) {
    reading_->fail(line_of(*reading_, path_), fmt::format("\"{}\" is missing or of the wrong kind", name));
    return nullptr;
  }
  Leaf& leaf = found->second;
  leaf.used = true;
  const std::string wanted = must_be(leaf.value);
  if (wanted.empty()) return &leaf.value;
  reading_->fail(leaf.line, fmt::format("\"{}\" must be {}", name, wanted));
  return nullptr;
}

std::uint64_t Fields::read_number(const std::string& name, std::uint64_t least, std::uint64_t most) {
  const json* found = take(name, [&](const json& value) {
    const bool fits =
        value.is_number_unsigned() && value.get<std::uint64_t>() >= least && value.get<std::uint64_t>() <= most;
    return fits ? "" : fmt::format("a whole number from {} to {}", least, most);
  });
  return found == nullptr ? least : found->get<std::uint64_t>();
}

// ---- Both ----

bool Fields::has(const std::string& name, bool is_set) const {
  return reading_ != nullptr ? reading_->leaves.contains(at(name)) : is_set;
}

void Fields::real(const std::string& name, double& value, double most, double unit) {
  if (reading_ == nullptr) return put(name, fmt::format("{:.6g}", value / unit));
  const json* found = take(name, [&](const json& leaf) {
    // Also refuses what is not a number.
    const bool fits = leaf.is_number() && leaf.get<double>() >= 0 && leaf.get<double>() <= most;
    return fits ? "" : fmt::format("a number from 0 to {:g}", most);
  });
  value = found == nullptr ? 0 : found->get<double>() * unit;
}

void Fields::truth(const std::string& name, bool& value) {
  if (reading_ == nullptr) return put(name, value ? "true" : "false");
  const json* found = take(name, [](const json& leaf) { return leaf.is_boolean() ? "" : "true or false"; });
  value = found != nullptr && found->get<bool>();
}

void Fields::words(const std::string& name, std::string& value) {
  if (reading_ == nullptr) return put(name, json(value).dump(-1, ' ', true, json::error_handler_t::replace));
  const json* found = take(name, [](const json& leaf) { return leaf.is_string() ? "" : "a string"; });
  value = found == nullptr ? std::string() : found->get<std::string>();
}

void Fields::fail(const std::string& name, const std::string& why) {
  if (reading_ != nullptr) reading_->fail(line_of(*reading_, at(name)), why);
}

void Fields::put(const std::string& name, const std::string& value) {
  if (!text_.empty()) text_ += begins_line_ ? ",\n" + std::string(indent_, ' ') : ", ";
  text_ += fmt::format("\"{}\": {}", name, value);
  begins_line_ = false;
}

}  // namespace quadrille::choose
