// Nodes of ranks, from a text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plan/problem.hpp"

namespace quadrille::plan {

inline NodeMap map_of(const std::string& text, int ranks) {
  NodeMap map;
  EXPECT_EQ(parse_node_map(text, ranks, map), "");
  return map;
}

}  // namespace quadrille::plan
