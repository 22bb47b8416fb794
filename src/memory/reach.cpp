#include "memory/reach.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace quadrille::memory {
namespace {

constexpr std::pair<std::string_view, bool Ways::*> all_ways[] = {
    {"heap", &Ways::heap},         {"xpmem", &Ways::xpmem},         {"cma", &Ways::cma_read}, {"cma", &Ways::cma_write},
    {"cma-read", &Ways::cma_read}, {"cma-write", &Ways::cma_write}, {"ring", &Ways::ring}};

}  // namespace

std::string parse_ways(const std::string& text, Ways& ways) {
  Ways read{false, false, false, false, false};
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    bool known = false;
    for (const auto& [of, way] : all_ways) {
      if (of == name) known = read.*way = true;
    }
    if (!known) return "expected names of heap, xpmem, cma, cma-read, cma-write, ring, not \"" + name + "\"";
    begin = end + 1;
  }
  ways = read;
  return {};
}

}  // namespace quadrille::memory
