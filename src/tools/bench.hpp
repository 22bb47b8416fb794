// `quadrille bench`: measures collectives, the MPI's own and Quadrille's, interleaved in one run.
#pragma once

#include "tools/bench_options.hpp"

namespace quadrille::tools {

// Initializes and finalizes MPI. Returns 0; 1 if a result was wrong or a file could not be written;
// 2 if the options are wrong. Only rank 0 prints; all ranks return the same.
int bench_command(const BenchOptions& options);

}  // namespace quadrille::tools
