// Where threads of a test run.
#pragma once

#include <array>
#include <vector>

#include "sys/sys.hpp"

namespace quadrille::sys {

// The first two processors that this process may use; the same one twice if there is no other.
inline std::array<int, 2> two_processors() {
  const ProcessorSet allowed = allowed_processors();
  std::vector<int> found;
  for (std::size_t p = 0; p < allowed.size() && found.size() < 2; ++p) {
    if (allowed[p]) found.push_back(static_cast<int>(p));
  }
  return {found.front(), found.back()};
}

}  // namespace quadrille::sys
