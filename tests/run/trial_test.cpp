#include "choose/trial.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "choose/select.hpp"

namespace quadrille::choose {
namespace {

Trial trial_of(int candidates) {
  return make_trial(std::vector<Choice>(static_cast<std::size_t>(candidates), plain(Collective::alltoall, "mpi")));
}

// Runs a trial to its end; `seconds(candidate, call)` of each.
template <class Seconds>
std::string run(Trial& trial, Seconds seconds) {
  std::string order;
  for (int call = 0;; ++call) {
    const Turn turn = begin_call(trial, 0);
    if (turn.candidate < 0) return order;
    order += static_cast<char>('a' + turn.candidate);
    note_call(trial, turn, seconds(turn.candidate, call));
  }
}

template <class Bytes>
void run_with_bytes(Trial& trial, Bytes bytes) {
  for (int call = 0;; ++call) {
    const Turn turn = begin_call(trial, bytes(call));
    if (turn.candidate < 0) return;
    note_call(trial, turn, 1);
  }
}

TEST(Trial, TriesEachCandidateInTurnThreeTimes) {
  Trial two = trial_of(2), three = trial_of(3);
  const auto equal = [](int, int) { return 1.0; };
  EXPECT_EQ(run(two, equal), "aaaaaabbbbbbaaaaaabbbbbbaaaaaabbbbbb");
  EXPECT_EQ(run(three, equal), "aaaaaabbbbbbccccccaaaaaabbbbbbccccccaaaaaabbbbbbcccccc");
  const Turn late = begin_call(two, 0);
  EXPECT_EQ(late.candidate, -1);
  note_call(two, late, 99);
  EXPECT_EQ(times_of(two), (std::vector<double>{1, 1, 1, 1, 1})) << "no more calls count";
}

TEST(Trial, TheFirstCallOfATurnDoesNotCount) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return call % 6 == 0 ? 100.0 : candidate + 1.0; });
  EXPECT_EQ(times_of(trial), (std::vector<double>{1, 2, 1, 2, 1}));
}

TEST(Trial, OneDisturbedTurnDoesNotCountMuch) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return call == 1 ? 1000.0 : candidate + 1.0; });
  EXPECT_EQ(times_of(trial), (std::vector<double>{1, 2, 1, 2, 1}));
}

// What a call leaves to be waited for, the next one pays.
TEST(Trial, TheCallsOfATurnCountTogether) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return candidate == 0 && call % 6 == 2 ? 10.0 : 1.0; });
  EXPECT_EQ(times_of(trial), (std::vector<double>{14.0 / 5, 1, 14.0 / 5, 1, 1}));
}

// An error handler may not come back: the rank stays in step, and only the time is not known.
TEST(Trial, ACallThatIsNeverNotedIsOverAllTheSame) {
  Trial trial = trial_of(2);
  std::string order;
  for (int call = 0; call < 36; ++call) {
    const Turn turn = begin_call(trial, 0);
    order += static_cast<char>('a' + turn.candidate);
    if (turn.candidate == 0) note_call(trial, turn, 1);
  }
  EXPECT_EQ(order, "aaaaaabbbbbbaaaaaabbbbbbaaaaaabbbbbb");
  EXPECT_EQ(begin_call(trial, 0).candidate, -1);
  EXPECT_EQ(verdict_of(times_of(trial)).best, 0U) << "what nobody timed is not the fastest";
}

std::size_t best_of(std::vector<double> medians, const std::vector<double>& shortest) {
  medians.insert(medians.end(), shortest.begin(), shortest.end());
  medians.push_back(1);
  return verdict_of(medians).best;
}

TEST(Trial, ACandidateMustBeClearlyBetterThanTheFirst) {
  EXPECT_EQ(best_of({10, 9.5}, {10, 5}), 0U);
  EXPECT_EQ(best_of({10, 8.5}, {10, 8.5}), 1U);
  EXPECT_EQ(best_of({10, 8.5, 8}, {10, 8.5, 8}), 2U);
  EXPECT_EQ(best_of({10, 8, 8.5}, {10, 8, 8.5}), 1U);
  EXPECT_EQ(best_of({10, 20, 30}, {10, 20, 30}), 0U);
}

TEST(Trial, AlsoByTheTurnsThatNobodyDisturbed) {
  EXPECT_EQ(best_of({100, 20}, {10, 9.5}), 0U);
  EXPECT_EQ(best_of({100, 20, 30}, {10, 9.5, 5}), 2U);
}

TEST(Trial, CallsThatMoveDifferentAmountsCompareNothing) {
  Trial trial = trial_of(2);
  run_with_bytes(trial, [](int call) { return call == 5 ? 200000 : 100000; });
  EXPECT_GT(times_of(trial).back(), Trial::alike);
  const Verdict verdict = verdict_of(std::vector<double>{10, 1, 10, 1, times_of(trial).back()});
  EXPECT_EQ(verdict.best, 0U);
  EXPECT_FALSE(verdict.alike);
  Trial small = trial_of(2);
  run_with_bytes(small, [](int call) { return call % 2 == 0 ? 8 : 64; });
  EXPECT_LT(times_of(small).back(), Trial::alike) << "a few bytes";
  EXPECT_TRUE(verdict_of(std::vector<double>{10, 1, 10, 1, times_of(small).back()}).alike);
}

}  // namespace
}  // namespace quadrille::choose
