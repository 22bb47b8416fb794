// Measures a figure on GPUs: each plot with each of its numbers of ranks, which are the first ones of the run. The
// others sleep meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/figure/first_ranks.hpp"
#include "lab/figure/gpu/gpu_figure.hpp"
#include "lab/figure/results.hpp"
#include "mpi/mpi.hpp"
#include "tool/bench/bench.hpp"
#include "tool/bench/device/session.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {

std::string_view name_of(SizeOf size_of) {
  constexpr std::string_view names[] = {"pair", "rank", "all"};
  return names[static_cast<std::size_t>(size_of)];
}

std::size_t block_of(SizeOf size_of, std::size_t size, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  if (size_of == SizeOf::pair) return size;
  return size_of == SizeOf::rank ? size / count : size / (count * count);
}

std::vector<int> counts_of(const GpuPlot& plot, int ranks) {
  if (!plot.over_ranks) return {std::min(plot.ranks.back(), ranks)};
  std::vector<int> counts;
  for (const int count : plot.ranks) {
    if (count <= ranks) counts.push_back(count);
  }
  if (!counts.empty()) return counts;
  for (int count = 2; count < ranks; count *= 2) counts.push_back(count);
  counts.push_back(ranks);
  return counts;
}

namespace {

constexpr long paper_iterations = 1000;
constexpr double paper_seconds = 2;
constexpr Collective measured_collective = Collective::alltoallv;

std::string why_not_this_figure(const LabOptions& options, const GpuFigure& figure, BenchPlan& plan) {
  if (options.runs > 1) return fmt::format("--runs is for figures of the host, not {}", options.figure);
  if (!figure.needs_device && (!options.device.empty() || options.stage_mpi)) {
    return fmt::format("{} is about memory of the host: leave --device and --stage-mpi out", options.figure);
  }
  BenchOptions one = options;
  one.collective = name_of(measured_collective);
  // Which of the drivers is found out later.
  if (figure.needs_device && one.device.empty()) one.device = "cuda";
  if (static_cast<std::size_t>(options.panel) > figure.plots.size()) {
    return fmt::format("{} has {} panel{}", options.figure, figure.plots.size(), figure.plots.size() == 1 ? "" : "s");
  }
  if (std::string error = understand(one, plan); !error.empty()) return error;
  return ranks_of_launcher() > 0 ? "" : why_no_launcher(options);
}

// The driver that was asked for, else the one that is there; CUDA's problem if there is none.
DeviceStart start_any_device(const LabOptions& options, const BenchPlan& plan) {
  DeviceStart start = start_device(*plan.device);
  if (!options.device.empty() || start.gpu != nullptr) return start;
  DeviceStart other = start_device(DeviceKind::hip);
  return other.gpu != nullptr ? std::move(other) : std::move(start);
}

// One plot with one number of ranks, on their communicator.
class CountMeasurement {
 public:
  CountMeasurement(const LabOptions& options, BenchPlan plan, const GpuPlot& plot, int ranks, GpuPlotRows& made)
      : options_(options), plan_(std::move(plan)), plot_(plot), ranks_(ranks), made_(made), sizes_(plot.sizes) {
    options_.collective = name_of(measured_collective);
    options_.no_ceiling = true;
    plan_.algorithms.clear();
    plan_.variants = plot.lines;
    plan_.checks_timed_calls = true;
    if (plan_.iterations > 0) return;
    plan_.iterations = paper_iterations;
    plan_.seconds = paper_seconds;
  }

  // Returns the exit status.
  int run(MpiComm comm, BenchResults& results) {
    int status = 0;
    const auto shrink = static_cast<std::size_t>(options_.shrink);
    while (!sizes_.empty()) {
      plan_.sizes.clear();
      for (const std::size_t size : sizes_) plan_.sizes.push_back(block_of(plot_.size_of, size / shrink, ranks_));
      status = measure_plan(options_, plan_, results, comm);
      if (!results.too_large) break;
      made_.skipped.push_back({ranks_, sizes_.back(), results.problem});
      sizes_.pop_back();
    }
    if (status == bad_options) status = sizes_.empty() ? 0 : status;
    keep(results);
    return status;
  }

