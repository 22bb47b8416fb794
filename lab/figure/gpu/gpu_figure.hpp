// The experiments of Namugwanya et al., figures 1 to 10: Alltoallv on the memory of GPUs, over sizes and numbers of
// ranks. Each claim of the paper gets a verdict.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench_options.hpp"
#include "lab/figure/figure.hpp"
#include "lab/figure/verdict.hpp"
#include "tool/bench/report.hpp"

namespace quadrille::tools {

// What the sizes of a plot are the data of: from a rank to another, of all that a rank sends, of all that all send.
enum class SizeOf : std::uint8_t { pair, rank, all };
std::string_view name_of(SizeOf size_of);
// Bytes of a block. Pure.
std::size_t block_of(SizeOf size_of, std::size_t size, int ranks);

// A line for each variant, beside the MPI's own, which is "mpi".
struct GpuPlot {
  std::string title;
  bool over_ranks = false;  // the numbers of ranks are what is varied, else the sizes
  std::vector<int> ranks;   // of the paper
  std::vector<std::size_t> sizes;
  SizeOf size_of = SizeOf::pair;
  std::vector<Variant> lines;
};

// The numbers of ranks of a run of `ranks` at which a plot is measured: the paper's, as far as there are so many; of
// one that has less than its least, 2, 4 and so on up to all.
std::vector<int> counts_of(const GpuPlot& plot, int ranks);

// How the points of a claim become one number. A point is a number of ranks with a size.
enum class Compare : std::uint8_t {
  mean,    // how many times as fast: geometric mean
  best,    // at the point where it is most
  worst,   // at the point where it is least
  each,    // as worst, by the slowest of the lines instead of the fastest
  growth,  // of the time, from the least ranks to the most
};

struct GpuClaim {
  std::string text;  // of the paper
  std::size_t plot = 0;
  std::vector<std::string> fast, slow;                            // lines; the fastest of each counts
  int least_ranks = 0, most_ranks = 0;                            // both included
  std::size_t least = 0, most = 0;                                // as the sizes of the plot, both included
  std::string paper;                                              // its number
  double from = 1, to = std::numeric_limits<double>::infinity();  // it agrees if the number here is between these
  Compare compare = Compare::mean;
  std::string untestable{};  // why nobody can test it here
};

struct GpuFigure {
  Figure about;  // name, title, source, machine of the paper, how it is measured
  bool needs_device = true;
  std::vector<GpuPlot> plots;
  std::vector<GpuClaim> claims;
};
std::vector<GpuFigure> gpu_figures();
// Null if there is none of that name.
std::optional<GpuFigure> gpu_figure(std::string_view name);

// ---- What was measured ----

struct GpuRow {
  std::size_t size = 0;  // as those of the plot
  BenchRow row;
};
struct GpuSkipped {
  int ranks = 0;
  std::size_t size = 0;
  std::string why;
};
struct GpuPlotRows {
  bool left_out = false;  // not asked for
  std::vector<GpuRow> rows;
  std::vector<GpuSkipped> skipped;
  // [count] of ranks: the device as these ranks use it.
  std::vector<std::pair<int, DeviceFacts>> devices;
};
struct GpuMeasured {
  std::string no_device;  // why nothing was measured
  long shrink = 1;        // all sizes were divided by that
  std::vector<GpuPlotRows> plots;
};

// ---- Verdicts ----

Verdict verdict_of(const GpuFigure& figure, const GpuClaim& claim, const GpuMeasured& measured, int ranks);

nlohmann::ordered_json to_json(const GpuFigure& figure, const FigureRun& run, const GpuMeasured& measured);
std::string gpu_page(const GpuFigure& figure, const FigureRun& run, const GpuMeasured& measured);

// Runs under a launcher, as figure_command() does.
int gpu_figure_command(const LabOptions& options, const GpuFigure& figure);

}  // namespace quadrille::tools
