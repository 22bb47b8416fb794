// `quadrille bench`: measures collectives, the MPI's own and Quadrille's, interleaved in one run.
#pragma once

#include <string>
#include <vector>

#include "tool/bench/options.hpp"
#include "tool/bench/report.hpp"
#include "tool/launch/abi.hpp"

namespace quadrille::tools {

// Initializes and finalizes MPI. Returns 0; 1 if a result was wrong or a file could not be written;
// 2 if the options are wrong. Only rank 0 prints; all ranks return the same.
int bench_command(const BenchOptions& options);

// ---- The same in steps, for figures. ----

// Loads the MPI that `program` would load, of that ABI (none: any), or without one the launcher's, and initializes it.
// Empty, or one line that says what is wrong.
std::string start_mpi(const std::string& program = {}, Abi abi = Abi::none);

// Empty, or one line about a launcher whose ranks the MPI did not join. `ranks` is what the MPI says.
std::string why_ranks_differ(int ranks);
// Of this run.
BenchHeader make_header();

struct BenchResults {
  BenchHeader header;
  std::vector<BenchRow> rows;
  int rank = 0, ranks = 1;
  std::string problem;     // why nothing was measured
  bool too_large = false;  // for this machine or for MPI's counts; something smaller could be measured
};
// Collective, between start_mpi() and MPI_Finalize. Returns as bench_command() does; `results` has
// rows on all ranks.
// If nothing can be measured it says so in `results` only.
int measure_plan(const BenchOptions& options, const BenchPlan& plan, BenchResults& results);
// The same by the ranks of `comm`.
int measure_plan(const BenchOptions& options, const BenchPlan& plan, BenchResults& results, MpiComm comm);

}  // namespace quadrille::tools
