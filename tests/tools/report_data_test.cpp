// What `quadrille report` makes of what was recorded: what is read, which calls are made again, and what is advised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "../temp_folder.hpp"
#include "collective/collective.hpp"
#include "report/advice.hpp"
#include "report/again.hpp"
#include "report/cases.hpp"
#include "report/child.hpp"
#include "report/graph.hpp"
#include "report/matrix.hpp"
#include "report/read.hpp"
#include "team/record_file.hpp"
#include "tool/launch/signals.hpp"

namespace quadrille::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// ---- Reading ----

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

// ---- Which calls are made again ----

ReportData communicator(const std::vector<int>& world_ranks) {
  return {{"name", ""}, {"ranks", world_ranks.size()}, {"made", 1}, {"inter", false}, {"world_ranks", world_ranks}};
}

ReportData call(const std::string& collective, int communicator, std::uint64_t block, double seconds = 1) {
  return {{"collective", collective},
          {"form", "blocking"},
          {"communicator", communicator},
          {"where", {{"object", "app"}, {"symbol", "main"}, {"line", ""}}},
          {"told", 2},
          {"calls", 100.0},
          {"bytes", block * 100 * 2 * 2},
          {"least", block},
          {"most", block},
          {"seconds", {seconds, seconds, seconds}},
          {"samples", ReportData::array()}};
}

ReportData four_ranks(const std::vector<ReportData>& communicators, const std::vector<ReportData>& calls) {
  return {
      {"ranks", 4}, {"command", {"mpirun", "-n", "4", "./app"}}, {"communicators", communicators}, {"calls", calls}};
}

TEST(ReportCases, CallsOnApartCommunicatorsAreMadeAtTheSameTime) {
  const ReportData data = four_ranks({communicator({0, 2}), communicator({1, 3}), communicator({0, 1})},
                                     {call("alltoall", 0, 64), call("alltoall", 1, 64), call("alltoall", 2, 64)});
  const auto all = calls_to_replay(data);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].calls, ElementsAre(0U, 1U));
  EXPECT_EQ(
      all[0].work,
      (ReportData{{"collective", "alltoall"}, {"groups", {{0, 2}, {1, 3}}}, {"seconds_of_call", 0.01}, {"block", 64}}));
  EXPECT_THAT(all[1].calls, ElementsAre(2U));
}

// Of two ranks, each the neighbour of the other.
ReportData neighbors_of_each_other(const std::vector<int>& world_ranks) {
  ReportData pair = communicator(world_ranks);
  pair["neighbors"] = {{"sources", {{1}, {0}}}, {"destinations", {{1}, {0}}}};
  return pair;
}

TEST(ReportCases, CallsBetweenNeighboursBringTheirGraph) {
  const ReportData first = neighbors_of_each_other({0, 2}), second = neighbors_of_each_other({1, 3});
  ReportData uniform = call("neighbor_alltoall", 0, 64), other = call("neighbor_alltoall", 1, 64);
  uniform["bytes"] = other["bytes"] = 64 * 100 * 2;  // an edge each
  ReportData uneven = call("neighbor_alltoallv", 0, 64);
  uneven["samples"] = {{{"call", 1}, {"bytes", {{8}, {16}}}}};
  const auto all = calls_to_replay(four_ranks({first, second}, {uniform, other, uneven}));
  ASSERT_THAT(all, SizeIs(2));
  const ReportData& graph = first["neighbors"];
  EXPECT_EQ(all[0].why, "");
  EXPECT_EQ(all[0].work, (ReportData{{"collective", "neighbor_alltoall"},
                                     {"groups", {{0, 2}, {1, 3}}},
                                     {"seconds_of_call", 0.01},
                                     {"block", 64},
                                     {"graphs", ReportData::array({graph, graph})}}));
  EXPECT_EQ(all[1].work, (ReportData{{"collective", "neighbor_alltoallv"},
                                     {"groups", ReportData::array({ReportData{0, 2}})},
                                     {"seconds_of_call", 0.01},
                                     {"bytes", {{8}, {16}}},
                                     {"graphs", ReportData::array({graph})}}));
}

