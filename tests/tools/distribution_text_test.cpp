// Mistakes in a distribution or in a traffic matrix are one line that says where they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "../temp_folder.hpp"
#include "tool/bench/distribution.hpp"

namespace quadrille::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
  Traffic traffic;
  return parse_traffic(text, traffic);
}

std::uint64_t parameter_of(std::string_view text) {
  Traffic traffic;
  EXPECT_EQ(parse_traffic(text, traffic), "");
  EXPECT_EQ(traffic.text, text);
  return traffic.parameter;
}

TEST(DistributionText, ParametersAreUnderstood) {
  EXPECT_EQ(parameter_of("window:0"), 0u);
  EXPECT_EQ(parameter_of("window:100"), 100u);
  EXPECT_EQ(parameter_of("sparse"), 2u);
  EXPECT_EQ(parameter_of("sparse:7"), 7u);
  EXPECT_EQ(parameter_of("one-heavy"), 64u);
  EXPECT_EQ(parameter_of("one-heavy:8"), 8u);
  EXPECT_EQ(parameter_of("power:0.5"), std::uint64_t{1} << 63);
  EXPECT_EQ(parameter_of("power:.25"), std::uint64_t{1} << 62);
  EXPECT_EQ(parameter_of("power:0.99"), 18262276632972456100u);
  EXPECT_EQ(parameter_of("power:0.990"), parameter_of("power:0.99"));
  Traffic traffic;
  ASSERT_EQ(parse_traffic("file:a/b:c", traffic), "");
  EXPECT_EQ(traffic.path, "a/b:c");
}

TEST(DistributionText, MistakesAreOneLine) {
  EXPECT_THAT(error_of("norma"), HasSubstr("expected one of equal, uniform, window:R, normal, power:B"));
  EXPECT_THAT(error_of(""), HasSubstr("--distribution=: expected one of"));
  EXPECT_THAT(error_of("normal:3"), HasSubstr("'normal' has no parameter"));
  EXPECT_THAT(error_of("equal:"), HasSubstr("'equal' has no parameter"));
  for (const char* text : {"window", "window:", "window:101", "window:-1", "window:5x"}) {
    EXPECT_THAT(error_of(text), HasSubstr("a percentage from 0 to 100: window:R")) << text;
  }
  for (const char* text : {"power", "power:0", "power:1", "power:1.5", "power:0.0", "power:0.", "power:-0.5",
                           "power:0.9x", "power:0.1234567890123456789"}) {
    EXPECT_THAT(error_of(text), HasSubstr("a base between 0 and 1")) << text;
  }
  EXPECT_THAT(error_of("sparse:"), HasSubstr("number of destinations"));
  EXPECT_THAT(error_of("one-heavy:0"), HasSubstr("a factor from 1"));
  EXPECT_THAT(error_of("file:"), HasSubstr("the name of a file"));
  EXPECT_THAT(error_of("file"), HasSubstr("the name of a file"));
}

TEST(TrafficMatrixText, CommentsAndEmptyLinesDoNotCount) {
  TrafficMatrix matrix;
  ASSERT_EQ(parse_matrix("# bytes\n\n 0\t1 # to 0 and 1\r\n  \n2 70368744177664", "m", 2, matrix), "");
  EXPECT_THAT(matrix.bytes, ElementsAre(0, 1, 2, std::uint64_t{1} << 46));
  EXPECT_EQ(matrix.largest, std::uint64_t{1} << 46);
  EXPECT_EQ(matrix.ranks, 2u);
}

TEST(TrafficMatrixText, WhatIsNoNumberIsFound) {
  TrafficMatrix matrix;
  EXPECT_EQ(parse_matrix("1 2\n# x\n3  4K\n", "m.txt", 2, matrix),
            "m.txt, line 3, column 4: expected a number of bytes from 0 to 2^46, not '4K'");
  EXPECT_THAT(parse_matrix("1 -2\n3 4\n", "m", 2, matrix), testing::AllOf(HasSubstr("column 3"), HasSubstr("'-2'")));
  EXPECT_THAT(parse_matrix("1,2\n3,4\n", "m", 2, matrix), testing::AllOf(HasSubstr("column 1"), HasSubstr("'1,2'")));
  EXPECT_THAT(parse_matrix("1 2.5\n3 4\n", "m", 2, matrix), testing::AllOf(HasSubstr("column 3"), HasSubstr("'2.5'")));
  EXPECT_THAT(parse_matrix("1 70368744177665\n3 4\n", "m", 2, matrix), HasSubstr("column 3"));
}

TEST(TrafficMatrixText, AnotherNumberOfRanksIsExplained) {
  TrafficMatrix matrix;
  EXPECT_EQ(parse_matrix("1 2\n1 2 3\n", "m", 2, matrix),
            "m, line 2, has 3 numbers, and 2 ranks need 2 lines of 2 numbers");
  EXPECT_EQ(parse_matrix("1 2\n3 4\n", "m", 3, matrix),
            "m, line 1, has 2 numbers, and 3 ranks need 3 lines of 3 numbers");
  EXPECT_EQ(parse_matrix("1 2\n", "m", 2, matrix), "m has 1 lines of numbers, and 2 ranks need 2 lines of 2 numbers");
  EXPECT_THAT(parse_matrix("1 2\n1 2\n1 2\n", "m", 2, matrix), HasSubstr("has 3 lines"));
  EXPECT_THAT(parse_matrix("", "m", 2, matrix), HasSubstr("has 0 lines"));
}

TEST(TrafficMatrixText, AFileIsReadOrNamed) {
  TrafficMatrix matrix;
  EXPECT_THAT(read_matrix("/nowhere/m", 2, matrix),
              HasSubstr("cannot read the traffic matrix '/nowhere/m': No such file"));
  EXPECT_THAT(read_matrix("/", 2, matrix), HasSubstr("cannot read the traffic matrix '/'"));
  const test::TempFolder folder;
  const std::string file = folder.file("matrix");
  std::ofstream(file) << "1 2\n3 4\n";
  EXPECT_EQ(read_matrix(file, 2, matrix), "");
  EXPECT_THAT(matrix.bytes, ElementsAre(1, 2, 3, 4));
  std::ofstream(file) << "1 2\n3 x\n";
  EXPECT_EQ(read_matrix(file, 2, matrix),
            file + ", line 2, column 3: expected a number of bytes from 0 to 2^46, not 'x'");
}

}  // namespace
}  // namespace quadrille::tools
