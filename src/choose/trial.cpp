#include "choose/trial.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "text/hash.hpp"

namespace quadrille::choose {
namespace {

// Calls that move less than this are alike.
constexpr double little_load = 8192;

// Of a call, or from its begin to that of the next one.
void note(const Trial& trial, double seconds, std::vector<Trial::Taken>& taken) {
  if (trial.counted < 0) return;
  Trial::Taken& of = taken[static_cast<std::size_t>(trial.counted)];
  of.seconds += seconds;
  ++of.noted;
}

// Does it differ from the first one in how blocks are copied alone? What it leaves in the caches is the point of it:
// the call by itself says nothing.
bool counts_by_steps(const Trial& trial, std::size_t candidate) {
  const Choice &one = trial.candidates[candidate], &first = trial.candidates[trial.contest.first()];
  return candidate != trial.contest.first() && one.algorithm->engine == Engine::exchange &&
         one.algorithm == first.algorithm;
}

bool is_sure(const Trial& trial, std::size_t candidate) {
  const double most = Trial::most_spread * trial.contest.median(trial.contest.first());
  return trial.steps.middle_half(candidate) <= most && trial.steps.median(candidate) != not_noted;
}

void begin_visit(Trial& trial) {
  trial.taken.assign(trial.candidates.size(), {});
  trial.taken_by_steps = trial.taken;
  trial.calls = 0;
}

void begin_race(Trial& trial) {
  const std::size_t ways = trial.candidates.size();
  const auto racing = std::span(trial.racing).first(trial.checks ? std::min(Trial::most_checked, ways) : ways);
  trial.contest = tuner::Contest(ways, {Trial::visits, tuner::Counts::both, trial.must_take, Trial::lost}, racing);
  trial.steps = tuner::Contest(ways, {Trial::visits, tuner::Counts::median, trial.must_take}, racing);
  trial.counted = -1;
  trial.least_bytes = tuner::never;
  trial.most_bytes = 0;
  trial.were_alike = true;
  begin_visit(trial);
}

void race_all(Trial& trial) {
  trial.checks = false;
  trial.racing.resize(trial.candidates.size());
  std::iota(trial.racing.begin(), trial.racing.end(), std::size_t{0});
  begin_race(trial);
}

// Did some way's steps vary too much to tell?
bool leaves_ways_open(const Trial& trial) {
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    if (trial.contest.is_rival(c) && counts_by_steps(trial, c) && !is_sure(trial, c)) return true;
  }
  return false;
}

// A race of all says what is checked later: the winner and the first candidate, and of the others those that took least
// first. Each check is of the next of them. If another wins it, all race again.
void conclude(Trial& trial) {
  const std::size_t winner = best_of(trial);
  std::vector<std::size_t>& racing = trial.racing;
  if (trial.checks) {
    if (winner != trial.contest.first()) return race_all(trial);
    if (trial.were_alike && racing.size() > Trial::most_checked)
      std::rotate(racing.begin() + (winner == 0 ? 1 : 2), racing.begin() + Trial::most_checked, racing.end());
  } else if (trial.were_alike) {
    // By steps that vary, a way may seem to take less than nothing.
    const auto rank = [&](std::size_t c) {
      return std::pair(c == winner ? 0 : c == 0 ? 1 : 2, trial.contest.median(c));
    };
    std::ranges::stable_sort(racing, {}, rank);
    trial.checks = true;
  }
  const bool is_found = trial.were_alike && !leaves_ways_open(trial);
  trial.pause.begin(is_found ? tuner::Pause::usual : tuner::Pause::if_nothing_was_found);
}

// By the function that makes classes.
template <class NumberOf>
Bytes bytes_of(int number, NumberOf number_of) {
  const auto least_of = [&](int wanted) {
    std::size_t before = 0;  // the largest of those before, if there is one
    for (std::size_t more = std::size_t{1} << 62; more > 0; more /= 2) {
      if (number_of(before + more) < wanted) before += more;
    }
    return before + 1;
  };
  return number < 0 ? Bytes{} : Bytes{least_of(number), least_of(number + 1) - 1};
}

}  // namespace

Trial make_trial(std::vector<Choice> candidates, bool crowded) {
  Trial trial;
  trial.must_take = crowded ? Trial::must_take_if_crowded : Trial::must_take_usually;
  trial.candidates = std::move(candidates);
  race_all(trial);
  return trial;
}

void take_over(Trial& trial, std::size_t winner) {
  const auto place = trial.racing.begin() + static_cast<std::ptrdiff_t>(winner);
  std::rotate(trial.racing.begin(), place, place + 1);
  trial.contest.end();
  trial.checks = true;
  trial.pause.begin(tuner::Pause::usual);
}

int begin_call(Trial& trial, double bytes, double now) {
  if (trial.contest.decided()) return -1;
  note(trial, now - trial.last_begin, trial.taken_by_steps);
  trial.counted = -1;
  const std::size_t candidate = trial.contest.in_turn(static_cast<std::size_t>(trial.calls / Trial::calls_in_turn));
  if (candidate == trial.candidates.size()) return -1;
  trial.least_bytes = std::min(trial.least_bytes, bytes);
  trial.most_bytes = std::max(trial.most_bytes, bytes);
  trial.last_begin = now;
  const int taken = static_cast<int>(candidate);
  if (trial.calls++ % Trial::calls_in_turn > 0) trial.counted = taken;
  return taken;
}

