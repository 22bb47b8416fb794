#include "tuner/contest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace quadrille::tuner {
namespace {

// Measures until it is decided; `time(way, visit)`. Returns the order of the ways.
template <class Time>
std::string run(Contest& contest, Time time) {
  std::string order;
  while (!contest.decided()) {
    const int visit = contest.visit();
    for (std::size_t turn = 0; contest.in_turn(turn) < contest.ways(); ++turn) {
      const std::size_t way = contest.in_turn(turn);
      order += static_cast<char>('a' + way);
      contest.note(way, time(way, visit));
    }
    contest.end_visit();
    order += '|';
  }
  return order;
}

TEST(Contest, VisitsAllWaysInTurn) {
  Contest contest(3, {2, Counts::least});
  EXPECT_EQ(run(contest, [](std::size_t way, int) { return 3.0 - static_cast<double>(way); }), "abc|abc|");
  EXPECT_EQ(contest.best(), 2U);
  contest.note(0, 0);
  EXPECT_EQ(contest.least(0), 3) << "it is over";
  Contest alone(1, {2, Counts::least});
  EXPECT_TRUE(alone.decided());
  EXPECT_EQ(alone.best(), 0U);
  EXPECT_EQ(alone.least(0), never);
  // Who measures it all the same, as `quadrille tune` where all others were left out, asks for its time.
  alone.note(0, 3);
  alone.end_visit();
  EXPECT_EQ(alone.median(0), 3);
  EXPECT_EQ(alone.best(), 0U);
}

TEST(Contest, WhatLosesIsNotMeasuredAgain) {
  const Rules rules{4, Counts::both, 1, {2, 1.5}};
  Contest contest(4, rules);
  const double times[] = {1, 2.1, 1.6, 1.4};
  EXPECT_EQ(run(contest, [&](std::size_t way, int) { return times[way]; }), "abcd|acd|ad|ad|");
  EXPECT_EQ(contest.best(), 0U);
  Contest others(3, rules);
  EXPECT_EQ(run(others, [](std::size_t way, int) { return way == 0 ? 1.0 : 9.0; }), "abc|")
      << "the first alone is left";
  Contest first(2, rules);
  EXPECT_EQ(run(first, [](std::size_t way, int) { return way == 0 ? 9.0 : 1.0; }), "ab|ab|ab|ab|")
      << "it does not lose";
  EXPECT_EQ(first.best(), 1U);
}

// Whoever notes a time for each way has none for those that did not run.
TEST(Contest, TimesOfWhatHasLostDoNotCount) {
  Contest contest(3, {4, Counts::both, 1, {2, 1.5}});
  for (int visit = 0; !contest.decided(); ++visit) {
    contest.note(0, 1);
    contest.note(1, visit == 0 ? 9 : 0);
    contest.note(2, 1.1);
    contest.end_visit();
  }
  EXPECT_EQ(contest.least(1), 9);
  EXPECT_EQ(contest.best(), 0U);
}

std::size_t best(const Rules& rules, const std::vector<std::vector<double>>& times) {
  Contest contest(times.size(), rules);
  run(contest, [&](std::size_t way, int visit) { return times[way][static_cast<std::size_t>(visit)]; });
  return contest.best();
}

TEST(Contest, AnotherWayMustBeBetterByAMarginInAllThatCounts) {
  EXPECT_EQ(best({1, Counts::least, 0.9}, {{10}, {9}}), 0U);
  EXPECT_EQ(best({1, Counts::least, 0.9}, {{10}, {8.9}}), 1U);
  EXPECT_EQ(best({1, Counts::least, 0.9}, {{10}, {8.9}, {8.8}}), 2U);
  EXPECT_EQ(best({1, Counts::least}, {{10}, {10}}), 0U) << "no better";
  const std::vector<std::vector<double>> by_median = {{5, 10, 10}, {6, 6, 6}}, by_least = {{6, 6, 7}, {5, 9, 9}};
  EXPECT_EQ(best({3, Counts::median}, by_median), 1U);
  EXPECT_EQ(best({3, Counts::least}, by_median), 0U);
  EXPECT_EQ(best({3, Counts::both}, by_median), 0U);
  EXPECT_EQ(best({3, Counts::median}, by_least), 0U);
  EXPECT_EQ(best({3, Counts::least}, by_least), 1U);
  EXPECT_EQ(best({3, Counts::both}, by_least), 0U);
  EXPECT_EQ(best({3, Counts::both}, {{6, 6, 7}, {5, 5, 9}}), 1U);
}

TEST(Contest, WhatIsNoNumberIsNotTheBest) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(best({2, Counts::both}, {{1, 1}, {nothing, nothing}}), 0U);
  EXPECT_EQ(best({2, Counts::least, 1, {2, 2}}, {{nothing, never}, {1, 1}}), 1U);
  EXPECT_EQ(best({2, Counts::least, 1, {2, 2}}, {{nothing, nothing}, {nothing, never}}), 0U);
  EXPECT_EQ(best({1, Counts::both}, {{0}, {0}}), 0U);
  EXPECT_EQ(best({2, Counts::median}, {{0, 5}, {0, 1}}), 1U) << "nothing has lost where the best took no time";
}

