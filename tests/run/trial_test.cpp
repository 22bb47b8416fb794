#include "choose/trial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "choose/select.hpp"

namespace quadrille::choose {
namespace {

Trial trial_of(int candidates) {
  return make_trial(std::vector<Choice>(static_cast<std::size_t>(candidates), plain(Collective::alltoall, "mpi")));
}

// Runs a trial to its end, alone; `seconds(candidate, call)` of each, and what the program does after it.
template <class Seconds, class After>
std::string run(Trial& trial, Seconds seconds, After after) {
  std::string order;
  double now = 0;
  for (int call = 0; !trial.contest.decided(); ++call) {
    const int candidate = begin_call(trial, 0, now);
    if (candidate < 0) {
      judge(trial, times_of(trial));
      order += '|';
      --call;
      continue;
    }
    order += static_cast<char>('a' + candidate);
    const double taken = seconds(candidate, call);
    note_call(trial, taken);
    now += taken + after(candidate, call);
  }
  return order;
}
template <class Seconds>
std::string run(Trial& trial, Seconds seconds) {
  return run(trial, seconds, [](int, int) { return 0.0; });
}

// A visit of which the program's steps are nothing but the calls.
void judge_calls(Trial& trial, std::vector<double> calls, double unlike = 0) {
  std::vector<double> all = calls;
  all.insert(all.end(), calls.begin(), calls.end());
  all.push_back(unlike);
  judge(trial, all);
}

template <class Bytes>
void run_with_bytes(Trial& trial, Bytes bytes) {
  for (int call = 0; !trial.contest.decided(); ++call) {
    const int candidate = begin_call(trial, bytes(call), 0);
    if (candidate < 0) judge(trial, times_of(trial));
    note_call(trial, candidate == 1 ? 0.5 : 1);
  }
}

TEST(Trial, TriesEachCandidateInTurnThreeTimes) {
  Trial two = trial_of(2), three = trial_of(3);
  const auto equal = [](int, int) { return 1.0; };
  EXPECT_EQ(run(two, equal), "aaabbb|aaabbb|aaabbb|");
  EXPECT_EQ(run(three, equal), "aaabbbccc|aaabbbccc|aaabbbccc|");
  EXPECT_EQ(begin_call(two, 0, 0), -1);
  note_call(two, 99);
  EXPECT_EQ(two.contest.median(0), 1) << "no more calls count";
}

TEST(Trial, TriesShortCallsMoreOften) {
  Trial trial = trial_of(2);
  std::string all;
  for (int visit = 0; visit < Trial::visits_of_short_calls; ++visit) all += "aaabbb|";
  EXPECT_EQ(run(trial, [](int candidate, int) { return candidate == 0 ? 60e-6 : 49e-6; }), all) << "the best is short";
  EXPECT_EQ(trial.contest.best(), 1U);
  Trial longer = trial_of(2);
  EXPECT_EQ(run(longer, [](int candidate, int) { return candidate == 0 ? 60e-6 : 51e-6; }), "aaabbb|aaabbb|aaabbb|");
  Trial lost = trial_of(2);
  EXPECT_EQ(run(lost, [](int candidate, int) { return candidate == 0 ? 1e-6 : 5e-6; }), "aaabbb|") << "all others lose";
}

TEST(Trial, ShortCallsThatWereSlowAtFirstDoNotCountMuch) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return candidate == 0 && call < 18 ? 2.8e-6 : 2e-6; });
  EXPECT_EQ(trial.contest.best(), 0U);
  Trial disturbed = trial_of(2);
  run(disturbed, [](int candidate, int call) {
    return candidate == 1 && call == 30 + 4 ? 1e-3 : candidate == 1 ? 1e-6 : 2e-6;
  });
  EXPECT_EQ(disturbed.contest.best(), 1U) << "one that was disturbed late does not lose";
}

