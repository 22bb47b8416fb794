// The JSON of a tuning table: an object of it is read, strictly, or written by one description.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::choose {

// No number of ranks in a table is larger.
inline constexpr std::uint64_t most_ranks_in_table = 1 << 20;

// A value of the text with its line, so that a mistake can be shown.
struct JsonValue {
  enum class Kind : std::uint8_t { leaf, object, list };
  Kind kind = Kind::leaf;
  // Made from its kind: nlohmann's default constructor is declared noexcept, but its code may throw.
  nlohmann::json leaf = nlohmann::json::value_t::null;
  std::size_t line = 1;
  bool used = false;
  std::map<std::string, JsonValue> parts;  // of an object by name, of a list by number
};
// A text that is read.
struct Reading {
  JsonValue root;
  std::string problem;  // the first mistake, "line 7: <what is wrong>"; empty: none

  void fail(std::size_t line, const std::string& why) {
    if (problem.empty()) problem = fmt::format("line {}: {}", line, why);
  }
};

// Its root is an object if there is no mistake.
Reading read_json(const std::string& text);
// A part that no field has read is a mistake.
void refuse_the_rest(Reading& reading, const JsonValue& of);

// An object of a table that is read or written. A description calls one function for each field, and serves both.
class Fields {
 public:
  Fields(Reading& reading, JsonValue& object) : reading_(&reading), object_(&object) {}  // to read
  explicit Fields(std::size_t indent) : indent_(indent) {}                               // to write

  // Whether an optional field is in the text; when writing, `is_set`: whether to write it.
  bool has(const std::string& name, bool is_set = true) const;
  template <class Number>
  void number(const std::string& name, Number& value, std::uint64_t least = 1,
              std::uint64_t most = most_ranks_in_table) {
    if (reading_ != nullptr) {
      value = static_cast<Number>(read_number(name, least, most));
    } else {
      put(name, fmt::format("{:.0f}", std::min(static_cast<double>(value), static_cast<double>(most))));
    }
  }
  // `value` is the number in the text times `unit`.
  void real(const std::string& name, double& value, double most, double unit = 1);
  void truth(const std::string& name, bool& value);
  void words(const std::string& name, std::string& value);
  template <class Describe>
  void object(const std::string& name, const Describe& describe) {
    if (reading_ != nullptr) {
      JsonValue* const found = take_part(name, JsonValue::Kind::object);
      if (found == nullptr) return;
      Fields inner(*reading_, *found);
      return describe(inner);
    }
    Fields inner(indent_ + 2);
    describe(inner);
    begin_line();
    put(name, inner.text());
  }
  template <class Item, class Describe>
  void list(const std::string& name, std::vector<Item>& items, const Describe& describe) {
    if (reading_ != nullptr) {
      items.clear();
      return read_each(name, [&](Fields& inner) { describe(inner, items.emplace_back()); });
    }
    std::string all;
    for (Item& item : items) {
      Fields inner(indent_ + 2);
      describe(inner, item);
      all += (all.empty() ? "" : ",\n" + std::string(indent_ + name.size() + 5, ' ')) + inner.text();
    }
    begin_line();
    put(name, "[" + all + "]");
  }
  // Each object of a list, up to the first mistake.
  void read_each(const std::string& name, const std::function<void(Fields&)>& read);
  // The next field begins a line.
  void begin_line() { begins_line_ = true; }
  // The field that was read is wrong; with no name, the object is.
  void fail(const std::string& name, const std::string& why);
  // What was written.
  std::string text() const { return "{" + text_ + "}"; }

 private:
  // Of this kind; else null, which is a mistake.
  JsonValue* take_part(const std::string& name, JsonValue::Kind kind);
  // The value, if `must_be` returns an empty text for it; else null, and the text is part of the mistake.
  template <class MustBe>
  const nlohmann::json* take(const std::string& name, const MustBe& must_be);
  std::uint64_t read_number(const std::string& name, std::uint64_t least, std::uint64_t most);
  void put(const std::string& name, const std::string& value);

  Reading* reading_ = nullptr;  // null: to write
  JsonValue* object_ = nullptr;
  std::size_t indent_ = 0;
  bool begins_line_ = false;
  std::string text_;
};

}  // namespace quadrille::choose
