#include "lab/figure/figure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/figure/computed.hpp"
#include "lab/figure/first_ranks.hpp"
#include "lab/figure/gpu/gpu_figure.hpp"
#include "lab/figure/hosts.hpp"
#include "lab/figure/results.hpp"
#include "lab/figure/runs.hpp"
#include "lab/figure/same.hpp"
#include "lab/figure/setup_table.hpp"
#include "mpi/mpi.hpp"
#include "sys/sys.hpp"
#include "tool/bench/bench.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

// Empty if the figure can be measured. The same on all ranks.
std::string why_impossible(const LabOptions& options, int ranks, Figure& figure) {
  bool known = false;
  for (const Figure& one : figures(sys::cache_bytes(2), std::max(ranks, 1))) {
    if (one.name != options.figure) continue;
    figure = one;
    known = true;
  }
  if (!known) return fmt::format("unknown figure '{}'; known are {}", options.figure, known_figures());
  if (!options.device.empty()) return fmt::format("{} is about memory of the host: leave --device out", options.figure);
  if (options.shrink != 1 || options.panel != 0) {
    return fmt::format("--shrink and --panel are for figures of gpu, not {}", options.figure);
  }
  if (!figure.setups.empty()) {  // they move no data
    std::string idle =
        why_without_effect(options, {"--figure", "--results", "--iterations"}, "a table of set-up times");
    if (!idle.empty()) return idle;
  }
  if (ranks > 0) return "";
  return why_no_launcher(options);
}

BenchPlan plan_of(const BenchOptions& options, const Plot& plot) {
  BenchPlan plan;
  BenchOptions one = options;
  one.collective = name_of(plot.collective);
  one.sizes = plot.sizes;
  one.neighborhood = plot.neighborhood;
  one.distribution = plot.distribution;
  one.grid = plot.grid;
  // Cannot fail: the names are ours, and the rest was understood before MPI started.
  understand(one, plan);
  plan.algorithms.clear();
  plan.variants = plot.variants;
  // One line twice: what the two differ by is noise.
  Variant twice = plot.variants[0];
  twice.label = again(twice.label);
  plan.variants.push_back(std::move(twice));
  return plan;
}

// By the first ranks of the run, if not by all. Returns the same everywhere; rank 0 has the results.
int measure_by_ranks(const BenchOptions& options, const Plot& plot, BenchResults& results) {
  const BenchPlan plan = plan_of(options, plot);
  if (plot.ranks == 0) return measure_plan(options, plan, results);
  int me = 0, status = 0;
  mpi().Comm_rank(mpi().comm_world, &me);
  MpiComm comm = first_ranks(plot.ranks);
  if (me < plot.ranks) status = measure_plan(options, plan, results, comm);
  sleep_until_all_are_here();
  mpi().Comm_free(&comm);
  int told[] = {status, results.too_large ? 1 : 0};
  mpi().Bcast(told, 2, mpi().int_type, 0, mpi().comm_world);
  results.rank = me;
  results.too_large = told[1] != 0;
  return told[0];
}

// What is too large for this machine is left out, and the page says so.
int measure_plots(const LabOptions& options, const Figure& figure, std::vector<PlotRows>& plots,
                  BenchResults& results) {
  int status = 0;
  for (const Plot& plot : figure.plots) {
    BenchOptions one = options;
    one.cold = plot.cold;
    one.no_ceiling = true;
    one.collective = name_of(plot.collective);
    const int plot_status = measure_by_ranks(one, plot, results);
    if (plot_status == bad_options && !results.too_large) {
      if (results.rank == 0) complain_once(results.problem);
      return bad_options;
    }
    if (!results.too_large) status = std::max(status, plot_status);
    plots.push_back({results.rows, results.too_large ? results.problem : ""});
  }
  return status;
}

int measure_figure(const LabOptions& options, const Figure& figure) {
  std::vector<std::vector<PlotRows>> runs;
  BenchResults results;
  int status = 0;
  for (int run = 1; run <= options.runs; ++run) {
    const int run_status = measure_plots(options, figure, runs.emplace_back(), results);
    if (run_status == bad_options) return run_status;
    status = std::max(status, run_status);
    if (results.rank == 0 && options.runs > 1) fmt::print("# run {} of {} is done\n", run, options.runs);
  }
  FigureRun run = make_run(results.header);
  run.facts.runs = options.runs;
  if (results.rank != 0) return status;
  std::vector<PlotRows> plots = combine_runs(runs);
  mark_same(figure, run, plots);
  return std::max(status,
                  write_results(options, figure, figure_json(figure, run, plots), figure_page(figure, run, plots)));
}

int measure_setup_table(const LabOptions& options, const Figure& figure, long iterations) {
  int rank = 0;
  mpi().Comm_rank(mpi().comm_world, &rank);
  std::vector<SetupRow> rows;
  for (const SetupCase& one : figure.setups) rows.push_back(measure_setups(mpi().comm_world, one, iterations));
  const FigureRun run = make_run(make_header());
  if (rank != 0) return 0;
  ordered_json json = head_json(figure, run);
  json["setups"] = ordered_json::array();
  for (const SetupRow& row : rows) json["setups"].push_back(to_json(row));
  json["claims"] = setup_claims(figure, run, rows);
  return write_results(options, figure, json, setup_page(figure, run, rows));
}

}  // namespace

int figure_command(const LabOptions& options) {
  if (const auto computed = computed_figure(options.figure)) return computed_figure_command(options, *computed);
  if (const auto of_gpus = gpu_figure(options.figure)) return gpu_figure_command(options, *of_gpus);
  Figure figure;
  BenchPlan plan;
  std::string problem = why_impossible(options, ranks_of_launcher(), figure);
  if (problem.empty()) {
    BenchOptions one = options;
    one.collective = name_of(figure.plots.empty() ? Collective::neighbor_alltoall : figure.plots[0].collective);
    problem = understand(one, plan);
  }
  // What the core reads when MPI starts.
  if (figure.no_node) setenv("QUADRILLE_NODES", "blocked:1", 1);
  if (problem.empty()) problem = start_mpi();
  if (!problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  int status = bad_options;
  if (problem = why_not_joined(); problem.empty()) {
    const int hosts = count_hosts();
    count_on_hosts(figure, hosts);
    problem = why_not_on_hosts(figure, hosts, ranks_of_launcher());
  }
  if (!problem.empty()) {
    complain_once(problem);
  } else if (make_folder(options.results)) {
    status =
        figure.setups.empty() ? measure_figure(options, figure) : measure_setup_table(options, figure, plan.iterations);
  }
  mpi().Finalize();
  return status;
}

}  // namespace quadrille::tools