// A program's next phase must not make worthless what its first one has shown.
TEST(Trial, CallsThatDifferLateEndIt) {
  Trial trial = trial_of(2);
  const auto visit = [&](double first, double second, double unlike) { judge_calls(trial, {first, second}, unlike); };
  for (int good = 0; good < 5; ++good) visit(2e-6, 1e-6, 0);
  EXPECT_FALSE(trial.contest.decided());
  visit(1e-6, 9e-6, 1);
  EXPECT_TRUE(trial.contest.decided());
  EXPECT_TRUE(trial.were_alike);
  EXPECT_EQ(trial.contest.best(), 1U) << "by those that were alike";
  EXPECT_EQ(trial.pause.left, tuner::Pause::usual);
}

TEST(Trial, WhatHasLostStaysOutOfMoreVisits) {
  Trial trial = trial_of(3);
  const std::string order = run(trial, [](int candidate, int) { return candidate == 1 ? 1.6e-6 : 1e-6; });
  EXPECT_EQ(order.substr(0, 28), "aaabbbccc|aaabbbccc|aaaccc|a");
  EXPECT_EQ(std::count(order.begin(), order.end(), '|'), Trial::visits_of_short_calls);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'b'), 6);
}

TEST(Trial, ShortCallsThatNobodyNotedDoNotWin) {
  Trial trial = trial_of(2);
  for (int visit = 0; visit < Trial::visits_of_short_calls; ++visit)
    judge_calls(trial, {2e-6, visit < 3 ? 1e-6 : not_noted});
  EXPECT_TRUE(trial.contest.decided());
  EXPECT_EQ(trial.contest.best(), 0U);
}

TEST(Trial, IsOverInSoManyCalls) {
  for (int candidates = 2; candidates < 12; ++candidates) {
    Trial trial = trial_of(candidates);
    const std::string order = run(trial, [](int, int) { return 1e-6; });
    EXPECT_LT(static_cast<int>(order.size() - Trial::visits_of_short_calls),
              most_calls_of_trial(static_cast<std::size_t>(candidates)));
  }
}

TEST(Trial, WhatLosesIsNotTriedAgain) {
  Trial trial = trial_of(4);
  EXPECT_EQ(run(trial, [](int candidate, int) { return candidate == 1   ? 5.0
                                                       : candidate == 3 ? 1.9
                                                                        : 1.0; }),
            "aaabbbcccddd|aaacccddd|aaaccc|")
      << "less is put down to chance";
  EXPECT_EQ(trial.contest.best(), 0U);
  Trial slow_first = trial_of(3);
  EXPECT_EQ(run(slow_first, [](int candidate, int) { return candidate == 1 ? 1.0 : 5.0; }), "aaabbbccc|aaabbb|aaabbb|")
      << "the first is what the others are compared with";
  EXPECT_EQ(slow_first.contest.best(), 1U);
}

TEST(Trial, LessIsPutDownToChanceLater) {
  Trial trial = trial_of(3);
  EXPECT_EQ(run(trial, [](int candidate, int) { return candidate == 2   ? 1.4
                                                       : candidate == 1 ? 1.6
                                                                        : 1.0; }),
            "aaabbbccc|aaabbbccc|aaaccc|");
}

TEST(Trial, ThatAllOthersLoseEndsIt) {
  Trial trial = trial_of(3);
  EXPECT_EQ(run(trial, [](int candidate, int) { return candidate == 0 ? 1.0 : 3.0; }), "aaabbbccc|");
  EXPECT_EQ(trial.contest.best(), 0U);
}

TEST(Trial, WhatAllRanksTookDecides) {
  Trial trial = trial_of(2);
  for (int visit = 0; visit < Trial::visits; ++visit) judge_calls(trial, {10, 12});
  EXPECT_TRUE(trial.contest.decided());
  EXPECT_EQ(trial.contest.best(), 0U);
}

TEST(Trial, TheFirstCallOfATurnDoesNotCount) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return call % 3 == 0 ? 100.0 : candidate == 0 ? 1.0 : 1.5; });
  EXPECT_EQ(trial.contest.median(0), 1);
  EXPECT_EQ(trial.contest.median(1), 1.5);
}

