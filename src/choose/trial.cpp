#include "choose/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrille::choose {
namespace {

// Calls that move less than this are alike.
constexpr double little_load = 8192;

// Seconds a call.
double seconds_of(const Trial::Taken& taken) {
  constexpr int counted = Trial::calls_in_turn - 1;
  return taken.calls == counted ? taken.seconds / counted : not_noted;
}

}  // namespace

Trial make_trial(std::vector<Choice> candidates, bool crowded) {
  Trial trial;
  trial.crowded = crowded;
  const double must_take = crowded ? Trial::must_take_if_crowded : Trial::must_take_usually;
  trial.contest = tuner::Contest(candidates.size(), {Trial::visits, tuner::Counts::both, must_take, Trial::lost});
  trial.taken.resize(candidates.size());
  trial.candidates = std::move(candidates);
  return trial;
}

Turn begin_call(Trial& trial, double bytes) {
  if (trial.contest.decided()) return {};
  const std::size_t candidate = trial.contest.in_turn(static_cast<std::size_t>(trial.calls / Trial::calls_in_turn));
  if (candidate == trial.candidates.size()) return {};
  const bool is_first = trial.contest.visit() == 0 && trial.calls == 0;
  trial.least_bytes = is_first ? bytes : std::min(trial.least_bytes, bytes);
  trial.most_bytes = std::max(trial.most_bytes, bytes);
  return {static_cast<int>(candidate), trial.contest.visit(), trial.calls++ % Trial::calls_in_turn > 0};
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
    times.push_back(trial.contest.is_in(c) ? seconds_of(trial.taken[c]) : 0);
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
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    trial.contest.note(c, all[c]);
    least = std::min(least, trial.contest.least(c));
  }
  if (trial.contest.visit() == Trial::visits - 1 && least < Trial::short_call)
    trial.contest.go_on_to(Trial::visits_of_short_calls);
  trial.contest.end_visit();
  if (!trial.were_alike) trial.contest.give_up();
  trial.taken.assign(trial.candidates.size(), {});
  trial.calls = 0;
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

bool must_ask(AskedClass& asked) {
  if (asked.unasked == 0) return true;
  --asked.unasked;
  return false;
}

bool note_class(AskedClass& asked, int now) {
  const int before = std::exchange(asked.now, now);
  asked.bound = before == now ? std::min(2 * asked.bound, AskedClass::most_unasked) : 1;
  // Drawn, so that asking does not fall into step with a program whose calls repeat.
  asked.unasked = asked.bound / 2 + static_cast<int>(asked.random() % static_cast<unsigned>(asked.bound / 2 + 1));
  return before != now;
}

bool note_load(AskedClass& load, double bytes) { return note_class(load, load_class_of(bytes)); }

}  // namespace quadrille::choose
