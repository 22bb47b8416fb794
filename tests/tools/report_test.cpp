#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/bench_report.hpp"

namespace quadrille::tools {
namespace {

BenchRow row() {
  BenchRow row;
  row.measured.bytes = 64;
  row.algorithm = "a:x=1,y=2";
  row.served_by = "mpi";
  row.mpi.median = 2;
  row.quadrille.median = 1;
  row.ratio = 0.5;
  row.bytes_sent = 300;
  return row;
}

std::string content(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Report, BandwidthIsMegabytesASecond) {
  EXPECT_DOUBLE_EQ(bandwidth(300, 2), 150);
  EXPECT_DOUBLE_EQ(bandwidth(300, 0), 0);
}

TEST(Report, CsvHasTheColumnsOfJsonAndQuotesCommas) {
  std::string file = (std::filesystem::temp_directory_path() / "quadrille-XXXXXX").string();
  close(mkstemp(file.data()));
  ASSERT_EQ(write_csv(file, {row()}), "");
  std::istringstream lines(content(file));
  std::string head, line;
  std::getline(lines, head);
  std::getline(lines, line);
  EXPECT_TRUE(head.starts_with("collective,ranks,nodes,bytes,algorithm,"));
  EXPECT_THAT(line, testing::HasSubstr(",64,\"a:x=1,y=2\",mpi,2.0,1.0,0.5,"));
  const nlohmann::ordered_json json = to_json(row());
  EXPECT_EQ(static_cast<std::size_t>(std::count(head.begin(), head.end(), ',')) + 1, json.size());

  ASSERT_EQ(write_json(file, BenchHeader{"1", "m", "l", "c", "d"}, {row(), row()}), "");
  const auto read = nlohmann::json::parse(content(file));
  EXPECT_EQ(read["header"]["mpi"], "m");
  EXPECT_EQ(read["rows"].size(), 2u);
  EXPECT_EQ(read["rows"][0]["quadrille_MBps"], 300);
  std::filesystem::remove(file);
}

TEST(Report, AFileThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(write_json("/nowhere/x", {}, {}), testing::HasSubstr("/nowhere/x"));
  EXPECT_THAT(write_csv("/nowhere/x", {}), testing::HasSubstr("/nowhere/x"));
}

}  // namespace
}  // namespace quadrille::tools
