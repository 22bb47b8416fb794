// What `quadrille report` reads of what was recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "../temp_folder.hpp"
#include "collective/collective.hpp"
#include "report/matrix.hpp"
#include "report/read.hpp"
#include "team/record_file.hpp"

namespace quadrille::tools {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// The record of a rank of two, with one communicator of both and one call of Alltoall on it: 8 bytes to each.
struct Recording {
  explicit Recording(int rank) : bytes(sizeof(record::File) + 64) {
    file = new (bytes.data()) record::File;
    record::Header& header = file->header;
    header.magic = record::magic;
    header.rank = rank, header.ranks = 2;
    header.begin = 1, header.end = 1'000'000'000;
    header.communicators = header.names = 1, header.entries = 1;
    record::Communicator& both = file->communicators[0];
    both.group = 7, both.ranks = 2, both.rank = rank, both.made = 1;
    record::Entry& entry = file->entries[0];
    entry.communicator = 0, entry.calls = 1, entry.bytes = 16, entry.least_block = entry.most_block = 8;
  }
  void know_world_ranks() {
    file->communicators[0].world_ranks = sizeof(record::File);
    const std::int32_t ranks[] = {0, 1};
    std::memcpy(bytes.data() + sizeof(record::File), ranks, sizeof ranks);
  }
  // With a call of Neighbor_alltoallv in which so many bytes go along each edge.
  void know_neighbors(const std::vector<std::int32_t>& sources, const std::vector<std::int32_t>& destinations,
                      const std::vector<std::uint64_t>& sent) {
    record::Communicator& both = file->communicators[0];
    both.neighbors = sizeof(record::File) + 8;
    both.sources = static_cast<int>(sources.size()), both.destinations = static_cast<int>(destinations.size());
    std::int32_t* const list = reinterpret_cast<std::int32_t*>(bytes.data() + both.neighbors);
    std::copy(destinations.begin(), destinations.end(), std::copy(sources.begin(), sources.end(), list));
    record::Entry& entry = file->entries[0];
    entry.collective = static_cast<std::uint8_t>(Collective::neighbor_alltoallv);
    entry.samples[0] = {1, sizeof(record::File) + 32};
    std::copy(sent.begin(), sent.end(), reinterpret_cast<std::uint64_t*>(bytes.data() + entry.samples[0].bytes));
  }
  void write(const test::TempFolder& folder) const {
    std::ofstream out(folder.path() + "/rank-" + std::to_string(file->header.rank), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::vector<char> bytes;
  record::File* file;
};

TEST(ReportRead, AnyRankKnowsWhoIsInACommunicator) {
  const test::TempFolder folder;
  Recording first(0), second(1);
  second.know_world_ranks();
  first.write(folder), second.write(folder);
  const ReportData data = read_recorded(folder.path());
  ASSERT_THAT(data["communicators"], SizeIs(1));
  EXPECT_EQ(data["communicators"][0]["world_ranks"], (ReportData{0, 1}));
  EXPECT_EQ(data["communicators"][0]["told"], 2);
  EXPECT_EQ(data["communicators"][0]["bytes"], (ReportData{{8, 8}, {8, 8}}));
  EXPECT_EQ(data["traffic"]["bytes"], (ReportData{{8, 8}, {8, 8}}));
}

TEST(ReportMatrix, GroupsManyRanks) {
  for (const int ranks : {256, 257, 513, 1000}) {
    Matrix matrix(ranks, true);
    matrix.add(0, ranks - 1, 3);
    matrix.add(ranks - 1, ranks - 1, 5);
    const auto json = matrix.json();
    const int group = json["bin"].get<int>();
    const auto& rows = json["bytes"];
    EXPECT_EQ(group, (ranks + 255) / 256);
    ASSERT_EQ(rows.size(), static_cast<std::size_t>((ranks + group - 1) / group)) << ranks;
    EXPECT_EQ(rows.front().back(), 3);
    EXPECT_EQ(rows.back().back(), 5);
  }
}

TEST(ReportRead, WithoutABlockTheLeastIsNone) {
  const test::TempFolder folder;
  for (const int rank : {0, 1}) {
    Recording one(rank);
    one.file->entries[0].bytes = one.file->entries[0].most_block = 0;
    one.file->entries[0].least_block = record::Entry().least_block;
    one.write(folder);
  }
  const ReportData data = read_recorded(folder.path());
  ASSERT_THAT(data["calls"], SizeIs(1));
  EXPECT_EQ(data["calls"][0]["least"], 0);
  EXPECT_EQ(data["calls"][0]["most"], 0);
}

// Two edges from rank 0 to rank 1, and one back.
struct RecordedNeighbors {
  RecordedNeighbors() {
    first.know_neighbors({1}, {1, 1}, {8, 16});
    second.know_neighbors({0, 0}, {0}, {24});
  }
  ReportData read() const {
    const test::TempFolder folder;
    first.write(folder), second.write(folder);
    return read_recorded(folder.path());
  }
  Recording first{0}, second{1};
};

TEST(ReportRead, NeighboursAndTheBytesAlongEachEdge) {
  const ReportData data = RecordedNeighbors().read();
  const ReportData expected = {{"sources", {{1}, {0, 0}}}, {"destinations", {{1, 1}, {0}}}};
  EXPECT_EQ(data["communicators"][0]["neighbors"], expected);
  ASSERT_THAT(data["calls"], SizeIs(1));
  ASSERT_THAT(data["calls"][0]["samples"], SizeIs(1));
  EXPECT_EQ(data["calls"][0]["samples"][0]["bytes"], (ReportData{{8, 16}, {24}}));
}

TEST(ReportRead, WithoutTheNeighboursOfARankThereAreNone) {
  RecordedNeighbors recorded;
  recorded.second.file->communicators[0].neighbors = 0;
  const ReportData data = recorded.read();
  EXPECT_EQ(data["communicators"][0]["neighbors"], (ReportData{{"why", "not all ranks have left their neighbours"}}));
  EXPECT_THAT(data["calls"][0]["samples"], SizeIs(0));
}

TEST(ReportRead, AListThatIsCutOffIsNone) {
  RecordedNeighbors recorded;
  recorded.second.file->communicators[0].destinations = 1000;
  EXPECT_TRUE(recorded.read()["communicators"][0]["neighbors"].contains("why"));
}

TEST(ReportRead, NeighboursThatChangeAreNone) {
  RecordedNeighbors recorded;
  recorded.second.file->communicators[0].neighbors_differ = 1;
  EXPECT_THAT(recorded.read()["communicators"][0]["neighbors"]["why"].get<std::string>(),
              HasSubstr("different neighbours"));
}

// Nanoseconds of two kinds of calls in a run of 1 s: long ones, each of them timed, and a million short ones, two of
// the thousand samples of which were interrupted.
Recording with_samples(std::uint64_t long_calls, std::uint64_t interrupted) {
  Recording one(0);
  record::File& file = *one.file;
  file.header.ranks = 1, file.header.begin = 0, file.header.names = 2, file.header.entries = 2;
  file.communicators[0].ranks = 1;
  record::Entry& exact = file.entries[0];
  exact.calls = exact.times.timed = 10, exact.times.nanoseconds = long_calls;
  record::Entry& sampled = file.entries[1];
  sampled = exact;
  sampled.collective = static_cast<std::uint8_t>(Collective::allgather);
  sampled.calls = 1'000'008;
  const double square = static_cast<double>(interrupted) * static_cast<double>(interrupted);
  sampled.times = {8, 8'000, 1'000, 998 * 1'000 + 2 * interrupted, 998 * 1e6 + 2 * square};
  sampled.ways_used = 1;
  sampled.ways[0] = {1, 0, sampled.calls, {0, 0, 1, interrupted, square}};
  return one;
}

ReportData read_alone(const Recording& one) {
  const test::TempFolder folder;
  one.write(folder);
  return read_recorded(folder.path());
}

TEST(ReportRead, WhatSamplesStandForHasAnError) {
  const Recording recording = with_samples(300'000'000, 101'000);
  recording.file->header.end = 2'000'000'000;
  const ReportData data = read_alone(recording);
  ASSERT_THAT(data["calls"], SizeIs(2));
  const ReportData &sampled = data["calls"][0], &exact = data["calls"][1];
  // The mean of the samples is 1.2 us, and their deviation 4.47 us, of which each of a thousand has its share.
  EXPECT_NEAR(sampled["seconds"][1], 1.2, 1e-3);
  EXPECT_NEAR(sampled["error"], 4.47e-6 * 999'000 / std::sqrt(1000), 1e-3);
  EXPECT_DOUBLE_EQ(exact["seconds"][1], 0.3);
  EXPECT_EQ(exact["error"], 0);
}

TEST(ReportRead, SharesAddUp) {
  for (const std::uint64_t long_calls : {300'000'000, 990'000'000}) {
    const ReportData data = read_alone(with_samples(long_calls, 101'000));
    double sum = 0, squares = 0;
    for (const auto& call : data["calls"]) {
      sum += call["seconds"][1].get<double>();
      squares += call["error"].get<double>() * call["error"].get<double>();
      for (const auto& by : call["by"]) EXPECT_LE(by["seconds"], call["seconds"][1]);
    }
    EXPECT_NEAR(data["in_calls"][0], 1, 1e-9);  // the run is no longer
    EXPECT_NEAR(data["in_calls"][0], sum, 1e-9);
    EXPECT_NEAR(data["in_calls_error"][0], std::sqrt(squares), 1e-9);
    EXPECT_GT(data["scale"][0], 0);
    EXPECT_LT(data["scale"][0], 1);
  }
}

TEST(ReportRead, ThreadsMayBeInCallsForMoreThanTheRun) {
  const ReportData data = read_alone(with_samples(2'000'000'000, 1'000));
  EXPECT_EQ(data["scale"][0], 1);
  EXPECT_NEAR(data["in_calls"][0], 3, 1e-3);
}

TEST(ReportRead, ARecordOfAnotherVersionIsSaidToBeOne) {
  const test::TempFolder folder;
  Recording one(0);
  one.write(folder);
  EXPECT_FALSE(has_records_of_another_version(folder.path()));
  one.file->header.magic -= std::uint64_t{1} << 56;  // the version is the last letter
  one.write(folder);
  EXPECT_TRUE(has_records_of_another_version(folder.path()));
  EXPECT_TRUE(read_recorded(folder.path()).is_null());
  one.file->header.magic = 0;  // one that was not begun
  one.write(folder);
  EXPECT_FALSE(has_records_of_another_version(folder.path()));
}

}  // namespace
}  // namespace quadrille::tools
