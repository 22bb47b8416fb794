// Where in a program a call stands, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/read.hpp"

namespace quadrille::tools {

// The address to which a call returns, or the line of a script.
struct CodeAddress {
  std::string object, symbol;
  std::uint64_t address = 0, behind = 0;
  std::uint32_t line = 0;  // 0: no script
};

// { "object": "app", "symbol": "exchange", "line": "app.c:120" } of each; what is not known is empty. Functions that
// are not exported, and lines, are asked of addr2line, where that is installed and the program has its symbols.
std::vector<ReportData> describe_places(const std::vector<CodeAddress>& addresses);

}  // namespace quadrille::tools
