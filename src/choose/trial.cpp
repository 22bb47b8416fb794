#include "choose/trial.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace quadrille::choose {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::max();
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

Turn begin_call(Trial& trial, double bytes) {
  const auto count = static_cast<int>(trial.candidates.size());
  const int turn = trial.calls / Trial::calls_in_turn;
  if (turn >= Trial::visits * count) return {};
  trial.least_bytes = trial.calls == 0 ? bytes : std::min(trial.least_bytes, bytes);
  trial.most_bytes = std::max(trial.most_bytes, bytes);
  return {turn % count, trial.calls++ % Trial::calls_in_turn > 0};
}

void note_call(Trial& trial, const Turn& turn, double seconds) {
  if (turn.counts) trial.seconds[static_cast<std::size_t>(turn.candidate)].push_back(seconds);
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
