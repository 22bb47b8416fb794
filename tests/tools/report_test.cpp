#include "tool/bench/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "../temp_folder.hpp"
#include "tool/line/progress.hpp"

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
  const test::TempFolder folder;
  const std::string file = folder.file("rows");
  ASSERT_EQ(write_csv(file, {row()}), "");
  std::istringstream lines(content(file));
  std::string head, line;
  std::getline(lines, head);
  std::getline(lines, line);
  EXPECT_TRUE(head.starts_with("collective,ranks,nodes,bytes,algorithm,"));
  EXPECT_THAT(line, testing::HasSubstr(",64,\"a:x=1,y=2\",mpi,2.0,1.0,0.5,"));
  const nlohmann::ordered_json json = to_json(row());
  EXPECT_EQ(static_cast<std::size_t>(std::count(head.begin(), head.end(), ',')) + 1, json.size());

  ASSERT_EQ(write_json(file, BenchHeader{"1", "m", "l", "c", "d", ""}, {row(), row()}), "");
  const auto read = nlohmann::json::parse(content(file));
  EXPECT_EQ(read["header"]["mpi"], "m");
  EXPECT_EQ(read["rows"].size(), 2u);
  EXPECT_EQ(read["rows"][0]["quadrille_MBps"], 300);
}

TEST(Report, VariedBlocksShowTheirMeanAndMost) {
  BenchRow varied = row();
  EXPECT_THAT(table_line(varied), testing::StartsWith("        64 a:x"));
  varied.mean_bytes = 32.25;
  varied.max_bytes = 63;
  ASSERT_EQ(parse_traffic("window:100", varied.measured.traffic), "");
  EXPECT_THAT(table_line(varied), testing::StartsWith("        64       32.2         63 a:x"));
  EXPECT_THAT(table_head({}, varied.measured, false), testing::HasSubstr(", blocks window:100;"));
  EXPECT_EQ(to_json(varied)["distribution"], "window:100");
  EXPECT_EQ(to_json(varied)["mean_bytes"], 32.25);
  EXPECT_EQ(to_json(varied)["max_bytes"], 63);
}

TEST(Report, SaysWhatStandsForTheMpiWhereItHasNoSuchCall) {
  BenchCase measured = row().measured;
  EXPECT_THAT(table_head({}, measured, false), testing::Not(testing::HasSubstr("no MPI has")));
  measured.collective = Collective::neighbor_allgatherw;
  EXPECT_THAT(table_head({}, measured, false), testing::HasSubstr("mpi is MPI_Neighbor_alltoallw"));
}

TEST(Report, TheCeilingIsThereOrMissing) {
  BenchRow bounded = row();
  bounded.ceiling = {0.75, "streaming"};
  EXPECT_DOUBLE_EQ(part_of_ceiling(bounded), 0.75);
  EXPECT_THAT(table_line(bounded), testing::HasSubstr("0.75    0.75      0\n"));
  EXPECT_EQ(to_json(bounded)["ceiling_us"], 0.75);
  EXPECT_EQ(to_json(bounded)["ceiling_part"], 0.75);
  EXPECT_EQ(to_json(bounded)["ceiling_by"], "streaming");
  EXPECT_THAT(table_line(row()), testing::HasSubstr("-       -      0\n"));
  EXPECT_TRUE(to_json(row())["ceiling_us"].is_null());

  const test::TempFolder folder;
  const std::string file = folder.file("rows");
  ASSERT_EQ(write_csv(file, {row()}), "");
  EXPECT_TRUE(content(file).ends_with(",,,\n"));  // what is missing is empty in CSV
}

TEST(Report, TouchedBuffersGiveCallAndStep) {
  BenchRow touched = row();
  touched.measured.memory = BufferMemory::mapped;
  const double mpi[] = {4, 8, 16}, quadrille[] = {6, 2, 8};
  touched.step = step_columns(mpi, quadrille);
  const auto json = to_json(touched);
  EXPECT_EQ(json["memory"], "mmap");
  EXPECT_EQ(json["mpi_us"], 2);
  EXPECT_EQ(json["ratio"], 0.5);
  EXPECT_EQ(json["mpi_step_us"], 8);
  EXPECT_EQ(json["quadrille_step_us"], 6);
  EXPECT_EQ(json["step_ratio"], 0.75);
  EXPECT_EQ(json["step_pair_ratio"], 0.5);
  EXPECT_THAT(table_line(touched), testing::HasSubstr("       8.00         6.00   0.75      0\n"));
  const std::string head = table_head({}, touched.measured, false, std::nullopt, true);
  EXPECT_THAT(head, testing::HasSubstr("# buffers in mmap: "));
  EXPECT_THAT(head, testing::HasSubstr("mpi step us  quadr. step  ratio errors\n"));
  EXPECT_EQ(head.substr(head.rfind("bytes") - 5).size(), table_line(touched).size());
  EXPECT_FALSE(to_json(row()).contains("step_ratio"));
}

