#include "lab/bench_options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "lab/figure/figure.hpp"

namespace quadrille::tools {

std::string why_without_effect(const LabOptions& options, std::initializer_list<std::string_view> meant,
                               std::string_view on) {
  for (const std::string& given : options.given) {
    if (std::find(meant.begin(), meant.end(), given) != meant.end()) continue;
    return fmt::format("{} has no effect on {}: leave it out", given, on);
  }
  return "";
}

void add_lab_options(CLI::App& command, LabOptions& options) {
  CLI::Option* const figure =
      command
          .add_option("--figure", options.figure,
                      "Repeat an experiment of a paper, measured, counted or simulated: " + known_figures())
          ->check(not_empty);
  CLI::Option* const copy_phase =
      command.add_flag("--copy-phase", options.copy_phase,
                       "Only the copies of a collective inside a node, in one process without MPI: compares orders. Of "
                       "alltoall (if none is named), allgather, neighbor_alltoall, neighbor_allgather");
  figure->excludes(copy_phase);
  // Options shared with `quadrille bench`.
  add_call_options(command, options);
  command
      .add_option("--runs", options.runs,
                  "Whole runs; numbers are then the medians of theirs, with the least and the most")
      ->check(CLI::Range(1, 100))
      ->default_str("1");
  command.add_option("--panel", options.panel, "Figures of gpu: measure only this panel, from 1 on; 0 measures all")
      ->check(CLI::Range(0, 9))
      ->default_str("0");
  command
      .add_option("--shrink", options.shrink,
                  "Figures of gpu: divide all sizes by this number, to try one out; no claim has a verdict then")
      ->check(CLI::Range(1L, 1L << 30))
      ->default_str("1");
  command
      .add_option("--results", options.results, "Folder for its page and its data (JSON); it is made if it is missing")
      ->check(not_empty)
      ->default_str("results");
  for (const char* name : {"--iterations", "--warmup", "--device", "--stage-mpi", "--late", "--memory", "--in-place",
                           "--datatype", "--seed", "--progress", "--runs", "--panel", "--shrink", "--results"}) {
    command.get_option(name)->needs(figure);
  }
  command.add_option("collective", options.collective, "Of the copy phase");
  add_block_options(command, options);
  command.add_option("--ranks", options.ranks, "Ranks")->default_str("64");
  command.add_option("--orders", options.orders,
                     "Orders, compared with the first: row, column, morton, hilbert, row-numa, "
                     "morton-numa, square-row, square-column, square-morton; of neighbours row, morton, row-numa, "
                     "morton-numa (those that matter for this number of domains)");
  command
      .add_option("--domains", options.domains,
                  "NUMA domains, each of ranks that follow each other; row-numa and morton-numa heed them")
      ->default_str("1");
  command.add_option("--threads", options.threads, "Threads; 0 measures one a processor, then one alone")
      ->default_str("0");
  command.add_flag("--staggered", options.staggered, "Begin each buffer at another cache line of its page");
  for (const char* name : {"collective", "--sizes", "--cold", "--neighborhood", "--grid", "--json", "--ranks",
                           "--orders", "--domains", "--threads", "--staggered"}) {
    command.get_option(name)->needs(copy_phase);
  }
  command.parse_complete_callback([&command, &options] {
    options.given = given_options(command);
    if (!options.copy_phase && options.figure.empty()) {
      throw CLI::RequiredError("--figure or --copy-phase");
    }
  });
}

}  // namespace quadrille::tools
