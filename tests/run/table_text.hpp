// What tests of tuning tables do with a table's text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "choose/tuning.hpp"

namespace quadrille::choose {

inline std::string replaced_in(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// In one line of text with the line's number and this word, and nothing of it is used.
inline void expect_refused(const std::string& text, const std::string& line, const std::string& word) {
  TuningTable table;
  table.machine.cores = 77;
  const std::string why = parse_tuning(text, table);
  EXPECT_TRUE(why.starts_with(line + ":")) << why << "\n" << text;
  EXPECT_NE(why.find(word), std::string::npos) << why << "\n" << text;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  EXPECT_EQ(table.machine.cores, 77) << "left as it was";
  EXPECT_TRUE(table.entries.empty() && table.models.empty() && table.neighbors.empty() && table.inside.empty() &&
              table.algorithms.empty());
}

}  // namespace quadrille::choose
