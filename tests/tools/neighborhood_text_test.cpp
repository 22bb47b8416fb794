#include "tools/neighborhood_text.hpp"

#include <gtest/gtest.h>

namespace quadrille::tools {
namespace {

TEST(NeighborhoodText, IsUnderstood) {
  plan::Neighborhood n;
  EXPECT_EQ(parse_neighborhood("moore:2,1", n), "");
  EXPECT_EQ(n.dimensions, 2);
  EXPECT_EQ(n.size(), 8);
  EXPECT_EQ(parse_neighborhood("moore:3,2", n), "");
  EXPECT_EQ(n.size(), 124);
  EXPECT_EQ(parse_neighborhood("von-neumann:3", n), "");
  EXPECT_EQ(n.dimensions, 3);
  EXPECT_EQ(n.size(), 6);
  EXPECT_EQ(parse_neighborhood("positive-moore:3,3", n), "");
  EXPECT_EQ(n.size(), 63);
  EXPECT_EQ(parse_neighborhood("shales:2,1,3", n), "");
  EXPECT_EQ(n.size(), 8 + 24);
}

TEST(NeighborhoodText, IsRefusedInOneLine) {
  for (const char* text : {"", "moore", "moore:", "moore:3", "moore:0,1", "moore:3,0", "moore:6,1", "moore:3,1,1",
                           "moore:3,1x", "moore:-1,1", "moore:5,9", "von-neumann:", "von-neumann:0",
                           "von-neumann:3,1", "Moore:3,1", "moore:3 ,1", "positive-moore:3", "shales:2,1", "shales:2,1,3,4", "shales:5,1,9", "moore:99999999999,1"}) {
    plan::Neighborhood n;
    const std::string problem = parse_neighborhood(text, n);
    EXPECT_NE(problem, "") << text;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace quadrille::tools
