// What the ranks of a trial do.
#pragma once

#include <string>

#include "tool/launch/abi.hpp"

namespace quadrille::tools {

// Measures with the MPI library that `program` loads, of that ABI, and writes the lines that judge_trial() reads.
int measure_for(const std::string& program, Abi abi);

}  // namespace quadrille::tools