TEST(ReportCases, AGraphThatCannotBeMadeAgainSaysWhy) {
  const auto why = [](const ReportData& sources, const ReportData& destinations, const ReportData& bytes) {
    ReportData two = communicator({0, 1}), one = call("neighbor_alltoallv", 0, 64);
    two["neighbors"] = {{"sources", sources}, {"destinations", destinations}};
    one["samples"] = ReportData::array({{{"call", 1}, {"bytes", bytes}}});
    return calls_to_replay(four_ranks({two}, {one}))[0].why;
  };
  const ReportData none = ReportData::array();
  const auto lists = [](const ReportData& a, const ReportData& b) { return ReportData::array({a, b}); };
  EXPECT_EQ(why(lists({1}, {0, 0}), lists({1, 1}, {0}), lists({8, 8}, {16})), "");
  EXPECT_THAT(why(lists({1}, {0, 0}), lists({1, 1}, {0}), lists({8, 9}, {16})), HasSubstr("different sizes"));
  EXPECT_THAT(why(lists({1}, {0, 0}), lists({1, 1}, {0}), lists({8}, {16})), HasSubstr("counts of one call"));
  EXPECT_THAT(why(lists({1}, {0}), lists({1, 1}, {0}), lists({8, 8}, {16})), HasSubstr("do not match"));
  EXPECT_THAT(why(lists({2}, {0}), lists({1}, {0}), lists({8}, {16})), HasSubstr("do not match"));
  EXPECT_THAT(why(lists({1}, none), lists(none, none), lists(none, none)), HasSubstr("do not match"));
  EXPECT_THAT(why(lists(none, none), lists(none, none), lists(none, none)), HasSubstr("without neighbours"));
}

TEST(ReportCases, ARankKnowsWhatComesAlongItsEdges) {
  const ReportData work = {
      {"bytes", {{8, 24}, {16}, ReportData::array()}},
      {"graphs",
       ReportData::array({{{"sources", {{1}, {0}, {0}}}, {"destinations", {{2, 1}, {0}, ReportData::array()}}}})}};
  const BenchEdges first = edges_of(work, 0, 0), second = edges_of(work, 0, 1), third = edges_of(work, 0, 2);
  EXPECT_THAT(first.destinations, ElementsAre(2, 1));
  EXPECT_THAT(first.sent, ElementsAre(8U, 24U));
  EXPECT_THAT(first.received, ElementsAre(16U));
  EXPECT_THAT(second.sources, ElementsAre(0));
  EXPECT_THAT(second.received, ElementsAre(24U));
  EXPECT_THAT(third.received, ElementsAre(8U));
  EXPECT_THAT(third.sent, SizeIs(0));
}

TEST(ReportCases, RanksOfOtherProgramsAreNotThere) {
  constexpr int undefined = -32766;
  for (const int rank : {undefined, 4}) {
    const auto all = calls_to_replay(four_ranks({communicator({0, rank})}, {call("alltoall", 0, 64)}));
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_TRUE(all[0].work.is_null());
    EXPECT_EQ(all[0].why, "a communicator with ranks of several programs");
  }
}

TEST(ReportCases, WhatCannotBeMadeAgainSaysWhy) {
  ReportData inter = communicator({0, 1}), short_lived = communicator({0, 1});
  inter["inter"] = true;
  short_lived["made"] = 50;
  const ReportData data =
      four_ranks({communicator({0, 1}), inter, communicator({}), communicator({1}), short_lived},
                 {call("alltoall", -1, 64), call("neighbor_alltoall", 0, 64), call("alltoall", 1, 64),
                  call("alltoall", 2, 64), call("alltoall", 3, 64), call("alltoall", 4, 64), call("alltoallv", 0, 64)});
  const auto all = calls_to_replay(data);
  const std::vector<std::string> words = {"several kinds", "neighbours",  "intercommunicator", "too many ranks",
                                          "one rank",      "short-lived", "counts of one call"};
  ASSERT_EQ(all.size(), words.size());
  for (std::size_t c = 0; c < all.size(); ++c) EXPECT_THAT(all[c].why, HasSubstr(words[c]));
}

TEST(ReportCases, CallsOfOtherFormsAreNoneOfTheBlockingOnes) {
  ReportData started = call("alltoall", 1, 64);
  started["form"] = "nonblocking";
  const auto all =
      calls_to_replay(four_ranks({communicator({0, 1}), communicator({2, 3})}, {call("alltoall", 0, 64), started}));
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_FALSE(all[0].work.contains("form"));
  EXPECT_EQ(all[1].work["form"], "nonblocking");
}

TEST(ReportCases, OnlyEightAndNoneOfAHundredthOfTheTime) {
  std::vector<ReportData> calls;
  for (int c = 0; c < 10; ++c) calls.push_back(call("alltoall", 0, std::uint64_t{64} << c));
  EXPECT_THAT(calls_to_replay(four_ranks({communicator({0, 1})}, calls)), SizeIs(8));
  calls = {call("alltoall", 0, 64, 1), call("alltoall", 0, 128, 0.001)};
  EXPECT_THAT(calls_to_replay(four_ranks({communicator({0, 1})}, calls)), SizeIs(1));
}

