// How much worse what the races choose is than the best that there is: streams of calls, simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "choose/select.hpp"
#include "choose/trial.hpp"
#include "memory/stream_tuner.hpp"

namespace quadrille::choose {
namespace {

// A program whose calls all copy as many bytes. Orders take 0.75 to 1.3 of what the first takes, kernels 0.8 to 2 of
// what the copy through the cache takes; each call is up to 2 % longer or shorter.
class Stream {
 public:
  static constexpr std::size_t bytes = std::size_t{64} << 20, first_t = std::size_t{256} << 10;

  explicit Stream(unsigned seed) : random_(seed), orders_{1} {
    for (std::size_t more = 1 + random_() % 4; more > 0; --more) orders_.push_back(between(0.75, 1.3));
    for (std::size_t t = first_t; t >= 4096; t /= 2) kernels_[t] = between(0.8, 2);
    kernels_[0] = between(0.8, 2);
    kernels_[memory::all_temporal] = 1;
  }
  std::vector<Choice> candidates() const {
    return std::vector<Choice>(orders_.size(), plain(Collective::alltoall, "mpi"));
  }
  double take(std::size_t order, std::size_t kernel) {
    return 1e-3 * orders_[order] * kernels_.at(kernel) * between(0.98, 1.02);
  }
  // What a choice takes more than the best order with that kernel, and the best kernel that the search can see: it goes
  // on to the next T while that helps.
  double regret(std::size_t order) const { return orders_[order] / *std::min_element(orders_.begin(), orders_.end()); }
  double regret_of_kernel(std::size_t kernel) const { return kernels_.at(kernel) / best_seen(); }

 private:
  double between(double least, double most) {
    return least + (most - least) * static_cast<double>(random_()) / 4294967295.0;
  }
  double best_seen() const {
    double best = std::min({1.0, kernels_.at(first_t), kernels_.at(0)});
    if (best == 1.0) return best;
    for (std::size_t t = first_t / 2; t >= 4096 && kernels_.at(t) < best; t /= 2) best = kernels_.at(t);
    return best;
  }

  std::mt19937 random_;
  std::vector<double> orders_;
  std::map<std::size_t, double> kernels_;
};

// As calls are carried out: the trial's turn says the order, the tuner the kernel. `in_turn`: the trial waits until the
// tuner has decided.
double regret_of(unsigned seed, bool in_turn) {
  Stream stream(seed);
  memory::StreamTuner tuner(Stream::bytes / 2, Stream::first_t);
  Trial trial = make_trial(stream.candidates());
  double now = 0;
  const auto call = [&](std::size_t order) {
    const memory::StreamTuner::Use use = tuner.next(Stream::bytes);
    const double taken = stream.take(order, use.temporal_bytes);
    if (use.timed) tuner.record(use, Stream::bytes, taken);
    now += taken;
    return taken;
  };
  for (int calls = 0; calls < 2000 && !(trial.contest.decided() && tuner.has_decided(Stream::bytes)); ++calls) {
    if (trial.contest.decided() || (in_turn && !tuner.has_decided(Stream::bytes))) {
      call(trial.contest.decided() ? best_of(trial) : 0);
      continue;
    }
    Turn turn = begin_call(trial, 0, now);
    if (turn.candidate < 0) {
      judge(trial, times_of(trial));
      if (trial.contest.decided()) continue;
      turn = begin_call(trial, 0, now);
    }
    note_call(trial, turn, call(static_cast<std::size_t>(turn.candidate)));
  }
  return stream.regret(best_of(trial)) * stream.regret_of_kernel(tuner.next(Stream::bytes).temporal_bytes);
}

// In how many of a thousand streams the choice takes over a tenth more than the best.
int far_from_best(bool in_turn) {
  int far = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) far += regret_of(seed, in_turn) > 1.1 ? 1 : 0;
  return far;
}

// A program of which each step takes twice as long as a call, and up to `noise` longer or shorter. After some orders
// its own work takes longer than after others. Returns what the choice costs it more than the best, over what a call
// takes.
double regret_of_step(unsigned seed, double noise, bool by_steps) {
  std::mt19937 random(seed);
  const auto between = [&](double least, double most) {
    return least + (most - least) * static_cast<double>(random()) / 4294967295.0;
  };
  const std::size_t orders = 2 + random() % 4;
  std::vector<double> call{1e-3}, after{1e-3};
  while (call.size() < orders) {
    call.push_back(1e-3 * between(0.75, 1.3));
    after.push_back(1e-3 * between(0.8, 1.2));
  }
  Trial trial = make_trial(std::vector<Choice>(orders, plain(Collective::alltoall, "mpi")));
  double now = 0;
  while (!trial.contest.decided()) {
    const Turn turn = begin_call(trial, 0, now);
    if (turn.candidate < 0) {
      judge(trial, times_of(trial));
      continue;
    }
    const auto order = static_cast<std::size_t>(turn.candidate);
    const double taken = call[order] * between(0.98, 1.02);
    note_call(trial, turn, taken);
    now += taken + after[order] * between(1 - noise, 1 + noise);
  }
  const auto step = [&](std::size_t order) { return call[order] + after[order]; };
  double best = step(0);
  for (std::size_t order = 1; order < orders; ++order) best = std::min(best, step(order));
  return (step(by_steps ? best_of(trial) : trial.contest.best()) - best) / 1e-3;
}

struct Regrets {
  double mean = 0;
  int far = 0;
};
Regrets regrets_of_steps(double noise, bool by_steps) {
  constexpr unsigned streams = 1000;
  Regrets all;
  for (unsigned seed = 0; seed < streams; ++seed) {
    const double regret = regret_of_step(seed, noise, by_steps);
    all.mean += regret / streams;
    all.far += regret > 0.1 ? 1 : 0;
  }
  return all;
}

TEST(Regret, IsSmallWhereStepsAreSteady) {
  const Regrets by_steps = regrets_of_steps(0.02, true), by_calls = regrets_of_steps(0.02, false);
  EXPECT_LE(by_steps.far, 30);
  EXPECT_GE(by_calls.far, 100) << "the calls alone do not tell";
}

TEST(Regret, IsNoLargerThanByCallsWhereStepsVary) {
  for (const double noise : {0.1, 0.3}) {
    const Regrets by_steps = regrets_of_steps(noise, true), by_calls = regrets_of_steps(noise, false);
    EXPECT_LE(by_steps.mean, by_calls.mean) << noise;
    EXPECT_LE(by_steps.far, by_calls.far) << noise;
  }
}

TEST(Regret, IsSmallWhereKernelsAreRacedBeforeOrders) { EXPECT_LE(far_from_best(true), 30); }

TEST(Regret, IsLargerWhereTheyAreRacedAtOnce) { EXPECT_GE(far_from_best(false), 60); }

}  // namespace
}  // namespace quadrille::choose
