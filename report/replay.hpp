// Makes recorded calls again: in ranks that `quadrille report` starts with the user's launcher.
#pragma once

#include <string>

#include "tool/launch/abi.hpp"

namespace quadrille::tools {

// Seconds that all calls may take together, unless the user says otherwise.
inline constexpr double usual_seconds_of_replay = 120;

// Reads the cases (cases.hpp) from a file, as rank 0, and writes their times to another. With the MPI that `program`
// loads, of that ABI.
int replay_command(const std::string& cases, const std::string& times, const std::string& program, Abi abi);

}  // namespace quadrille::tools