// ---- What was measured, and advice ----

// Another algorithm: of Quadrille's own time the least, the median and the most of the repeats.
struct Other {
  std::string name;
  std::vector<double> to_default;
};

// Of a call that takes the MPI 10 microseconds.
ReportData times_of(const std::vector<double>& to_mpi, const std::vector<Other>& others) {
  const double ours = 10 * to_mpi[1];
  ReportData times = {{{"name", "mpi"}, {"microseconds", 10.0}},
                      {{"name", "default"}, {"by", "inbox"}, {"microseconds", ours}, {"to_mpi", to_mpi}}};
  for (const Other& one : others) {
    times.push_back({{"name", one.name},
                     {"microseconds", ours * one.to_default[1]},
                     {"to_mpi", to_mpi},
                     {"to_default", one.to_default}});
  }
  return {{"times", times}};
}

const std::vector<double> half = {0.49, 0.5, 0.51}, alike = {0.99, 1, 1.01}, twice = {1.9, 2, 2.1};

// Which calls took the most time in a run is the machine's affair: here each is one that did.
TEST(ReportReplay, SaysWhyACallIsNotMadeAgain) {
  const auto why = [](const char* collective, const char* form, int communicator) {
    ReportData call = {
        {"collective", collective}, {"form", form}, {"communicator", communicator}, {"seconds", {1, 1, 1}}};
    const auto calls = calls_to_replay({{"calls", {call}}});
    return calls.size() == 1 && calls[0].work.is_null() ? calls[0].why : "";
  };
  EXPECT_EQ(why("exchange", "blocking", 0), "Quadrille's own sparse exchange, which no MPI has");
  EXPECT_EQ(why("alltoall", "persistent", 0), "the making of a request; its starts are replayed");
  EXPECT_EQ(why("alltoall", "enqueued", 0), "calls enqueued in a device's stream");
  EXPECT_EQ(why("alltoall", "blocking", -1), "calls of several kinds, for which the record had no room");
}

TEST(ReportReplay, ACommandWithoutALauncherMakesNoCallsOfSeveralRanks) {
  const auto replay = [](int ranks) {
    ReportData data = {{"ranks", ranks}, {"command", {"./no-such-job.sh"}}, {"calls", ReportData::array()}};
    add_replay({.command = {"./no-such-job.sh"}}, "", 1, data);
    return data["replay"];
  };
  EXPECT_THAT(replay(4).value("problem", ""), HasSubstr("names no known launcher"));
  EXPECT_FALSE(replay(1).contains("problem"));
}

// Open MPI takes no -x beside a list of the environment.
TEST(ReportReplay, SettingsGoWhereTheOtherVariablesGo) {
  constexpr const char *list = "OMPI_MCA_mca_base_env_list", *setting = "QUADRILLE_OF_THIS_TEST";
  const std::vector<std::string> words = {"mpirun", "-n", "2", "./app"};
  setenv(setting, "1", 1);
  unsetenv(list);
  EXPECT_THAT(with_settings(words, Abi::openmpi), testing::IsSupersetOf({"-x", setting}));
  EXPECT_EQ(with_settings(words, Abi::mpich), words);
  setenv(list, "PATH", 1);
  EXPECT_EQ(with_settings(words, Abi::openmpi), words);
  EXPECT_THAT(std::getenv(list), testing::AllOf(testing::StartsWith("PATH;"), HasSubstr(setting)));
  unsetenv(list);
  unsetenv(setting);
}

// With the replay of all calls.
ReportData replayed(ReportData data, const std::vector<ReportData>& cases,
                    const ReportData& without = ReportData::array()) {
  const std::vector<ReplayedCalls> calls = calls_to_replay(data);
  data["replay"] = replay_of(data, calls, {{"cases", cases}, {"without", without}});
  return data;
}

bool advises_a_table(const ReportData& data, const std::string& launcher = "mpirun -n 4") {
  const ReportData advice = advice_from(data, launcher);
  return advice.dump().find("quadrille tune --algorithms") != std::string::npos;
}