TEST(Report, CountedEventsAreColumnsAndALine) {
  BenchRow counted = row();
  counted.mpi_events = {{"L1d misses", 20, ""}, {"L2 misses", std::nullopt, "not available: x"}};
  counted.quadrille_events = {{"L1d misses", 10, ""}, {"L2 misses", 3, ""}};
  EXPECT_EQ(events_line(counted), "# a call and rank: L1d misses: mpi 20.0, quadrille 10.0\n");
  EXPECT_EQ(to_json(counted)["mpi_l1d_misses"], 20);
  EXPECT_EQ(to_json(counted)["quadrille_l1d_misses"], 10);
  EXPECT_TRUE(to_json(counted)["mpi_l2_misses"].is_null());
  EXPECT_EQ(events_line(row()), "");
}

TEST(Report, OverlapIsColumnsAndATableOfItsOwn) {
  BenchRow hidden = row();
  hidden.overlap = OverlapColumns{3, 2.5, {{4, 5, 6}, {0, 12.4, 20}, 7}, {{2, 3, 4}, {50, 62.6, 71}, 8}, 0.6, 0.5};
  const auto json = to_json(hidden);
  EXPECT_EQ(json["mpi_us"], 2);
  EXPECT_EQ(json["tests"], 3);
  EXPECT_EQ(json["compute_us"], 2.5);
  EXPECT_EQ(json["mpi_both_us"], 5);
  EXPECT_EQ(json["quadrille_both_us"], 3);
  EXPECT_EQ(json["quadrille_both_p25_us"], 2);
  EXPECT_EQ(json["quadrille_both_p75_us"], 4);
  EXPECT_EQ(json["mpi_overlap_percent"], 12.4);
  EXPECT_EQ(json["quadrille_overlap_p25_percent"], 50);
  EXPECT_EQ(json["quadrille_overlap_percent"], 62.6);
  EXPECT_EQ(json["quadrille_overlap_p75_percent"], 71);
  EXPECT_EQ(json["mpi_both_calls_per_batch"], 7);
  EXPECT_EQ(json["quadrille_both_calls_per_batch"], 8);
  EXPECT_EQ(json["both_ratio"], 0.6);
  EXPECT_EQ(json["both_pair_ratio"], 0.5);
  EXPECT_FALSE(to_json(row()).contains("tests"));
  EXPECT_THAT(
      overlap_line(hidden),
      testing::HasSubstr(
          "  2.00       1.00       2.50        5.00           3.00   0.60     12 (0..20)     63 (50..71)      0\n"));
  const std::string head = overlap_head({}, hidden.measured, 3);
  EXPECT_THAT(head, testing::HasSubstr("3 calls of Test"));
  // Each column ends below its title.
  EXPECT_EQ(head.size() - head.rfind("# hidden") - head.substr(head.rfind("# hidden")).find('\n') - 1,
            overlap_line(hidden).size());
}

TEST(Report, EventsThatNobodyCanCountAreOneLine) {
  const Count one{"A", std::nullopt, "not available: x"}, other{"B", std::nullopt, "not available: x"};
  EXPECT_EQ(why_no_events({one, other}), "A, B: not available: x");
  EXPECT_EQ(why_no_events({one, {"B", 1, ""}}), "");
}

TEST(Report, AFileThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(write_json("/nowhere/x", {}, {}), testing::HasSubstr("/nowhere/x"));
  EXPECT_THAT(write_csv("/nowhere/x", {}), testing::HasSubstr("/nowhere/x"));
}

// ---- Progress ----

std::string said_after(std::chrono::milliseconds pause) {
  testing::internal::CaptureStdout();  // neither is a terminal now
  testing::internal::CaptureStderr();
  Progress progress(true);
  progress.show("at once");
  std::this_thread::sleep_for(pause);
  progress.show("later");
  progress.show("at once again");
  progress.clear();
  testing::internal::GetCapturedStdout();
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, WithoutATerminalIsALineEveryThreeSecondsForWhoAsks) {
  using std::chrono::milliseconds;
  EXPECT_EQ(said_after(milliseconds(3100)), "");
  show_progress_always();
  EXPECT_EQ(said_after(milliseconds(3100)), "later\n");
  testing::internal::CaptureStderr();
  Progress(false).show("nobody asked this one");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace quadrille::tools