TEST(Trial, OneDisturbedTurnDoesNotCountMuch) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return call == 1 ? 1000.0 : candidate == 0 ? 1.0 : 1.5; });
  EXPECT_EQ(trial.contest.median(0), 1);
  EXPECT_EQ(trial.contest.best(), 0U) << "by the shortest";
}

// What a call leaves to be waited for, the next one pays.
TEST(Trial, TheCallsOfATurnCountTogether) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return candidate == 0 && call % 3 == 2 ? 2.0 : 1.0; });
  EXPECT_EQ(trial.contest.median(0), 1.5);
  EXPECT_EQ(trial.contest.median(1), 1);
}

// An error handler may not come back: the rank stays in step, and only the time is not known.
TEST(Trial, ACallThatIsNeverNotedIsOverAllTheSame) {
  Trial trial = trial_of(2);
  std::string order;
  for (int call = 0; call < 6; ++call) {
    const int candidate = begin_call(trial, 0, call);
    order += static_cast<char>('a' + candidate);
    if (candidate == 0) note_call(trial, 1);
  }
  EXPECT_EQ(order, "aaabbb");
  EXPECT_EQ(begin_call(trial, 0, 6), -1);
  judge(trial, times_of(trial));
  EXPECT_TRUE(trial.contest.decided());
  EXPECT_EQ(trial.contest.best(), 0U) << "what nobody timed is not the fastest";
}

// `seconds[candidate]`, the same in all visits.
std::size_t best_of_times(const std::vector<double>& first, const std::vector<double>& second,
                          const std::vector<double>& third) {
  Trial trial = trial_of(static_cast<int>(first.size()));
  for (const auto* visit : {&first, &second, &third}) judge_calls(trial, *visit);
  return trial.contest.best();
}
std::size_t best_of_times(const std::vector<double>& all) { return best_of_times(all, all, all); }

TEST(Trial, ACandidateMustBeClearlyBetterThanTheFirst) {
  EXPECT_EQ(best_of_times({10, 9.5}), 0U);
  EXPECT_EQ(best_of_times({10, 8.5}), 1U);
  EXPECT_EQ(best_of_times({10, 8.5, 8}), 2U);
  EXPECT_EQ(best_of_times({10, 8, 8.5}), 1U);
  EXPECT_EQ(best_of_times({10, 15, 19}), 0U);
}

TEST(Trial, RanksThatShareProcessorsWantMoreOfIt) {
  for (const bool crowded : {false, true}) {
    Trial trial = make_trial(std::vector<Choice>(2, plain(Collective::alltoall, "mpi")), crowded);
    for (int visit = 0; visit < Trial::visits; ++visit) judge_calls(trial, {10, 8.5});
    EXPECT_EQ(trial.contest.best(), crowded ? 0U : 1U);
  }
}

TEST(Trial, AlsoByTheTurnsThatNobodyDisturbed) {
  EXPECT_EQ(best_of_times({10, 9.5}, {100, 60}, {100, 60}), 0U);
  EXPECT_EQ(best_of_times({10, 9.5, 5}, {100, 60, 61}, {100, 60, 61}), 2U);
}

// The second candidate's calls are the shorter ones, and the program reads longer what they bring.
TEST(Trial, WhatACallLeavesToTheProgramCounts) {
  const auto calls = [](int candidate, int) { return candidate == 0 ? 100e-6 : 80e-6; };
  Trial trial = trial_of(2);
  run(trial, calls, [](int candidate, int) { return candidate == 0 ? 50e-6 : 90e-6; });
  EXPECT_TRUE(steps_tell(trial));
  EXPECT_EQ(trial.contest.best(), 1U) << "by the calls alone";
  EXPECT_EQ(best_of(trial), 0U);
  Trial better = trial_of(2);
  run(
      better, [](int candidate, int) { return candidate == 0 ? 100e-6 : 110e-6; },
      [](int candidate, int) { return candidate == 0 ? 90e-6 : 40e-6; });
  EXPECT_EQ(better.contest.best(), 0U);
  EXPECT_EQ(best_of(better), 1U);
  EXPECT_NEAR(better.steps.median(1), 60e-6, 1e-9) << "what its steps take less than those of the first";
}

