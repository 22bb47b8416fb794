// Codes at the end of lines that another program of ours reads: "not used: ... (code=not-used)". The words before a
// code may change, the code stays.
#pragma once

#include <string>
#include <string_view>

namespace quadrille::text {

// All calls are forwarded to the MPI.
inline constexpr std::string_view code_not_used = "not-used";
// "no-xpmem": ranks of a node have no access to each other's memory by this name.
inline constexpr std::string_view code_missing = "no-";

// Forwarded, because this MPI makes no progress on nonblocking calls of ours while the program waits in it.
inline constexpr std::string_view code_lacks_progress = "lacks-progress";

inline constexpr std::string_view code_begin = " (code=";

inline std::string with_code(std::string_view line, std::string_view code) {
  return std::string(line).append(code_begin).append(code).append(")");
}

// Empty without one.
inline std::string_view code_of(std::string_view line) {
  const std::size_t at = line.rfind(code_begin);
  if (at == std::string_view::npos || !line.ends_with(')')) return {};
  return line.substr(at + code_begin.size(), line.size() - at - code_begin.size() - 1);
}

inline std::string_view without_code(std::string_view line) {
  return code_of(line).empty() ? line : line.substr(0, line.rfind(code_begin));
}

}  // namespace quadrille::text
