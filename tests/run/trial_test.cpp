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
    const int candidate = candidate_of_next_call(trial);
    if (candidate < 0) return order;
    order += static_cast<char>('a' + candidate);
    note_call(trial, seconds(candidate, call), 0);
  }
}

TEST(Trial, TriesEachCandidateInTurnTwice) {
  Trial two = trial_of(2), three = trial_of(3);
  const auto equal = [](int, int) { return 1.0; };
  EXPECT_EQ(run(two, equal), "aaabbbaaabbb");
  EXPECT_EQ(run(three, equal), "aaabbbcccaaabbbccc");
  EXPECT_EQ(candidate_of_next_call(two), -1);
  note_call(two, 99, 0);
  EXPECT_EQ(times_of(two), (std::vector<double>{1, 1, 1})) << "no more calls count";
}

TEST(Trial, TheFirstCallOfATurnDoesNotCount) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return call % 3 == 0 ? 100.0 : candidate + 1.0; });
  EXPECT_EQ(times_of(trial), (std::vector<double>{1, 2, 1}));
}

TEST(Trial, OneDisturbedCallDoesNotCountMuch) {
  Trial trial = trial_of(2);
  run(trial, [](int candidate, int call) { return call == 1 ? 1000.0 : candidate + 1.0; });
  EXPECT_EQ(times_of(trial)[0], 1);
}

TEST(Trial, ACandidateMustBeClearlyBetterThanTheFirst) {
  EXPECT_EQ(verdict_of(std::vector<double>{10, 9.5, 1}).best, 0U);
  EXPECT_EQ(verdict_of(std::vector<double>{10, 8.5, 1}).best, 1U);
  EXPECT_EQ(verdict_of(std::vector<double>{10, 8.5, 8, 1}).best, 2U);
  EXPECT_EQ(verdict_of(std::vector<double>{10, 8, 8.5, 1}).best, 1U);
  EXPECT_EQ(verdict_of(std::vector<double>{10, 20, 30, 1}).best, 0U);
}

TEST(Trial, CallsThatMoveDifferentAmountsCompareNothing) {
  Trial trial = trial_of(2);
  for (int call = 0; candidate_of_next_call(trial) >= 0; ++call) note_call(trial, 1, call == 5 ? 200000 : 100000);
  EXPECT_GT(times_of(trial).back(), Trial::alike);
  const Verdict verdict = verdict_of(std::vector<double>{10, 1, times_of(trial).back()});
  EXPECT_EQ(verdict.best, 0U);
  EXPECT_FALSE(verdict.alike);
  Trial small = trial_of(2);
  for (int call = 0; candidate_of_next_call(small) >= 0; ++call) note_call(small, 1, call % 2 == 0 ? 8 : 64);
  EXPECT_LT(times_of(small).back(), Trial::alike) << "a few bytes";
  EXPECT_TRUE(verdict_of(std::vector<double>{10, 1, times_of(small).back()}).alike);
}

}  // namespace
}  // namespace quadrille::choose