TEST(Trial, StepsThatVaryTellNothing) {
  const auto calls = [](int candidate, int) { return candidate == 0 ? 100e-6 : 80e-6; };
  Trial trial = trial_of(2);
  std::mt19937 random(3);
  run(trial, calls,
      [&](int candidate, int) { return (candidate == 0 ? 50e-6 : 90e-6) + 60e-6 * (random() % 1000) / 1000.0; });
  EXPECT_FALSE(steps_tell(trial));
  EXPECT_EQ(best_of(trial), 1U) << "by the calls";
  // A program that computes a hundred times as long, and not always equally long.
  Trial busy = trial_of(2);
  run(busy, calls, [&](int, int) { return 10e-3 * (0.98 + 0.04 * (random() % 1000) / 1000.0); });
  EXPECT_FALSE(steps_tell(busy));
  EXPECT_EQ(best_of(busy), 1U);
}

double up_to(double most, std::mt19937& random) { return most * static_cast<double>(random() % 1000) / 1000; }

// One order by two ways: what the way leaves in the caches is what it is for.
Trial trial_of_ways() {
  std::vector<Choice> ways(2, plain(Collective::alltoall, "single-copy"));
  EXPECT_EQ(parse_choice(Collective::alltoall, "single-copy:way=rings", ways[1]), "");
  return make_trial(ways);
}

TEST(Trial, AWayThatTakesLongerWinsByItsSteps) {
  Trial trial = trial_of_ways();
  // By its calls it would be out after a visit.
  run(
      trial, [](int candidate, int) { return candidate == 0 ? 100e-6 : 220e-6; },
      [](int candidate, int) { return candidate == 0 ? 300e-6 : 120e-6; });
  EXPECT_EQ(best_of(trial), 1U);
}

TEST(Trial, AWayDoesNotWinByCallsAlone) {
  std::mt19937 random(3);
  const auto calls = [](int candidate, int) { return candidate == 0 ? 100e-6 : 60e-6; };
  Trial trial = trial_of_ways();
  run(trial, calls, [&](int, int) { return 10e-3 * (0.98 + 0.04 * (random() % 1000) / 1000.0); });
  EXPECT_EQ(best_of(trial), 0U) << "what a program computes between calls varies more";
  Trial idle = trial_of_ways();
  run(idle, calls);
  EXPECT_EQ(best_of(idle), 1U) << "steps that are nothing but the calls";
}

TEST(Trial, AWayThatVariesIsRacedAgainSoon) {
  const auto calls = [](int candidate, int) { return candidate == 0 ? 100e-6 : 60e-6; };
  std::mt19937 random(3);
  Trial trial = trial_of_ways();
  run(trial, calls, [&](int, int) { return up_to(3e-3, random); });
  EXPECT_EQ(best_of(trial), 0U);
  EXPECT_EQ(trial.pause.left, tuner::Pause::if_nothing_was_found);
  while (!begin_again(trial)) {
  }
  run(trial, calls);
  EXPECT_EQ(best_of(trial), 1U);
  EXPECT_EQ(trial.pause.left, tuner::Pause::usual);
}

TEST(Trial, AWayThatVariesDoesNotHoldTheOthersUp) {
  std::vector<Choice> all(2, plain(Collective::alltoall, "single-copy"));
  EXPECT_EQ(parse_choice(Collective::alltoall, "single-copy:way=rings", all[1]), "");
  all.push_back(plain(Collective::alltoall, "mpi"));
  Trial trial = make_trial(all);
  std::mt19937 random(3);
  run(
      trial, [](int candidate, int) { return candidate == 2 ? 50e-6 : 100e-6; },
      [&](int, int) { return up_to(3e-3, random); });
  EXPECT_EQ(best_of(trial), 2U);
}

TEST(Trial, StepsThatNobodyNotedTellNothing) {
  Trial trial = trial_of(2);
  for (int visit = 0; visit < Trial::visits; ++visit) judge(trial, std::vector<double>{10, 8, not_noted, not_noted, 0});
  EXPECT_FALSE(steps_tell(trial));
  EXPECT_EQ(best_of(trial), 1U);
}

