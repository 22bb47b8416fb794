#include "choose/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrille::choose {
namespace {

// Calls that move less than this are alike.
constexpr double little_load = 8192;

// Seconds a call, or a step, if all that count were noted.
double mean(double seconds, int noted) {
  constexpr int counted = Trial::calls_in_turn - 1;
  return noted == counted ? seconds / counted : not_noted;
}

// The step of the call before ends where the next call begins.
void end_step(Trial& trial, double now) {
  const Turn turn = std::exchange(trial.last, {});
  if (!turn.counts || turn.visit != trial.contest.visit()) return;
  Trial::Taken& taken = trial.taken[static_cast<std::size_t>(turn.candidate)];
  taken.step_seconds += now - trial.last_begin;
  ++taken.steps;
}

}  // namespace

Trial make_trial(std::vector<Choice> candidates, bool crowded) {
  Trial trial;
  trial.crowded = crowded;
  const double must_take = crowded ? Trial::must_take_if_crowded : Trial::must_take_usually;
  trial.contest = tuner::Contest(candidates.size(), {Trial::visits, tuner::Counts::both, must_take, Trial::lost});
  trial.steps = tuner::Contest(candidates.size(), {Trial::visits, tuner::Counts::median, must_take});
  trial.taken.resize(candidates.size());
  trial.candidates = std::move(candidates);
  return trial;
}

Turn begin_call(Trial& trial, double bytes, double now) {
  if (trial.contest.decided()) return {};
  end_step(trial, now);
  const std::size_t candidate = trial.contest.in_turn(static_cast<std::size_t>(trial.calls / Trial::calls_in_turn));
  if (candidate == trial.candidates.size()) return {};
  const bool is_first = trial.contest.visit() == 0 && trial.calls == 0;
  trial.least_bytes = is_first ? bytes : std::min(trial.least_bytes, bytes);
  trial.most_bytes = std::max(trial.most_bytes, bytes);
  trial.last_begin = now;
  trial.last = {static_cast<int>(candidate), trial.contest.visit(), trial.calls++ % Trial::calls_in_turn > 0};
  return trial.last;
}

void note_call(Trial& trial, const Turn& turn, double seconds) {
  if (!turn.counts || turn.visit != trial.contest.visit()) return;
  Trial::Taken& taken = trial.taken[static_cast<std::size_t>(turn.candidate)];
  taken.seconds += seconds;
  ++taken.calls;
}

std::vector<double> times_of(const Trial& trial) {
  std::vector<double> times;
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    times.push_back(trial.contest.is_in(c) ? mean(trial.taken[c].seconds, trial.taken[c].calls) : 0);
  }
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    times.push_back(trial.contest.is_in(c) ? mean(trial.taken[c].step_seconds, trial.taken[c].steps) : 0);
  }
  // A few bytes more or less do not count: such calls cost what their messages cost.
  constexpr double few = 1024;
  times.push_back((trial.most_bytes + few) / (trial.least_bytes + few));
  return times;
}

void judge(Trial& trial, std::span<const double> all) {
  const bool alike = all.back() <= Trial::alike;
  if (!alike && trial.contest.visit() >= Trial::visits) return trial.contest.end();
  trial.were_alike = trial.were_alike && alike;
  double least = not_noted;
  const std::span<const double> calls = all.first(trial.candidates.size()), steps = all.subspan(calls.size());
  for (std::size_t c = 0; c < calls.size(); ++c) {
    if (!trial.contest.is_in(c)) continue;
    trial.contest.note(c, calls[c]);
    const bool is_known = calls[0] != not_noted && steps[0] != not_noted && steps[c] != not_noted;
    trial.steps.note(c, is_known ? calls[0] + steps[c] - steps[0] : not_noted);
    least = std::min(least, trial.contest.least(c));
  }
  if (trial.contest.visit() == Trial::visits - 1 && least < Trial::short_call)
    trial.contest.go_on_to(Trial::visits_of_short_calls);
  trial.contest.end_visit();
  if (!trial.were_alike) trial.contest.give_up();
  trial.taken.assign(trial.candidates.size(), {});
  trial.calls = 0;
}

bool steps_tell(const Trial& trial) {
  if (!trial.were_alike) return false;
  bool has_rival = false;
  for (std::size_t c = 1; c < trial.candidates.size(); ++c) {
    if (!trial.contest.is_in(c)) continue;
    has_rival = true;
    const bool is_sure = trial.steps.middle_half(c) <= Trial::most_spread * trial.contest.median(0);
    if (!is_sure || trial.steps.median(c) == not_noted) return false;
  }
  return has_rival;
}

std::size_t best_of(const Trial& trial) {
  if (!steps_tell(trial)) return trial.contest.best();
  return trial.steps.best([&](std::size_t way) { return trial.contest.is_in(way); });
}

bool may_begin_again(const Trial& trial) {
  return trial.contest.decided() && !trial.were_alike && trial.again < Trial::most_again;
}

bool begin_again(Trial& trial) {
  if (!may_begin_again(trial)) return false;
  if (trial.calls_since++ < Trial::calls_before_again << trial.again) return false;
  Trial anew = make_trial(std::move(trial.candidates), trial.crowded);
  anew.again = trial.again + 1;
  trial = std::move(anew);
  return true;
}

int load_class_of(double bytes) {
  return bytes <= little_load ? 0 : 1 + static_cast<int>(std::log2(bytes / little_load) / 2);
}

int size_class_of(std::size_t bytes) {
  return bytes == 0 ? -1 : static_cast<int>(std::floor(4 * std::log2(static_cast<double>(bytes))));
}

Bytes bytes_of_size_class(int number) {
  // By the same function that makes classes: a root is not exact.
  const auto least_of = [](int wanted) {
    auto bytes = static_cast<std::size_t>(std::exp2(wanted / 4.0));
    while (bytes > 1 && size_class_of(bytes - 1) >= wanted) --bytes;
    while (size_class_of(bytes) < wanted) ++bytes;
    return bytes;
  };
  if (number < 0) return {};
  return {least_of(number), least_of(number + 1) - 1};
}

Bytes bytes_of_load_class(int number) {
  if (number < 0) return {};
  const auto least_of = [](int wanted) {
    if (wanted == 0) return std::size_t{1};
    const auto bytes = static_cast<std::size_t>(std::ldexp(little_load, 2 * (wanted - 1)));
    return wanted == 1 ? bytes + 1 : bytes;
  };
  return {least_of(number), least_of(number + 1) - 1};
}

}  // namespace quadrille::choose