TEST(Contest, TheMiddleHalfOfTheTimes) {
  Contest contest(2, {9, Counts::both});
  EXPECT_EQ(contest.middle_half(0), never);
  for (const double time : {4, 1, 2}) contest.note(0, time);
  EXPECT_EQ(contest.middle_half(0), 1.5) << "from 1.5 to 3";
  for (const double time : {9, 1, 2, 3, 4, 5, 6, 7, 100}) contest.note(1, time);
  EXPECT_EQ(contest.middle_half(1), 4) << "from 3 to 7";
}

TEST(Contest, EndedItGoesByWhatWasMeasured) {
  Contest contest(2, {3, Counts::least});
  contest.note(0, 9);
  contest.note(1, 1);
  contest.end_visit();
  EXPECT_EQ(contest.best(), 1U) << "so far";
  contest.end();
  EXPECT_TRUE(contest.decided());
  contest.note(0, 0.5);
  EXPECT_EQ(contest.best(), 1U) << "it is over";
}

TEST(Contest, OfSomeWaysTheFirstOfThemStays) {
  const std::vector<std::size_t> racing = {2, 0};
  const auto best = [&](const std::vector<double>& times) {
    Contest contest(4, {2, Counts::least, 0.9, {2, 2}}, racing);
    EXPECT_EQ(run(contest, [&](std::size_t way, int) { return times[way]; }), "ac|ac|");
    return contest.best();
  };
  EXPECT_EQ(best({9.5, 1, 10, 1}), 2U);
  EXPECT_EQ(best({8, 1, 10, 1}), 0U);
  Contest lost(4, {2, Counts::least, 0.9, {2, 2}}, racing);
  EXPECT_EQ(run(lost, [](std::size_t way, int) { return way == 0 ? 9.0 : 1.0; }), "ac|") << "no rival is left";
  EXPECT_EQ(lost.best(), 2U);
}

TEST(Pause, IsFourTimesAsLongEachTime) {
  Pause pause;
  EXPECT_FALSE(pause.is_over(1)) << "nothing was decided";
  pause.begin(2);
  EXPECT_FALSE(pause.is_over(1));
  EXPECT_FALSE(pause.is_over(5)) << "also of calls counted together";
  EXPECT_TRUE(pause.is_over(1));
  pause.begin(2);
  EXPECT_EQ(pause.left, 8);
  pause.begin(50);
  EXPECT_EQ(pause.left, 50);
  for (int time = 0; time < 40; ++time) pause.begin(2);
  EXPECT_EQ(pause.left, Pause::longest);
}

// Whatever is disturbed: what takes a tenth wins, unless its visits were all disturbed.
TEST(Contest, ADisturbanceChangesLittle) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const std::size_t ways = 2 + random() % 5, fast = random() % ways;
    const int disturbed = static_cast<int>(random() % 3);
    Contest contest(ways, {3, Counts::both, 0.9});
    run(contest, [&](std::size_t way, int visit) {
      return (way == fast ? 1.0 : 10.0) + (visit == disturbed ? static_cast<double>(random() % 100) : 0.0);
    });
    ASSERT_EQ(contest.best(), fast);
  }
}

// ---- From measured times to a switch point ----

using Times = std::vector<double>;

TEST(BestCut, IsWhereTheWaysCross) {
  EXPECT_EQ(best_cut(Times{1, 2, 4, 8}, Times{2, 3, 3, 4}), 2U);
  EXPECT_EQ(best_cut(Times{1, 2}, Times{2, 3}), 2U) << "the first way always";
  EXPECT_EQ(best_cut(Times{3, 4}, Times{2, 3}), 0U) << "never";
  EXPECT_EQ(best_cut(Times{}, Times{}), 0U);
}

TEST(BestCut, OneDisturbedMeasurementDoesNotMoveIt) {
  EXPECT_EQ(best_cut(Times{1, 1, 1, 1, 9, 9}, Times{2, 2, 0.9, 2, 2, 2}), 4U);
  EXPECT_EQ(best_cut(Times{1, 1, 9, 9, 9, 9}, Times{2, 2, 2, 2, 9.5, 2}), 2U);
}

TEST(BestCut, OfEqualWaysTheFirst) { EXPECT_EQ(best_cut(Times{1, 2, 3}, Times{1, 2, 3}), 3U); }

TEST(BestCut, AsSizes) {
  const std::vector<std::size_t> sizes = {100, 200, 300};
  EXPECT_EQ(largest_of_first(sizes, 0, 4096), 99U);
  EXPECT_EQ(largest_of_first(sizes, 2, 4096), 200U);
  EXPECT_EQ(largest_of_first(sizes, 3, 4096), 4096U);
  EXPECT_EQ(largest_of_first({}, 0, 4096), 4096U);
  EXPECT_EQ(least_of_second(sizes, 0), 0U);
  EXPECT_EQ(least_of_second(sizes, 1), 200U);
  EXPECT_EQ(least_of_second(sizes, 3), 301U);
}

TEST(BestCut, TimesThatWereNotMeasuredDoNotCount) { EXPECT_EQ(best_cut(Times{1, 0, 9}, Times{2, 5, 2}), 2U); }

}  // namespace
}  // namespace quadrille::tuner