void note_call(Trial& trial, double seconds) { note(trial, seconds, trial.taken); }

std::vector<double> times_of(const Trial& trial) {
  constexpr int counted = Trial::calls_in_turn - 1;
  std::vector<double> times;
  for (const auto* taken : {&trial.taken, &trial.taken_by_steps}) {
    for (std::size_t c = 0; c < taken->size(); ++c) {
      const auto& [seconds, noted] = (*taken)[c];
      times.push_back(!trial.contest.is_in(c) ? 0 : noted == counted ? seconds / counted : not_noted);
    }
  }
  // A few bytes more or less do not count: such calls cost what their messages cost.
  constexpr double few = 1024;
  times.push_back(trial.most_bytes + few > Trial::alike * (trial.least_bytes + few) ? 1 : 0);
  return times;
}

void judge(Trial& trial, std::span<const double> all) {
  const bool alike = all.back() == 0;
  if (!alike && trial.contest.visit() >= Trial::visits) {
    trial.contest.end();
    return conclude(trial);
  }
  trial.were_alike = trial.were_alike && alike;
  double least = not_noted;
  const std::size_t first = trial.contest.first();
  const std::span<const double> calls = all.first(trial.candidates.size()), steps = all.subspan(calls.size());
  for (std::size_t c = 0; c < calls.size(); ++c) {
    if (!trial.contest.is_in(c)) continue;
    const bool is_known = calls[first] != not_noted && steps[first] != not_noted && steps[c] != not_noted;
    const double by_step = is_known ? calls[first] + steps[c] - steps[first] : not_noted;
    trial.contest.note(c, counts_by_steps(trial, c) ? by_step : calls[c]);
    trial.steps.note(c, by_step);
    if (!counts_by_steps(trial, c)) least = std::min(least, trial.contest.least(c));
  }
  if (trial.contest.visit() == Trial::visits - 1 && least < Trial::short_call)
    trial.contest.go_on_to(Trial::visits_of_short_calls);
  // One step says little, and may take less than nothing beside that of the first candidate.
  trial.contest.end_visit([&](std::size_t c) { return !counts_by_steps(trial, c); });
  if (!trial.were_alike) trial.contest.end();
  begin_visit(trial);
  if (trial.contest.decided()) conclude(trial);
}

bool steps_tell(const Trial& trial) {
  bool has_rival = false;
  for (std::size_t c = 0; c < trial.candidates.size(); ++c) {
    if (!trial.contest.is_rival(c)) continue;
    has_rival = true;
    if (!is_sure(trial, c)) return false;
  }
  return has_rival;
}

std::size_t best_of(const Trial& trial) {
  if (!trial.were_alike) return trial.contest.first();
  if (steps_tell(trial)) return trial.steps.best_of_those_in(trial.contest);
  return trial.contest.best(
      [&](std::size_t c) { return trial.contest.is_in(c) && (!counts_by_steps(trial, c) || is_sure(trial, c)); });
}

bool begin_again(Trial& trial, int calls) {
  if (!trial.contest.decided() || !trial.pause.is_over(calls)) return false;
  begin_race(trial);
  return true;
}

int load_class_of(double bytes) {
  return bytes <= little_load ? 0 : 1 + static_cast<int>(std::log2(bytes / little_load) / 2);
}

int size_class_of(std::size_t bytes) {
  return bytes == 0 ? -1 : static_cast<int>(std::floor(4 * std::log2(static_cast<double>(bytes))));
}

Bytes bytes_of_size_class(int number) { return bytes_of(number, size_class_of); }

Bytes bytes_of_load_class(int number) {
  return bytes_of(number, [](std::size_t bytes) { return load_class_of(static_cast<double>(bytes)); });
}

Bytes on_one_side(Bytes all, std::size_t size, std::size_t limit) {
  if (size <= limit) return {all.from, std::min(all.to, limit)};
  return {std::max(all.from, limit + 1), all.to};
}

bool may_have_large_blocks(int load_class, int ranks, std::size_t limit) {
  const std::size_t blocks = 2 * static_cast<std::size_t>(ranks);  // sent and received
  return bytes_of_load_class(load_class).to / blocks > limit;
}

Case case_of(const plan::NodeMap& nodes, bool crowded, Collective collective, Bytes bytes, int load,
             std::span<const Choice> candidates) {
  text::Hash names;
  for (const Choice& one : candidates) names.add(to_string(one));
  const std::uint64_t map = text::Hash().add_all(nodes.node_of).value();
  return {nodes.ranks(), nodes.nodes,  nodes.ranks_on_fullest_node(), crowded, map, collective, bytes,
          load,          names.value()};
}

void keep_verdict(Verdicts& verdicts, const Case& of, Verdict verdict) {
  if (verdicts.size() < most_verdicts || verdicts.contains(of)) verdicts.insert_or_assign(of, std::move(verdict));
}

}  // namespace quadrille::choose
