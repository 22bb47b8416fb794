#include "tool/doctor/measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "memory/heap.hpp"
#include "sys/sys.hpp"
#include "tool/bench/bench.hpp"
#include "tool/bench/status.hpp"
#include "tool/doctor/trial.hpp"
#include "tool/launch/launcher.hpp"

namespace quadrille::tools {
namespace {

using Json = nlohmann::ordered_json;

void write_line(const Json& json) {
  fmt::print("{}{}\n", sign_of_trial, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

BenchOptions options_of_trial() {
  BenchOptions options;
  options.collective = "alltoall";
  options.sizes = "64,4K,64K";
  options.iterations = "200";
  options.warmup = 20;
  options.touch = true;
  options.silent = true;
  return options;
}

void write_results(const BenchResults& results, const std::vector<BenchRow>& rows) {
  write_line({{"mpi", results.header.mpi},
              {"library", results.header.mpi_library},
              {"ranks", results.ranks},
              {"memory", memory::heap_active() ? "shared" : "private"},
              {"quiet", results.header.quiet ? to_json(*results.header.quiet) : Json()}});
  for (const BenchRow& row : rows) {
    write_line({{"bytes", row.measured.bytes},
                {"memory", name_of(row.measured.memory)},
                {"mpi_us", row.mpi.median},
                {"quadrille_us", row.quadrille.median},
                {"ratio", row.ratio},
                {"step_ratio", row.step ? row.step->ratio : 0},
                {"errors", row.errors}});
  }
}

}  // namespace

int measure_for(const std::string& program, Abi abi) {
  const BenchOptions options = options_of_trial();
  BenchPlan plan;
  BenchResults results;
  int status = bad_options;
  results.problem = understand(options, plan);
  const bool can = results.problem.empty() && (results.problem = start_mpi(program, abi)).empty();
  std::vector<BenchRow> rows;
  if (can) status = 0;
  for (const BufferMemory memory : {BufferMemory::heap, BufferMemory::private_memory}) {
    if (!results.problem.empty()) break;
    plan.memory = memory;
    status = std::max(status, measure_plan(options, plan, results));
    const bool is_missing = memory == BufferMemory::heap && !memory::heap_active();
    if (!is_missing) rows.insert(rows.end(), results.rows.begin(), results.rows.end());
  }
  if (results.rank == 0 && results.problem.empty()) write_results(results, rows);
  // Ranks that the MPI did not join are all rank 0. A launcher stops all at the first that ends.
  if (!results.problem.empty() && results.rank == 0) {
    if (sys::launched_as_first()) write_line({{"problem", results.problem}});
    complain_once(results.problem);
  }
  if (can) mpi().Finalize();
  return status;
}

}  // namespace quadrille::tools
