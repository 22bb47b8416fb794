// How much worse what the races choose is than the best that there is: streams of calls, simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "choose/select.hpp"
#include "choose/trial.hpp"
#include "memory/node_copy.hpp"

namespace quadrille::choose {
namespace {

// A program whose calls all copy as many bytes. Orders take 0.75 to 1.3 of what the first takes, kernels 0.8 to 2 of
// what the copy through the cache takes; each call is up to 2 % longer or shorter.
class Stream {
 public:
  static constexpr std::size_t bytes = std::size_t{64} << 20, first_t = std::size_t{256} << 10;

  explicit Stream(unsigned seed) : random_(seed), orders_(2 + random_() % 4) { change(); }
  // Another phase of the program: all take something else.
  void change() {
    orders_[0] = 1;
    for (std::size_t order = 1; order < orders_.size(); ++order) orders_[order] = between(0.75, 1.3);
    for (std::size_t t = first_t; t >= 4096; t /= 2) kernels_[t] = between(0.8, 2);
    kernels_[0] = between(0.8, 2);
    kernels_[memory::all_temporal] = 1;
  }
  std::vector<Choice> candidates() const {
    return std::vector<Choice>(orders_.size(), plain(Collective::alltoall, "mpi"));
  }
  double mean(std::size_t order, std::size_t kernel) const { return 1e-3 * orders_[order] * kernels_.at(kernel); }
  double take(std::size_t order, std::size_t kernel) { return mean(order, kernel) * between(0.98, 1.02); }
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

// As calls are carried out: the trial says the order, the tuner the kernel. `in_turn`: the trial waits until the
// tuner has decided.
class Program {
 public:
  Program(unsigned seed, bool in_turn) : in_turn_(in_turn), stream_(seed), tuner_(Stream::bytes / 2, Stream::first_t) {
    trial_ = make_trial(stream_.candidates());
  }
  void change() { stream_.change(); }
  bool is_decided() const { return trial_.contest.decided() && tuner_.has_decided(Stream::bytes); }
  void call() {
    if (begin_again(trial_)) waits_ = in_turn_;
    waits_ = waits_ && !tuner_.has_decided(Stream::bytes);
    if (waits_ || trial_.contest.decided()) return static_cast<void>(take(order_));
    int candidate = begin_call(trial_, 0, now_);
    if (candidate < 0) {
      judge(trial_, times_of(trial_));
      if (trial_.contest.decided()) return static_cast<void>(take(order_ = best_of(trial_)));
      candidate = begin_call(trial_, 0, now_);
    }
    note_call(trial_, take(static_cast<std::size_t>(candidate)));
  }
  void calls(int many) {
    for (int i = 0; i < many; ++i) call();
  }
  double regret() const { return stream_.regret(order_) * stream_.regret_of_kernel(kernel()); }
  // What a call by the choice takes, and what all took.
  double mean() const { return stream_.mean(order_, kernel()); }
  double taken() const { return now_; }

 private:
  std::size_t kernel() const { return memory::StreamTuner(tuner_).next(Stream::bytes).temporal_bytes; }
  double take(std::size_t order) {
    const memory::StreamTuner::Use use = tuner_.next(Stream::bytes);
    const double taken = stream_.take(order, use.temporal_bytes);
    if (use.timed) tuner_.record(use, Stream::bytes, taken);
    now_ += taken;
    return taken;
  }

  bool in_turn_, waits_ = in_turn_;
  Stream stream_;
  memory::StreamTuner tuner_;
  Trial trial_;
  std::size_t order_ = 0;
  double now_ = 0;
};

double regret_of(unsigned seed, bool in_turn) {
  Program program(seed, in_turn);
  for (int calls = 0; calls < 2000 && !program.is_decided(); ++calls) program.call();
  return program.regret();
}

// In how many of a thousand streams the choice takes over a tenth more than the best.
int far_from_best(bool in_turn) {
  int far = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) far += regret_of(seed, in_turn) > 1.1 ? 1 : 0;
  return far;
}

// The same of a hundred streams that change after some 1,500 calls, `more` calls later.
int far_after_a_change(int more) {
  int far = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Program program(seed, true);
    program.calls(1500 + static_cast<int>(seed));
    program.change();
    program.calls(more);
    far += program.regret() > 1.1 ? 1 : 0;
  }
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
    const int candidate = begin_call(trial, 0, now);
    if (candidate < 0) {
      judge(trial, times_of(trial));
      continue;
    }
    const auto order = static_cast<std::size_t>(candidate);
    const double taken = call[order] * between(0.98, 1.02);
    note_call(trial, taken);
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

TEST(Regret, IsSmallAgainAfterTheProgramHasChanged) {
  EXPECT_GE(far_after_a_change(100), 50) << "not at once";
  EXPECT_LE(far_after_a_change(10'000), 8);
  EXPECT_LE(far_after_a_change(30'000), 2) << "a later check is of others";
}

TEST(Regret, OfTheChecksIsSmall) {
  constexpr int calls = 100'000;
  for (unsigned seed = 0; seed < 10; ++seed) {
    Program program(seed, true);
    while (!program.is_decided()) program.call();
    const double before = program.taken();
    program.calls(calls);
    EXPECT_LE((program.taken() - before) / calls, 1.01 * program.mean()) << seed;
  }
}

}  // namespace
}  // namespace quadrille::choose
