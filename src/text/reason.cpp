#include "text/reason.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace quadrille::text {
namespace {

struct Row {
  std::string_view name, words, in_summary = {}, before_next = "; ";
};
#define QUADRILLE_REASON(name, ...) {#name, __VA_ARGS__},
constexpr Row rows[reason_count] = {QUADRILLE_REASONS(QUADRILLE_REASON)};
#undef QUADRILLE_REASON

constexpr std::string_view code_begin = " (code=";

const Row& row_of(Reason reason) { return rows[static_cast<std::size_t>(reason)]; }

struct Line {
  std::string text{}, code{};
  const Why* last = nullptr;
};

// Between reasons that are the same a comma: "1.0 us with a, 2.0 us with b".
void add(const Why& why, Line& line) {
  if (line.last != nullptr) line.text += line.last->reason == why.reason ? ", " : row_of(line.last->reason).before_next;
  line.text += fmt::format(fmt::runtime(row_of(why.reason).words), why.name, why.number, why.limit);
  line.last = &why;
  if (is_read_by_programs(why.reason)) line.code = fmt::format("{}{})", code_begin, code_of(why.reason));
  for (const Why& next : why.then) add(next, line);
}

// Empty without one.
std::string_view code_in(std::string_view line) {
  const std::size_t at = line.rfind(code_begin);
  if (at == std::string_view::npos || !line.ends_with(')')) return {};
  return line.substr(at + code_begin.size(), line.size() - at - code_begin.size() - 1);
}

}  // namespace

std::string words_of(const Why& why) {
  Line line;
  add(why, line);
  return line.text + line.code;
}

std::string_view summary_words_of(Reason reason) { return row_of(reason).in_summary; }

std::string code_of(Reason reason) {
  std::string code(row_of(reason).name);
  std::ranges::replace(code, '_', '-');
  return code;
}

Reason reason_of(std::string_view line) {
  const std::string_view code = code_in(line);
  for (std::size_t r = 0; r < reason_count; ++r) {
    if (code_of(static_cast<Reason>(r)) == code) return static_cast<Reason>(r);
  }
  return Reason::none;
}

std::string_view without_code(std::string_view line) {
  return code_in(line).empty() ? line : line.substr(0, line.rfind(code_begin));
}

}  // namespace quadrille::text
