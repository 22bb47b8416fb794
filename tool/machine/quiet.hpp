// Is this machine quiet? One check for everything that measures: bench, doctor, report and tune.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "choose/tuning.hpp"

namespace quadrille::tools {

using choose::Quietness;

// What a process sees while it repeats a loop of a fixed number of steps, for about 50 ms.
struct LoopTimes {
  double p99_over_median = 1;
  double running = 0;  // tasks of the machine that run or are ready to, this process included; 0: unknown
};
LoopTimes time_fixed_loop();
LoopTimes summarize_loop(std::span<const double> seconds, std::span<const double> running);

// "running" of a line of /proc/loadavg: "0.31 0.22 0.15 3/512 4711" has 3; 0 if the line has none.
double running_in(std::string_view loadavg);

// Judges what one rank saw. `processors` may be used by the ranks, `online` are all of the machine.
Quietness judge_loop(const LoopTimes& times, int ranks_here, int processors, int online);
// The same for all processors of this machine.
int online_processors();
// Without ranks: this process alone looks.
Quietness check_quiet_here();

// One line, without its end: "machine is quiet: ...", "machine is NOT quiet, times may mislead: ...".
std::string quiet_line(const Quietness& quietness);
nlohmann::ordered_json to_json(const Quietness& quietness);
// The reverse. Quiet if `json` is no such object.
Quietness quietness_from(const nlohmann::ordered_json& json);

}  // namespace quadrille::tools
