// Pieces of a line of text.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace closure {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Removes blanks at the front.
inline void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

// Takes the line at the front, without its end.
inline std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return line;
}

// Takes a number of at most `largest` from the front, with the blanks around it.
template <typename Number>
bool take_number(std::string_view& text, Number& number, Number largest) {
  skip_blanks(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > largest) return false;
  text.remove_prefix(end - text.data());
  if (!text.empty() && !is_blank(text.front())) return false;
  skip_blanks(text);
  return true;
}

// Takes the text before the next blank.
inline std::string_view take_word(std::string_view& text) {
  skip_blanks(text);
  std::size_t length = 0;
  while (length < text.size() && !is_blank(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  skip_blanks(text);
  return word;
}

// The printable form of an arbitrary line.
inline std::string shown(std::string_view line) {
  std::string text(line.substr(0, 40));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  }
  return text;
}

}  // namespace closure
