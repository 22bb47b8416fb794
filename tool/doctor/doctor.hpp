// `quadrille doctor`: would this command be served, and what is in the way?
#pragma once

#include <string>

#include "tool/launch/run.hpp"

namespace quadrille::tools {

struct DoctorOptions {
  RunOptions run;         // its command may be empty: then the machine alone is looked at
  bool no_trial = false;  // nothing is started
  bool json = false;
  // For the ranks that the tool starts: the program in whose place they measure.
  std::string measure_for;
};

// 0: nothing is in the way; 1: something is; 2: a command that cannot be read.
int doctor_command(const DoctorOptions& options);

}  // namespace quadrille::tools
