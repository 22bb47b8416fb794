// `quadrille report`: one run of a program whose calls are recorded, then a page about them.
#pragma once

#include <string>

#include "report/replay.hpp"
#include "tool/launch/run.hpp"

namespace quadrille::tools {

struct ReportOptions {
  RunOptions run;  // its command is empty where a page is made of stored data
  std::string output = "quadrille-report.html";
  std::string data;  // JSON of what was recorded; empty: not kept
  bool no_replay = false;
  double replay_seconds = usual_seconds_of_replay;
  // For the ranks that the tool starts: the calls that they make again, where their times go, and in whose place they
  // run.
  std::string replay_cases, replay_times, replay_program;
};

// Ends with the status of the program. 1: nothing was recorded, or a file could not be written; 2: a command that
// cannot be read.
int report_command(const ReportOptions& options);

}  // namespace quadrille::tools