 private:
  void keep(const BenchResults& results) {
    if (sizes_.empty()) return;
    const std::size_t lines = plot_.lines.size();
    for (std::size_t i = 0; i < results.rows.size(); ++i) made_.rows.push_back({sizes_[i / lines], results.rows[i]});
    if (results.header.device) made_.devices.emplace_back(ranks_, *results.header.device);
  }

  LabOptions options_;
  BenchPlan plan_;
  const GpuPlot& plot_;
  int ranks_;
  GpuPlotRows& made_;
  std::vector<std::size_t> sizes_;  // those that fit
};

// Rank 0 gets all that was measured.
int measure_all(const LabOptions& options, const BenchPlan& plan, const GpuFigure& figure, GpuMeasured& measured,
                BenchHeader& header) {
  int ranks = 1, me = 0, status = 0;
  mpi().Comm_size(mpi().comm_world, &ranks);
  mpi().Comm_rank(mpi().comm_world, &me);
  for (const GpuPlot& plot : figure.plots) {
    GpuPlotRows& made = measured.plots.emplace_back();
    made.left_out = options.panel != 0 && static_cast<std::size_t>(options.panel) != measured.plots.size();
    if (made.left_out) continue;
    for (const int count : counts_of(plot, ranks)) {
      MpiComm comm = first_ranks(count);
      if (me < count) {
        BenchResults results;
        status = std::max(status, CountMeasurement(options, plan, plot, count, made).run(comm, results));
        header = results.header;
        if (!results.problem.empty() && !results.too_large && me == 0) complain(results.problem);
      }
      sleep_until_all_are_here();
      mpi().Comm_free(&comm);
    }
  }
  mpi().Bcast(&status, 1, mpi().int_type, 0, mpi().comm_world);
  return status;
}

int write_figure(const LabOptions& options, const GpuFigure& figure, const FigureRun& run,
                 const GpuMeasured& measured) {
  nlohmann::ordered_json json = head_json(figure.about, run);
  json.update(to_json(figure, run, measured));
  const std::string page = gpu_page(figure, run, measured);
  if (measured.no_device.empty()) return write_results(options, figure.about, json, page);
  fmt::print("{}\n", measured.no_device);
  return write_data(options, figure.about.name, json);
}

std::string cannot_be_tested(const GpuFigure& figure, const std::string& problem) {
  const std::vector<int>& ranks = figure.plots[0].ranks;
  const std::string count =
      ranks.size() > 1 ? fmt::format("{} to {}", ranks.front(), ranks.back()) : fmt::format("{}", ranks.front());
  return fmt::format("{} cannot be tested here: {}; the paper has {} ranks, a GPU each", figure.about.name, problem,
                     count);
}

int run_figure(const LabOptions& options, BenchPlan& plan, const GpuFigure& figure, DeviceStart device) {
  GpuMeasured measured;
  measured.shrink = options.shrink;
  BenchHeader header = make_header();
  int status = 0, rank = 0;
  mpi().Comm_rank(mpi().comm_world, &rank);
  if (figure.needs_device) {
    const std::string problem = join_devices(std::move(device), true, plan.device_run);
    if (!problem.empty()) measured.no_device = cannot_be_tested(figure, problem);
  }
  if (measured.no_device.empty()) status = measure_all(options, plan, figure, measured, header);
  if (status == bad_options) return status;
  const FigureRun run = make_run(header);
  return rank == 0 ? std::max(status, write_figure(options, figure, run, measured)) : status;
}

}  // namespace

int gpu_figure_command(const LabOptions& options, const GpuFigure& figure) {
  BenchPlan plan;
  if (std::string problem = why_not_this_figure(options, figure, plan); !problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  DeviceStart device;
  if (figure.needs_device) device = start_any_device(options, plan);
  if (std::string problem = start_mpi(); !problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  int status = bad_options;
  if (std::string problem = why_not_joined(); !problem.empty()) {
    complain_once(problem);
  } else if (make_folder(options.results)) {
    status = run_figure(options, plan, figure, std::move(device));
  }
  mpi().Finalize();
  return status;
}

}  // namespace quadrille::tools
