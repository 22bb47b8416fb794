#include "choose/trial.hpp"

#include <algorithm>
#include <utility>

namespace quadrille::choose {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace

Trial make_trial(std::vector<Choice> candidates) {
  Trial trial;
  trial.seconds.resize(candidates.size());
  trial.candidates = std::move(candidates);
  return trial;
}

int candidate_of_next_call(const Trial& trial) {
  const auto count = static_cast<int>(trial.candidates.size());
  const int turn = trial.calls / Trial::calls_in_turn;
  return turn < Trial::visits * count ? turn % count : -1;
}

void note_call(Trial& trial, double seconds, double bytes) {
  const int candidate = candidate_of_next_call(trial);
  if (candidate < 0) return;
  trial.least_bytes = trial.calls == 0 ? bytes : std::min(trial.least_bytes, bytes);
  trial.most_bytes = std::max(trial.most_bytes, bytes);
  const bool counts = trial.calls % Trial::calls_in_turn > 0;
  if (counts) trial.seconds[static_cast<std::size_t>(candidate)].push_back(seconds);
  ++trial.calls;
}

std::vector<double> times_of(const Trial& trial) {
  std::vector<double> times;
  for (const std::vector<double>& own : trial.seconds) times.push_back(median(own));
  // A few bytes more or less do not count: such calls cost what their messages cost.
  constexpr double few = 1024;
  times.push_back((trial.most_bytes + few) / (trial.least_bytes + few));
  return times;
}

Verdict verdict_of(std::span<const double> slowest) {
  if (slowest.back() > Trial::alike) return {0, false};
  Verdict verdict;
  double bound = slowest[0] * Trial::must_take;
  for (std::size_t c = 1; c + 1 < slowest.size(); ++c) {
    if (slowest[c] > bound) continue;
    verdict.best = c;
    bound = slowest[c];
  }
  return verdict;
}

}  // namespace quadrille::choose