TEST(Trial, CallsThatMoveDifferentAmountsCompareNothing) {
  Trial trial = trial_of(2);
  run_with_bytes(trial, [](int call) { return call == 5 ? 200000 : 100000; });
  EXPECT_FALSE(trial.were_alike);
  EXPECT_EQ(trial.contest.visit(), 1) << "and need not go on";
  EXPECT_EQ(best_of(trial), 0U);
  Trial small = trial_of(2);
  run_with_bytes(small, [](int call) { return call % 2 == 0 ? 8 : 64; });
  EXPECT_TRUE(small.were_alike) << "a few bytes";
  EXPECT_EQ(small.contest.best(), 1U);
}

// The calls after which it begins again, of so many.
template <class Run>
std::vector<int> calls_between(Trial& trial, int calls, Run run_to_the_end) {
  std::vector<int> all;
  for (int call = 0, last = -1; call < calls; ++call) {
    if (!begin_again(trial)) continue;
    all.push_back(call - last - 1);
    last = call;
    run_to_the_end(trial);
  }
  return all;
}

TEST(Trial, IsBegunAgainLaterIfItsCallsDiffered) {
  const auto differ = [](Trial& trial) { run_with_bytes(trial, [](int one) { return one == 1 ? 200000 : 100000; }); };
  Trial trial = trial_of(2);
  differ(trial);
  EXPECT_EQ(calls_between(trial, 10'000, differ), (std::vector<int>{64, 256, 1024, 4096}));
  Trial later = trial_of(2);
  differ(later);
  for (int i = 0; i < tuner::Pause::if_nothing_was_found; ++i) EXPECT_FALSE(begin_again(later));
  EXPECT_TRUE(begin_again(later));
  EXPECT_FALSE(later.contest.decided());
  run_with_bytes(later, [](int) { return 100000; });
  EXPECT_EQ(later.contest.best(), 1U);
  for (int i = 0; i < tuner::Pause::usual; ++i) EXPECT_FALSE(begin_again(later)) << "what is known is kept";
  EXPECT_TRUE(begin_again(later));
}

// By candidate.
using Seconds = std::vector<double>;
std::string run_by(Trial& trial, const Seconds& seconds) {
  return run(trial, [&](int candidate, int) { return seconds[static_cast<std::size_t>(candidate)]; });
}
// Makes calls up to the next check; false if there is none.
bool reaches_check(Trial& trial) {
  for (int calls = 0; calls < 1'000'000; ++calls) {
    if (begin_again(trial)) return true;
  }
  return false;
}
std::string check_by(Trial& trial, const Seconds& seconds) {
  return reaches_check(trial) ? run_by(trial, seconds) : "no check";
}

TEST(Trial, WhatWasFoundIsCheckedLessAndLess) {
  Trial trial = trial_of(4);
  const Seconds seconds = {8, 9, 6, 7};
  std::string checks;
  const auto again = [&](Trial& one) {
    checks += run_by(one, seconds);
    EXPECT_EQ(best_of(one), 2U);
  };
  run_by(trial, seconds);
  EXPECT_EQ(calls_between(trial, 100'000, again), (std::vector<int>{4096, 16384, 65536}));
  EXPECT_EQ(checks, "aaacccddd|aaacccddd|aaacccddd|aaabbbccc|aaabbbccc|aaabbbccc|aaacccddd|aaacccddd|aaacccddd|")
      << "the first, the winner, and another in turn";
  Trial first = trial_of(6);
  run_by(first, {10, 13, 9.5, 11, 12, 14});
  EXPECT_EQ(check_by(first, {10, 13, 9.5, 11, 12, 14}).substr(0, 10), "aaacccddd|") << "the first has won";
  EXPECT_EQ(check_by(first, {10, 13, 9.5, 11, 12, 14}).substr(0, 10), "aaabbbeee|");
  EXPECT_EQ(check_by(first, {10, 13, 9.5, 11, 12, 14}).substr(0, 10), "aaacccfff|");
}

TEST(Trial, TheWinnerStaysUnlessACheckShowsAClearlyBetterOne) {
  Trial trial = trial_of(3);
  run_by(trial, {10, 8, 9});
  EXPECT_EQ(check_by(trial, {10, 8, 7.5}), "aaabbbccc|aaabbbccc|aaabbbccc|");
  EXPECT_EQ(best_of(trial), 1U);
  check_by(trial, {9.8, 10, 10.5});
  EXPECT_EQ(best_of(trial), 1U) << "also against the first";
}

TEST(Trial, ThatAnotherWinsACheckBeginsARaceOfAll) {
  Trial trial = trial_of(4);
  run_by(trial, {10, 8, 9, 15});
  EXPECT_EQ(check_by(trial, {10, 12, 8, 5}), "aaabbbccc|aaabbbccc|aaabbbccc|aaabbbcccddd|aaacccddd|aaaddd|");
  EXPECT_EQ(best_of(trial), 3U) << "which the check left out";
  EXPECT_EQ(check_by(trial, {10, 12, 8, 5}).substr(0, 10), "aaacccddd|");
}

TEST(Trial, ACheckOfCallsThatDifferChangesNothing) {
  Trial trial = trial_of(3);
  run_by(trial, {10, 8, 9});
  ASSERT_TRUE(reaches_check(trial));
  judge_calls(trial, {1, 8, 9}, 1);
  EXPECT_TRUE(trial.contest.decided());
  EXPECT_EQ(best_of(trial), 1U);
  EXPECT_EQ(check_by(trial, {10, 8, 9}), "aaabbbccc|aaabbbccc|aaabbbccc|") << "the same ones";
}

TEST(Trial, ChecksWhatItTookOver) {
  const Seconds seconds = {8, 9, 6, 7};
  Trial trial = trial_of(4);
  take_over(trial, 2);
  EXPECT_TRUE(trial.contest.decided());
  for (int i = 0; i < tuner::Pause::usual; ++i) ASSERT_FALSE(begin_again(trial));
  EXPECT_EQ(check_by(trial, seconds).substr(0, 10), "aaabbbccc|") << "the first, another, and what was taken over";
  EXPECT_EQ(best_of(trial), 2U);
  EXPECT_EQ(check_by(trial, seconds).substr(0, 10), "aaacccddd|");
  Trial wrong = trial_of(4);
  take_over(wrong, 1);
  const std::string checked = check_by(wrong, seconds);
  EXPECT_EQ(checked.substr(0, 10), "aaabbbccc|");
  EXPECT_NE(checked.find("aaabbbcccddd|"), std::string::npos) << "another has won: all race";
  EXPECT_EQ(best_of(wrong), 2U);
  Trial first = trial_of(2);
  take_over(first, 0);
  EXPECT_EQ(check_by(first, {8, 9}).substr(0, 7), "aaabbb|");
  EXPECT_EQ(best_of(first), 0U);
}

TEST(Trial, CallsOfWhatATableSaysGoOnForEver) {
  Trial trial = trial_of(2);
  trial.contest.end();
  for (int calls = 0; calls < 100'000; ++calls) ASSERT_FALSE(begin_again(trial));
  EXPECT_EQ(trial.pause.left, 0);
}

TEST(Trial, CallsAreCountedTogether) {
  Trial trial = trial_of(2);
  run_by(trial, {10, 8});
  EXPECT_FALSE(begin_again(trial, tuner::Pause::usual - 1));
  EXPECT_FALSE(begin_again(trial, 100)) << "the last of them";
  EXPECT_TRUE(begin_again(trial, 100));
}

TEST(LoadClass, IsAskedLessAndLessWhileItStays) {
  Asking load;
  std::vector<int> asked;
  for (int call = 0; call < 400; ++call) {
    if (!must_ask(load)) continue;
    EXPECT_EQ(note_class(load, load_class_of(1000)), asked.empty()) << "the first is new";
    asked.push_back(call);
  }
  EXPECT_LT(asked.size(), 30U);
  EXPECT_LE(asked[1], 2);
  for (std::size_t i = 1; i < asked.size(); ++i) EXPECT_LE(asked[i] - asked[i - 1], most_unasked_of_class + 1);
  EXPECT_TRUE(note_class(load, load_class_of(1e6)));
  EXPECT_LE(load.unasked, 1) << "what changed may change again";
  EXPECT_FALSE(note_class(load, load_class_of(1.1e6)));
}

TEST(LoadClass, IsHardlyAskedWithNothingToTry) {
  Asking load;
  int last = 0, asks = 0;
  for (int call = 0; call < 10000; ++call) {
    if (!must_ask(load)) continue;
    note_class(load, load_class_of(8), most_unasked_of_settled_class);
    EXPECT_LE(call - last, most_unasked_of_settled_class + 1);
    last = call, ++asks;
  }
  EXPECT_LT(asks, 40);
  note_class(load, load_class_of(1e6));
  EXPECT_LE(load.unasked, 1) << "what changed may change again";
}

TEST(LoadClass, IsHardlyAskedWhereSmallAndLargeOnesComeByTurns) {
  Asking load;
  int asks = 0, changes = 0;
  for (int call = 0; call < 10000; ++call) {
    if (!must_ask(load)) continue;
    ++asks;
    if (note_class_to_keep(load, load_class_of(call % 2 == 0 ? 8 : 1e6), most_unasked_of_class)) ++changes;
  }
  EXPECT_LT(asks, 500);
  EXPECT_GT(changes, 10) << "at first each is followed";
  load.unasked = 0;
  int left = 100;
  while (left-- > 0 && load.now != load_class_of(1e9)) note_class_to_keep(load, load_class_of(1e9), 0);
  EXPECT_GT(left, 0) << "what stays is followed";
}

TEST(LoadClass, TellsWhetherBlocksMayBeLarge) {
  const std::size_t most = bytes_of_load_class(1).to / 16;  // of 8 blocks each way
  EXPECT_TRUE(may_have_large_blocks(1, 8, most - 1));
  EXPECT_FALSE(may_have_large_blocks(1, 8, most));
  EXPECT_TRUE(may_have_large_blocks(2, 8, most));
  EXPECT_FALSE(may_have_large_blocks(0, 8, 1024)) << "little is moved";
  EXPECT_FALSE(may_have_large_blocks(2, 64, 4096)) << "by many ranks";
}

// Each number of bytes lies in the range of its class, and in no other.
TEST(Classes, AreRangesOfBytes) {
  const auto check = [](const char* what, std::size_t most, auto number_of, auto range_of) {
    for (std::size_t bytes = 1; bytes <= most; bytes += 1 + bytes / 1000) {
      const int number = number_of(bytes);
      const Bytes range = range_of(number);
      ASSERT_LE(range.from, bytes) << what;
      ASSERT_GE(range.to, bytes) << what;
      ASSERT_EQ(number_of(range.from), number) << what << " of " << bytes;
      ASSERT_EQ(number_of(range.to), number) << what << " of " << bytes;
      ASSERT_NE(number_of(range.to + 1), number) << what << " of " << bytes;
    }
  };
  check("size", std::size_t{1} << 33, size_class_of, bytes_of_size_class);
  check(
      "load", std::size_t{1} << 38, [](std::size_t b) { return load_class_of(static_cast<double>(b)); },
      bytes_of_load_class);
  EXPECT_GT(bytes_of_size_class(1).from, bytes_of_size_class(1).to) << "between one byte and two";
  EXPECT_GT(bytes_of_size_class(size_class_of(0)).from, bytes_of_size_class(size_class_of(0)).to);
}

TEST(LoadClass, HoldsLoadsOfOneKind) {
  EXPECT_EQ(load_class_of(0), load_class_of(8192));
  EXPECT_NE(load_class_of(8192), load_class_of(100000));
  EXPECT_EQ(load_class_of(20000), load_class_of(30000));
  EXPECT_NE(load_class_of(1e6), load_class_of(4.1e6));
}

}  // namespace
}  // namespace quadrille::choose
