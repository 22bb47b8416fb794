// Idea    A loop of a fixed number of steps takes always the same time, unless something takes the processor away. One
//         piece lasts about 0.3 ms: a competitor's time slices of some milliseconds hit more than one piece in a
//         hundred, and a timer's interrupts are small beside it. Meanwhile the system says how many tasks are ready to
//         run.
// Cost    About 50 ms; no more than twice that on a busy machine.
#include "tool/machine/quiet.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "tool/bench/statistics.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

constexpr int steps_of_piece = 200'000, pieces = 160, least_pieces = 10, pieces_per_look = 16;
constexpr double most_seconds = 0.1;
// From there on medians of measured times move by more than the differences that one looks for.
constexpr double most_p99_over_median = 1.5;
// A fraction of a task is a daemon that wakes up now and then.
constexpr double least_load = 1;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Each step needs the one before.
double time_piece() {
  const auto start = Clock::now();
  std::uint64_t value = 1;
  for (int step = 0; step < steps_of_piece; ++step) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));
  }
  return seconds_since(start);
}

}  // namespace

double running_in(std::string_view loadavg) {
  const std::size_t slash = loadavg.find('/');
  const std::size_t blank = slash == std::string_view::npos ? slash : loadavg.rfind(' ', slash);
  if (blank == std::string_view::npos) return 0;
  int number = 0;
  std::from_chars(loadavg.data() + blank + 1, loadavg.data() + slash, number);
  return number;
}

LoopTimes summarize_loop(std::span<const double> seconds, std::span<const double> running) {
  LoopTimes times;
  const Summary summary = summarize(seconds);
  if (summary.median > 0) times.p99_over_median = summary.p99 / summary.median;
  if (!running.empty()) {
    times.running = std::accumulate(running.begin(), running.end(), 0.0) / static_cast<double>(running.size());
  }
  return times;
}

LoopTimes time_fixed_loop() {
  std::vector<double> seconds, running;
  const auto start = Clock::now();
  time_piece();  // the processor leaves its sleep
  for (int piece = 0; piece < pieces; ++piece) {
    if (piece >= least_pieces && seconds_since(start) > most_seconds) break;
    seconds.push_back(time_piece());
    if (piece % pieces_per_look == pieces_per_look / 2) running.push_back(running_in(first_line("/proc/loadavg")));
  }
  return summarize_loop(seconds, running);
}

Quietness judge_loop(const LoopTimes& times, int ranks_here, int processors, int online) {
  Quietness quietness;
  const double own = std::max(ranks_here, 1);
  quietness.p99_over_median = times.p99_over_median;
  quietness.load = std::max(times.running - own, 0.0);
  quietness.ranks_per_processor = static_cast<double>(ranks_here) / std::max(processors, 1);
  const bool crowded_by_others = quietness.load >= least_load && own + quietness.load > online;
  quietness.quiet =
      times.p99_over_median <= most_p99_over_median && quietness.ranks_per_processor <= 1 && !crowded_by_others;
  return quietness;
}

int online_processors() { return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1); }

Quietness check_quiet_here() { return judge_loop(time_fixed_loop(), 0, 1, online_processors()); }

std::string quiet_line(const Quietness& quietness) {
  std::string text = fmt::format("machine is {}: p99 / median of a fixed loop {:.2f}, load beside it {:.1f}",
                                 quietness.quiet ? "quiet" : "NOT quiet, times may mislead", quietness.p99_over_median,
                                 quietness.load);
  if (quietness.ranks_per_processor > 0)
    text += fmt::format(", ranks / processors {:.2f}", quietness.ranks_per_processor);
  return text;
}

nlohmann::ordered_json to_json(const Quietness& quietness) {
  return {{"quiet", quietness.quiet},
          {"p99_over_median", quietness.p99_over_median},
          {"load", quietness.load},
          {"ranks_per_processor", quietness.ranks_per_processor},
          {"line", quiet_line(quietness)}};
}

Quietness quietness_from(const nlohmann::ordered_json& json) {
  if (!json.is_object()) return {};
  return {json.value("quiet", true), json.value("p99_over_median", 1.0), json.value("load", 0.0),
          json.value("ranks_per_processor", 0.0)};
}

}  // namespace quadrille::tools
