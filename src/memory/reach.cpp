#include "memory/reach.hpp"

#include <algorithm>

namespace quadrille::memory {

std::string parse_ways(const std::string& text, Ways& ways) {
  Ways read{false, false, false, false, false};
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (name == "heap") {
      read.heap = true;
    } else if (name == "xpmem") {
      read.xpmem = true;
    } else if (name == "cma") {
      read.cma_read = read.cma_write = true;
    } else if (name == "cma-read") {
      read.cma_read = true;
    } else if (name == "cma-write") {
      read.cma_write = true;
    } else if (name == "ring") {
      read.ring = true;
    } else {
      return "expected names of heap, xpmem, cma, cma-read, cma-write, ring, not \"" + name + "\"";
    }
    begin = end + 1;
  }
  ways = read;
  return {};
}

std::string to_string(const Ways& ways) {
  std::string text;
  const auto add = [&](bool given, const char* name) {
    if (given) text += (text.empty() ? "" : ",") + std::string(name);
  };
  add(ways.heap, "heap");
  add(ways.xpmem, "xpmem");
  add(ways.cma_read && ways.cma_write, "cma");
  add(ways.cma_read && !ways.cma_write, "cma-read");
  add(ways.cma_write && !ways.cma_read, "cma-write");
  add(ways.ring, "ring");
  return text;
}

}  // namespace quadrille::memory