TEST(ReportReplay, SavesWhatEveryRepeatSaves) {
  const ReportData data = replayed(four_ranks({communicator({0, 1})}, {call("alltoall", 0, 64)}),
                                   {times_of(half, {{"pairwise", alike}, {"ring", half}})}, {"QUADRILLE=off"});
  const ReportData& times = data["replay"]["cases"][0]["times"];
  EXPECT_DOUBLE_EQ(times[1]["saved"].get<double>(), 100 * 5e-6);
  EXPECT_DOUBLE_EQ(times[2]["saved"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(times[3]["saved"].get<double>(), 100 * 2.5e-6);
  EXPECT_EQ(data["replay"]["without"], ReportData{"QUADRILLE=off"});
}

TEST(ReportReplay, CallsAtTheSameTimeSaveOnce) {
  const std::vector<ReportData> communicators = {communicator({0, 2}), communicator({1, 3})};
  const std::vector<ReportData> calls = {call("alltoall", 0, 64), call("alltoall", 1, 64)};
  const ReportData data = replayed(four_ranks(communicators, calls), {times_of(half, {})});
  EXPECT_EQ(data["replay"]["cases"].size(), 1U);
  EXPECT_DOUBLE_EQ(data["replay"]["cases"][0]["times"][1]["saved"].get<double>(), 100 * 5e-6);
}

// How much of them the program hides behind its own work is not known.
TEST(ReportReplay, WhatRequestsSaveIsNotKnown) {
  ReportData started = call("alltoall", 0, 64);
  started["form"] = "nonblocking";
  const ReportData data = replayed(four_ranks({communicator({0, 1})}, {started}), {times_of(half, {})});
  EXPECT_DOUBLE_EQ(data["replay"]["cases"][0]["times"][1]["saved"].get<double>(), 0);
  EXPECT_THAT(advice_from(data, "mpirun -n 4"), SizeIs(0));
}

TEST(ReportAdvice, OneWinnerOfEachCollectiveIsNoChoiceBySize) {
  const auto calls = {call("alltoall", 0, 64), call("allgather", 0, 4096)};
  const auto data = four_ranks({communicator({0, 1})}, calls);
  const auto cases = {times_of(alike, {{"pairwise", half}}), times_of(alike, {{"ring", half}})};
  EXPECT_FALSE(advises_a_table(replayed(data, cases)));
}

TEST(ReportAdvice, AWinnerThatChangesWithTheSizeIs) {
  const auto calls = {call("alltoall", 0, 64), call("alltoall", 0, 4096), call("alltoallv", 0, 64)};
  auto data = four_ranks({communicator({0, 1})}, calls);
  data["calls"][2]["samples"] = {{{"call", 1}, {"bytes", {{0, 64}, {64, 0}}}}};
  data = replayed(data, {times_of(alike, {{"pairwise", half}}), times_of(alike, {{"pairwise", alike}, {"ring", half}}),
                         times_of(alike, {})});
  EXPECT_TRUE(advises_a_table(data));
  EXPECT_THAT(advice_from(data, "mpirun -n 4").dump(),
              HasSubstr("mpirun -n 4 quadrille tune --algorithms --sizes 64,4096\""));
}

TEST(ReportAdvice, NoPartOfTheRanksIsAdvisedToWriteATable) {
  const auto words_before = [](const std::vector<std::string>& words) {
    const auto resolve = [](std::string_view word, std::string_view) { return std::string(word); };
    return words_before_program(words, read_command(words, resolve));
  };
  EXPECT_EQ(words_before({"mpirun", "-n", "4", "./app"}), "mpirun -n 4");
  EXPECT_EQ(words_before({"mpirun", "-n", "1", "./app", ":", "-n", "3", "./other"}), "");
  const auto data = four_ranks({communicator({0, 1})}, {call("alltoall", 0, 64), call("alltoall", 0, 4096)});
  const auto cases = {times_of(alike, {{"pairwise", half}}), times_of(alike, {{"ring", half}})};
  EXPECT_TRUE(advises_a_table(replayed(data, cases)));
  EXPECT_FALSE(advises_a_table(replayed(data, cases), ""));
}

TEST(ReportAdvice, TwoWinnersOfOneSizeAreNone) {
  const auto calls = {call("alltoall", 0, 64), call("alltoall", 1, 64)};
  const auto data = four_ranks({communicator({0, 1}), communicator({0, 2})}, calls);
  const auto cases = {times_of(alike, {{"pairwise", half}}), times_of(alike, {{"ring", half}})};
  EXPECT_FALSE(advises_a_table(replayed(data, cases)));
}

TEST(ReportAdvice, TheFastestIsTheWinnerWhereverItStands) {
  const auto calls = {call("alltoall", 0, 64), call("alltoall", 0, 4096)};
  const auto data = four_ranks({communicator({0, 1})}, calls);
  const std::vector<double> faster = {0.3, 0.3, 0.3};
  EXPECT_FALSE(advises_a_table(replayed(data, {times_of(alike, {{"pairwise", half}, {"ring", faster}}),
                                               times_of(alike, {{"ring", half}, {"pairwise", alike}})})));
}

TEST(ReportAdvice, AnAlgorithmIsForcedOnlyIfItIsFasterInAll) {
  const auto calls = {call("alltoall", 0, 64), call("alltoall", 0, 4096)};
  const auto data = four_ranks({communicator({0, 1})}, calls);
  const auto text = [&](const std::vector<double>& second) {
    const auto cases = {times_of(alike, {{"pairwise", half}}), times_of(alike, {{"pairwise", second}})};
    return advice_from(replayed(data, cases), "mpirun -n 4").dump();
  };
  EXPECT_THAT(text(half), HasSubstr("export QUADRILLE_ALGORITHM='alltoall=pairwise'"));
  EXPECT_THAT(text(alike), HasSubstr("export QUADRILLE_ALGORITHM='alltoall=pairwise'"));
  EXPECT_THAT(text(twice), testing::Not(HasSubstr("export")));
}

TEST(ReportAdvice, NoAlgorithmIsForcedThatWasNotMeasuredInAll) {
  const auto data = four_ranks({communicator({0, 1})}, {call("alltoall", 0, 64), call("alltoall", 0, 4096)});
  const auto cases = {times_of(alike, {{"pairwise", half}}), ReportData{{"why", "no time was left"}}};
  EXPECT_THAT(advice_from(replayed(data, cases), "mpirun -n 4").dump(), testing::Not(HasSubstr("export")));
}

TEST(ReportAdvice, SaysWhetherQuadrilleIsFaster) {
  const auto advice = [](const std::vector<double>& to_mpi) {
    const auto data = four_ranks({communicator({0, 1})}, {call("alltoall", 0, 64)});
    return advice_from(replayed(data, {times_of(to_mpi, {})}), "mpirun -n 4");
  };
  EXPECT_EQ(advice(half)[0]["lines"], ReportData{"quadrille run -- mpirun -n 4 ./app"});
  EXPECT_EQ(advice(twice)[0]["lines"], ReportData{"mpirun -n 4 ./app"});
  EXPECT_THAT(advice(alike)[0]["text"].get<std::string>(), HasSubstr("no difference that counts"));
  EXPECT_THAT(advice(alike)[0]["lines"], SizeIs(0));
}

TEST(ReportAdvice, WhatWasSetInTheRunIsUnset) {
  ReportData data = four_ranks({communicator({0, 1})}, {call("alltoall", 0, 64)});
  data["settings"] = {"QUADRILLE=off", "QUADRILLE_EXPLAIN=1"};
  // One that the command sets itself cannot be unset before it.
  const ReportData without = {"QUADRILLE=off", "QUADRILLE_ALGORITHM=alltoall=ring", "QUADRILLE_EXPLAIN=1"};
  const ReportData advice = advice_from(replayed(data, {times_of(half, {{"pairwise", half}})}, without), "mpirun -n 4");
  EXPECT_EQ(advice[0]["lines"], (ReportData{"unset QUADRILLE", "quadrille run -- mpirun -n 4 ./app"}));
  EXPECT_EQ(advice[1]["lines"], (ReportData{"unset QUADRILLE", "export QUADRILLE_ALGORITHM='alltoall=pairwise'",
                                            "quadrille run -- mpirun -n 4 ./app"}));
}

TEST(ReportAdvice, TheMpiThatWasGivenIsGivenAgain) {
  const auto data = four_ranks({communicator({0, 1})}, {call("alltoall", 0, 64)});
  const ReportData advice = advice_from(replayed(data, {times_of(half, {})}), "mpirun -n 4", Abi::mpich);
  EXPECT_EQ(advice[0]["lines"], ReportData{"quadrille run --mpi mpich -- mpirun -n 4 ./app"});
}

TEST(ReportAdvice, WithoutTimesThereIsNone) {
  const auto data = four_ranks({communicator({1})}, {call("alltoall", 0, 64)});
  EXPECT_THAT(advice_from(replayed(data, {}), "mpirun -n 4"), SizeIs(0));
}

// ---- Children ----

TEST(ReportChild, HowItEndsIsKnownAlsoWhereThatIsIgnored) {
  struct sigaction before {
  }, ignored{}, after{};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignored, &before);
  {
    const Signals signals;
    EXPECT_EQ(wait_for([] { return 7; }), 7);
    // It finds what this process has found.
    EXPECT_EQ(wait_for([] {
                struct sigaction there {};
                sigaction(SIGCHLD, nullptr, &there);
                return there.sa_handler == SIG_IGN ? 3 : 4;
              }),
              3);
    EXPECT_EQ(run_quietly({"sh", "-c", "exit 5"}, "/dev/null", 60, [](int) {}), 5);
  }
  sigaction(SIGCHLD, &before, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace quadrille::tools
