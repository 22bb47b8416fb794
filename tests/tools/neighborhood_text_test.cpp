#include "tool/bench/neighborhood_text.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tool/bench/own_offsets.hpp"

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
  for (const char* text : {"",
                           "moore",
                           "moore:",
                           "moore:3",
                           "moore:0,1",
                           "moore:3,0",
                           "moore:6,1",
                           "moore:3,1,1",
                           "moore:3,1x",
                           "moore:-1,1",
                           "moore:5,9",
                           "von-neumann:",
                           "von-neumann:0",
                           "von-neumann:3,1",
                           "Moore:3,1",
                           "moore:3 ,1",
                           "positive-moore:3",
                           "shales:2,1",
                           "shales:2,1,3,4",
                           "shales:5,1,9",
                           "moore:99999999999,1",
                           "offsets:",
                           "offsets:1,0/",
                           "offsets:/1,0",
                           "offsets:1,",
                           "offsets:1,,0",
                           "offsets:1,0/1",
                           "offsets:1;0",
                           "offsets:1, 0",
                           "offsets:1000001",
                           "offsets:1,2,3,4,5,6",
                           "file:",
                           "file:/no/such/file",
                           "file:/"}) {
    plan::Neighborhood n;
    const std::string problem = parse_neighborhood(text, n);
    EXPECT_NE(problem, "") << text;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << text;
  }
}

TEST(NeighborhoodText, TakesOffsetsOfOnesOwn) {
  plan::Neighborhood n;
  EXPECT_EQ(parse_neighborhood("offsets:1,0/0,1/-1,-3/0,0/1,0", n), "");
  EXPECT_EQ(n.dimensions, 2);
  EXPECT_EQ(n.offsets, (std::vector<int>{1, 0, 0, 1, -1, -3, 0, 0, 1, 0}));
  EXPECT_EQ(parse_neighborhood("offsets:-7", n), "");
  EXPECT_EQ(n.dimensions, 1);
  EXPECT_EQ(n.offsets, std::vector<int>{-7});
}

TEST(NeighborhoodText, ReadsOffsetsOfAFile) {
  plan::Neighborhood n;
  EXPECT_EQ(parse_offsets_file("# a wind\n1 0\n\n 0,1  # north\r\n-1\t-1", "wind", n), "");
  EXPECT_EQ(n.dimensions, 2);
  EXPECT_EQ(n.offsets, (std::vector<int>{1, 0, 0, 1, -1, -1}));
}

TEST(NeighborhoodText, SaysWhichLineOfAFileIsWrong) {
  plan::Neighborhood n;
  EXPECT_EQ(parse_offsets_file("", "wind", n), "wind has no offsets; write one a line, as 1 0");
  EXPECT_EQ(parse_offsets_file("# nothing\n", "wind", n), "wind has no offsets; write one a line, as 1 0");
  EXPECT_EQ(parse_offsets_file("1 0\n\n1 x", "wind", n), "wind, line 3: coordinate x: expected -1000000 to 1000000");
  EXPECT_EQ(parse_offsets_file("1 0\n1 0 0\n", "wind", n),
            "wind, line 2: the offset '1 0 0' has 3 coordinates, the first one 2");
}

TEST(GridText, IsUnderstoodAndWritten) {
  for (const char* text : {"4x3", "4mx3", "1", "2x2x2x2m", "1048576"}) {
    plan::Grid grid;
    EXPECT_EQ(parse_grid(text, grid), "") << text;
    EXPECT_EQ(to_text(grid), text);
  }
  for (const char* text : {"", "x", "4x", "x4", "0x3", "4,3", "-1x3", "4x3p", "4mm", "1048577", "1024x1025",
                           "2x2x2x2x2x2", "99999999999"}) {
    plan::Grid grid;
    const std::string problem = parse_grid(text, grid);
    EXPECT_NE(problem, "") << text;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << text;
  }
}

TEST(GridText, AnEvenTorusHoldsAllRanks) {
  EXPECT_EQ(to_text(even_torus(12, 2)), "4x3");
  EXPECT_EQ(to_text(even_torus(64, 3)), "4x4x4");
  EXPECT_EQ(to_text(even_torus(7, 3)), "7x1x1");
  EXPECT_EQ(to_text(even_torus(1, 2)), "1x1");
  for (int ranks = 1; ranks <= 100; ++ranks) {
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
      EXPECT_EQ(even_torus(ranks, dimensions).ranks(), ranks);
    }
  }
}

}  // namespace
}  // namespace quadrille::tools
