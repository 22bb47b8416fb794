// Data in a script of a page.
#pragma once

#include <string>
#include <string_view>

namespace quadrille::tools {

// JSON in which no "<" stands, as that might end the script.
inline std::string for_script(std::string_view json) {
  std::string out;
  for (const char letter : json) {
    if (letter == '<') {
      out += "\\u003c";
    } else {
      out += letter;
    }
  }
  return out;
}

}  // namespace quadrille::tools
