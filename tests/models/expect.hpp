// What the tests of all models share.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "explorer.hpp"

namespace quadrille::models {

// Nothing is found in any interleaving. If something is, it is looked for again on the shortest way.
inline void expect_good(const std::string& name, const Machine& machine) {
  const Found found = explore(machine);
  std::printf("%-58s %9zu states\n", name.c_str(), found.states);
  if (found.good()) return;
  const Found shortest = explore(machine, {.shortest = true});
  ADD_FAILURE() << name << ": " << (shortest.violation.empty() ? found.text() : shortest.text());
}

// The explorer finds that something is wrong.
inline void expect_found(const std::string& name, const Machine& machine) {
  const Found found = explore(machine);
  std::printf("%-58s %9zu states: %s\n", name.c_str(), found.states, found.violation.c_str());
  EXPECT_FALSE(found.violation.empty()) << name << ": nothing was found in " << found.text();
}

}  // namespace quadrille::models
