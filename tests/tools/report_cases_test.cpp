// Which recorded calls `quadrille report` makes again, and why it does not make others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "report/cases.hpp"
#include "report/graph.hpp"
#include "report_calls.hpp"

namespace quadrille::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

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

}  // namespace
}  // namespace quadrille::tools
