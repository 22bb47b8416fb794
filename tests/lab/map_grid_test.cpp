#include "lab/map/map_grid.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "../temp_folder.hpp"

namespace quadrille::tools {
namespace {

TEST(MapGrid, MarksTellAlgorithmAndRadix) {
  EXPECT_EQ(mark_of("two-phase-bruck:radix=4,eager=1024,monolithic=0"), "T4");
  EXPECT_EQ(mark_of("two-phase-bruck"), "T2");
  EXPECT_EQ(mark_of("padded-bruck:radix=12"), "P12");
  EXPECT_EQ(mark_of("sloav"), "L2");
  EXPECT_EQ(mark_of("mpi"), "S");
  EXPECT_EQ(mark_of("spread-out"), "S");
  EXPECT_EQ(mark_of("padded-alltoall"), "A");
  EXPECT_EQ(mark_of("pairwise"), "?");
}

TEST(MapGrid, KeepsTheFastest) {
  MapGrid grid;
  put_faster(grid, 16, 8, {"mpi", 5, 5});
  put_faster(grid, 16, 8, {"two-phase-bruck:radix=4", 3, 0});
  put_faster(grid, 16, 8, {"spread-out", 4, 4});
  put_faster(grid, 64, 8, {"mpi", 5, 5});
  EXPECT_EQ(grid.at({16, 8}).algorithm, "two-phase-bruck:radix=4");
  EXPECT_EQ(grid.at({16, 8}).direct, 4);
  EXPECT_EQ(map_text(grid),
            "   N \\ P       8\n"
            "      16      T4\n"
            "      64       S\n"
            "T two-phase Bruck, S each block straight to its place; behind it the radix\n");
}

class MeasuredMap : public testing::Test {
 protected:
  test::TempFolder folder_;
  std::string file_ = folder_.file("map.json");
  void write(const std::string& text) { std::ofstream(file_) << text; }
  Measured measured_;
};

TEST_F(MeasuredMap, ReadsTheRowsOfABenchmark) {
  write(R"({"header": {}, "rows": [
    {"collective": "alltoallv", "ranks": 4, "bytes": 32, "algorithm": "sloav", "mpi_us": 3, "quadrille_us": 2,
     "distribution": "uniform", "datatype": "byte"},
    {"collective": "alltoallv", "ranks": 4, "bytes": 64, "algorithm": "sloav", "mpi_us": 3, "quadrille_us": 4,
     "distribution": "uniform", "datatype": "byte"}]})");
  EXPECT_EQ(read_measured(file_, measured_), "");
  EXPECT_EQ(measured_.grid.at({32, 4}).algorithm, "sloav");
  EXPECT_EQ(measured_.grid.at({64, 4}).algorithm, "mpi");
  EXPECT_EQ(measured_.load, "uniform, byte");
  write(R"({"rows": [{"collective": "alltoallv", "ranks": 4, "bytes": 32, "algorithm": "sloav", "mpi_us": 3,
    "quadrille_us": 1, "distribution": "sparse:0.1", "datatype": "byte"}]})");
  EXPECT_NE(read_measured(file_, measured_).find("one map has one kind"), std::string::npos);
}

TEST_F(MeasuredMap, RefusesWhatIsNoneInOneLine) {
  EXPECT_NE(read_measured(file_ + "none", measured_).find("cannot read"), std::string::npos);
  for (const char* text : {"", "[]", "{", R"({"rows": 3})", R"({"rows": [{}]})", R"({"rows": [7]})",
                           R"({"rows": [{"collective": "alltoall", "ranks": 4}]})",
                           R"({"rows": [{"collective": "alltoallv", "ranks": "x", "bytes": 1}]})"}) {
    write(text);
    const std::string problem = read_measured(file_, measured_);
    EXPECT_NE(problem, "") << text;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace quadrille::tools
