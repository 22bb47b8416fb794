#include "choose/trial.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace quadrille::choose {
namespace {

// Seconds a call in each visit, sorted. One of which not all calls were noted says nothing.
std::array<double, Trial::visits> visits_of(const std::array<Trial::Taken, Trial::visits>& taken) {
  constexpr int counted = Trial::calls_in_turn - 1;
  std::array<double, Trial::visits> seconds;
  for (std::size_t visit = 0; visit < seconds.size(); ++visit) {
    const bool whole = taken[visit].calls == counted;
    seconds[visit] = whole ? taken[visit].seconds / counted : std::numeric_limits<double>::max();
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

}  // namespace

Trial make_trial(std::vector<Choice> candidates) {
  Trial trial;
  trial.taken.resize(candidates.size());
  trial.candidates = std::move(candidates);
  return trial;
}

Turn begin_call(Trial& trial, double bytes) {
  const auto count = static_cast<int>(trial.candidates.size());
  const int turn = trial.calls / Trial::calls_in_turn;
  if (turn >= Trial::visits * count) return {};
  trial.least_bytes = trial.calls == 0 ? bytes : std::min(trial.least_bytes, bytes);
  trial.most_bytes = std::max(trial.most_bytes, bytes);
  return {turn % count, turn / count, trial.calls++ % Trial::calls_in_turn > 0};
}

void note_call(Trial& trial, const Turn& turn, double seconds) {
  if (!turn.counts) return;
  Trial::Taken& taken = trial.taken[static_cast<std::size_t>(turn.candidate)][static_cast<std::size_t>(turn.visit)];
  taken.seconds += seconds;
  ++taken.calls;
}

std::vector<double> times_of(const Trial& trial) {
  std::vector<double> times;
  for (const auto& own : trial.taken) times.push_back(visits_of(own)[Trial::visits / 2]);
  for (const auto& own : trial.taken) times.push_back(visits_of(own)[0]);
  // A few bytes more or less do not count: such calls cost what their messages cost.
  constexpr double few = 1024;
  times.push_back((trial.most_bytes + few) / (trial.least_bytes + few));
  return times;
}

Verdict verdict_of(std::span<const double> slowest) {
  if (slowest.back() > Trial::alike) return {0, false};
  const std::span<const double> medians = slowest.first(slowest.size() / 2);
  const std::span<const double> shortest = slowest.subspan(medians.size());
  Verdict verdict;
  double bound = medians[0] * Trial::must_take;
  for (std::size_t c = 1; c < medians.size(); ++c) {
    if (medians[c] > bound || shortest[c] > shortest[0] * Trial::must_take) continue;
    verdict.best = c;
    bound = medians[c];
  }
  return verdict;
}

}  // namespace quadrille::choose
