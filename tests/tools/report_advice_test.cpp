// What `quadrille report` makes of calls that it has made again, and what it advises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "report/advice.hpp"
#include "report/again.hpp"
#include "report/cases.hpp"
#include "report_calls.hpp"

namespace quadrille::tools {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

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

}  // namespace
}  // namespace quadrille::tools
