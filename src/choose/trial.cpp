#include "choose/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrille::choose {
namespace {

// Calls that move less than this are alike.
constexpr double little_load = 8192;

// Seconds a call. A turn of which not all calls were noted says nothing.
double seconds_of(const Trial::Taken& taken) {
  constexpr int counted = Trial::calls_in_turn - 1;
  return taken.calls == counted ? taken.seconds / counted : std::numeric_limits<double>::max();
}

// The candidate whose turn is number `turn` of this visit; -1: there are not so many.
int candidate_in_turn(const Trial& trial, int turn) {
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    if (trial.is_in[c] && turn-- == 0) return static_cast<int>(c);
  }
  return -1;
}

bool only_the_first_is_in(const Trial& trial) {
  return std::find(trial.is_in.begin() + 1, trial.is_in.end(), true) == trial.is_in.end();
}

}  // namespace

Trial make_trial(std::vector<Choice> candidates, bool crowded) {
  Trial trial;
  if (crowded) trial.must_take = Trial::must_take_if_crowded;
  trial.is_in.assign(candidates.size(), true);
  trial.taken.resize(candidates.size());
  trial.slowest.resize(candidates.size());
  trial.candidates = std::move(candidates);
  return trial;
}

Turn begin_call(Trial& trial, double bytes) {
  const int candidate = trial.decided ? -1 : candidate_in_turn(trial, trial.calls / Trial::calls_in_turn);
  if (candidate < 0) return {};
  const bool is_first = trial.visit == 0 && trial.calls == 0;
  trial.least_bytes = is_first ? bytes : std::min(trial.least_bytes, bytes);
  trial.most_bytes = std::max(trial.most_bytes, bytes);
  return {candidate, trial.visit, trial.calls++ % Trial::calls_in_turn > 0};
}

void note_call(Trial& trial, const Turn& turn, double seconds) {
  if (!turn.counts || turn.visit != trial.visit) return;
  Trial::Taken& taken = trial.taken[static_cast<std::size_t>(turn.candidate)];
  taken.seconds += seconds;
  ++taken.calls;
}

std::vector<double> times_of(const Trial& trial) {
  std::vector<double> times;
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    times.push_back(trial.is_in[c] ? seconds_of(trial.taken[c]) : 0);
  }
  // A few bytes more or less do not count: such calls cost what their messages cost.
  constexpr double few = 1024;
  times.push_back((trial.most_bytes + few) / (trial.least_bytes + few));
  return times;
}

void judge(Trial& trial, std::span<const double> slowest) {
  trial.were_alike = trial.were_alike && slowest.back() <= Trial::alike;
  double best = std::numeric_limits<double>::max();
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    if (!trial.is_in[c]) continue;
    trial.slowest[c].push_back(slowest[c]);
    best = std::min(best, slowest[c]);
  }
  for (std::size_t c = 1; c < trial.candidates.size(); ++c) {
    trial.is_in[c] = trial.is_in[c] && slowest[c] <= Trial::lost[static_cast<std::size_t>(trial.visit)] * best;
  }
  trial.taken.assign(trial.candidates.size(), {});
  trial.calls = 0;
  trial.decided = ++trial.visit == Trial::visits || !trial.were_alike || only_the_first_is_in(trial);
}

bool begin_again(Trial& trial) {
  if (!trial.decided || trial.were_alike || trial.again == Trial::most_again) return false;
  if (trial.calls_since++ < Trial::calls_before_again << trial.again) return false;
  Trial anew = make_trial(std::move(trial.candidates));
  anew.must_take = trial.must_take;
  anew.again = trial.again + 1;
  trial = std::move(anew);
  return true;
}

double median_of(const Trial& trial, std::size_t candidate) {
  std::vector<double> seconds = trial.slowest[candidate];
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

double shortest_of(const Trial& trial, std::size_t candidate) {
  const std::vector<double>& seconds = trial.slowest[candidate];
  return *std::min_element(seconds.begin(), seconds.end());
}

std::size_t best_of(const Trial& trial) {
  std::size_t best = 0;
  if (!trial.were_alike) return best;
  double bound = median_of(trial, 0) * trial.must_take;
  for (std::size_t c = 1; c < trial.candidates.size(); ++c) {
    if (!trial.is_in[c] || median_of(trial, c) > bound) continue;
    if (shortest_of(trial, c) > shortest_of(trial, 0) * trial.must_take) continue;
    best = c;
    bound = median_of(trial, c);
  }
  return best;
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

bool must_ask(LoadClass& load) {
  if (load.unasked == 0) return true;
  --load.unasked;
  return false;
}

bool note_load(LoadClass& load, double bytes) {
  const int before = std::exchange(load.now, load_class_of(bytes));
  load.bound = before == load.now ? std::min(2 * load.bound, LoadClass::most_unasked) : 1;
  // Drawn, so that asking does not fall into step with a program whose calls repeat.
  load.unasked = load.bound / 2 + static_cast<int>(load.random() % static_cast<unsigned>(load.bound / 2 + 1));
  return before != load.now;
}

}  // namespace quadrille::choose
