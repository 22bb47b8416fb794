// The JSON of a tuning table as values with their lines.
#include "choose/tuning_json.hpp"

#include <sstream>

namespace quadrille::choose {
namespace {

using nlohmann::json;
using Kind = JsonValue::Kind;

// No table needs more, and whatever a file holds is refused before it takes long: no more values, and of a name or
// another string no more letters.
constexpr std::size_t most_values = 32768, most_letters_of_name = 32, most_letters = 256;

// Could it be one of ours, or one with a slip?
bool may_be_name(const std::string& name) {
  return name.size() <= most_letters_of_name && std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

// Called by the parser for each piece of the text. Returning false ends the reading.
class Collector {
 public:
  Collector(const std::string& text, Reading& reading) : stream(text), text_(text), reading_(reading) {}

  bool null() { return add(Kind::leaf); }
  bool boolean(bool value) { return add(Kind::leaf, value); }
  bool number_integer(std::int64_t value) { return add(Kind::leaf, value); }
  bool number_unsigned(std::uint64_t value) { return add(Kind::leaf, value); }
  bool number_float(double value, const std::string&) { return add(Kind::leaf, value); }
  bool string(std::string& value) {
    return value.size() <= most_letters ? add(Kind::leaf, value) : fail("a string is too long");
  }
  bool binary(json::binary_t&) { return add(Kind::leaf); }
  bool start_object(std::size_t) { return add(Kind::object); }
  bool end_object() { return open_.pop_back(), true; }
  bool start_array(std::size_t) { return add(Kind::list); }
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
  // A part of what was opened last; the first one is the root.
  bool add(Kind kind, json leaf = nullptr) {
    if (kind != Kind::leaf && open_.size() > 8) return fail("it is nested too deep");
    if (values_++ >= most_values) return fail("it has too many values");
    JsonValue* made = &reading_.root;
    if (!open_.empty()) {
      auto& parts = open_.back()->parts;
      const bool is_list = open_.back()->kind == Kind::list;
      const auto [place, is_new] = parts.try_emplace(is_list ? std::to_string(parts.size()) : key_);
      if (!is_new) return fail("\"" + key_ + "\" is there twice");
      made = &place->second;
    }
    made->kind = kind;
    made->leaf = std::move(leaf);
    made->line = line();
    if (kind != Kind::leaf) open_.push_back(made);
    return true;
  }

  const std::string& text_;
  Reading& reading_;
  std::string::const_iterator counted_ = text_.begin();  // up to where the lines are counted
  std::size_t line_ = 1;
  std::size_t values_ = 0;
  std::vector<JsonValue*> open_;
  std::string key_;
};

}  // namespace

Reading read_json(const std::string& text) {
  Reading reading;
  Collector collector(text, reading);
  json::sax_parse(collector.stream, &collector);
  if (reading.root.kind != Kind::object) reading.fail(1, "it must be an object");
  return reading;
}

void refuse_the_rest(Reading& reading, const JsonValue& of) {
  for (const auto& [name, part] : of.parts) {
    if (!reading.problem.empty()) return;
    if (!part.used) reading.fail(part.line, fmt::format("\"{}\" is not known here", name));
    refuse_the_rest(reading, part);
  }
}

// ---- Reading ----

JsonValue* Fields::take_part(const std::string& name, Kind kind) {
  constexpr const char* wanted[] = {"is missing or of the wrong kind", "must be an object", "must be a list"};
  const auto found = object_->parts.find(name);
  if (found != object_->parts.end() && found->second.kind == kind) {
    found->second.used = true;
    return &found->second;
  }
  reading_->fail(object_->line, fmt::format("\"{}\" {}", name, wanted[static_cast<std::size_t>(kind)]));
  return nullptr;
}

void Fields::read_each(const std::string& name, const std::function<void(Fields&)>& read) {
  JsonValue* const list = take_part(name, Kind::list);
  if (list == nullptr) return;
  for (std::size_t i = 0; reading_->problem.empty(); ++i) {
    const auto item = list->parts.find(std::to_string(i));
    if (item == list->parts.end() || item->second.kind != Kind::object) return;
    item->second.used = true;
    Fields inner(*reading_, item->second);
    read(inner);
  }
}

template <class MustBe>
const json* Fields::take(const std::string& name, const MustBe& must_be) {
  const JsonValue* const found = take_part(name, Kind::leaf);
  if (found == nullptr) return nullptr;
  const std::string wanted = must_be(found->leaf);
  if (wanted.empty()) return &found->leaf;
  reading_->fail(found->line, fmt::format("\"{}\" must be {}", name, wanted));
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
  return reading_ != nullptr ? object_->parts.contains(name) : is_set;
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
  if (reading_ == nullptr) return;
  const auto found = object_->parts.find(name);
  reading_->fail(found == object_->parts.end() ? object_->line : found->second.line, why);
}

void Fields::put(const std::string& name, const std::string& value) {
  if (!text_.empty()) text_ += begins_line_ ? ",\n" + std::string(indent_, ' ') : ", ";
  text_ += fmt::format("\"{}\": {}", name, value);
  begins_line_ = false;
}

}  // namespace quadrille::choose
