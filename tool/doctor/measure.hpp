// What the ranks of a trial do.
#pragma once

#include <string>

namespace quadrille::tools {

// Measures with the MPI library that `program` loads, and writes the lines that judge_trial() reads.
int measure_for(const std::string& program);

}  // namespace quadrille::tools
