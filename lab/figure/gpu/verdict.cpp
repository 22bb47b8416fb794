#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/figure/gpu/gpu_figure.hpp"
#include "lab/figure/gpu/lines.hpp"

namespace quadrille::tools {
namespace {

using Labels = std::vector<std::string>;

struct Point {
  int ranks;
  std::size_t size;
};

std::vector<Point> points_of(const GpuPlot& plot, const GpuClaim& claim) {
  std::vector<Point> points;
  for (const int ranks : plot.ranks) {
    for (const std::size_t size : plot.sizes) {
      const bool inside =
          claim.least_ranks <= ranks && ranks <= claim.most_ranks && claim.least <= size && size <= claim.most;
      if (inside) points.push_back({ranks, size});
    }
  }
  return points;
}

// Microseconds; 0 if it was not measured.
double time_at(const GpuPlotRows& measured, const Point& point, const std::string& label) {
  for (const GpuRow& one : measured.rows) {
    if (one.row.measured.ranks != point.ranks || one.size != point.size) continue;
    if (label == "mpi") return one.row.mpi.median;
    if (label == one.row.algorithm) return one.row.quadrille.median;
  }
  return 0;
}

// Of the fastest of the lines, or of the slowest.
double time_of_lines(const GpuPlotRows& measured, const Point& point, const Labels& labels, bool slowest) {
  std::vector<double> times;
  for (const std::string& label : labels) times.push_back(time_at(measured, point, label));
  if (times.empty()) return 0;
  return slowest ? *std::max_element(times.begin(), times.end()) : *std::min_element(times.begin(), times.end());
}

Labels lines_of(const GpuClaim& claim) {
  Labels labels = claim.fast;
  labels.insert(labels.end(), claim.slow.begin(), claim.slow.end());
  return labels;
}

std::string why_missing(const GpuPlotRows& measured, const Point& point, int ranks) {
  if (point.ranks > ranks) return fmt::format("{} ranks are needed, and there were {}", point.ranks, ranks);
  for (const GpuSkipped& skipped : measured.skipped) {
    if (skipped.ranks == point.ranks && skipped.size == point.size) return skipped.why;
  }
  return fmt::format("{} bytes with {} ranks were not measured", point.size, point.ranks);
}

std::string why_not_all_points(const GpuPlotRows& measured, const GpuClaim& claim, const std::vector<Point>& points,
                               int ranks) {
  // The point that needs most.
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    for (const std::string& label : lines_of(claim)) {
      if (time_at(measured, *point, label) == 0) return why_missing(measured, *point, ranks);
    }
  }
  return "";
}

std::string why_not_these_gpus(const GpuPlotRows& measured) {
  for (const auto& [ranks, facts] : measured.devices) {
    if (facts.standin) return "no GPU: a stand-in of a driver, whose times say nothing";
    if (facts.ranks_a_gpu > 1 && facts.gpus == 1) return fmt::format("one GPU for {} ranks", ranks);
    if (facts.ranks_a_gpu > 1) return fmt::format("{} GPUs for {} ranks", facts.gpus, ranks);
  }
  return "";
}

// A line did something else than its name says.
std::string why_not_as_named(const GpuFigure& figure, const GpuPlotRows& measured, const GpuClaim& claim) {
  const Labels labels = lines_of(claim);
  const auto is_compared = [&](const std::string& label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  };
  for (const auto& [ranks, facts] : measured.devices) {
    if (is_compared("mpi") && facts.stages_mpi) return "the MPI was not given the memory of the GPUs";
  }
  for (const GpuRow& one : measured.rows) {
    for (const Variant& line : figure.plots[claim.plot].lines) {
      if (line.label != one.row.algorithm || !is_compared(line.label) || line.algorithm == "default") continue;
      if (!one.row.served_by.starts_with(line.algorithm)) {
        return fmt::format("{} served {}", one.row.served_by, line.label);
      }
      if (figure.needs_device && !line.algorithm.starts_with("copy-to-cpu") && one.row.path != "straight") {
        return fmt::format("{} went over the host: the MPI does not take the memory of GPUs", line.label);
      }
    }
  }
  return "";
}

std::string why_not_these_times(const GpuPlotRows& measured) {
  for (const GpuRow& one : measured.rows) {
    if (one.row.errors > 0) return "wrong bytes were delivered";
    if (one.row.late) return "a rank was late, and the paper's were not";
  }
  return "";
}

std::string why_untestable(const GpuFigure& figure, const GpuClaim& claim, const GpuMeasured& measured, int ranks) {
  if (!measured.no_device.empty()) return "no GPU";
  if (!claim.untestable.empty()) return claim.untestable;
  const GpuPlotRows& rows = measured.plots[claim.plot];
  if (rows.left_out) return "its panel was left out (--panel)";
  if (std::string why = why_not_these_gpus(rows); !why.empty()) return why;
  if (measured.shrink != 1) return fmt::format("all sizes were divided by {}", measured.shrink);
  if (std::string why = why_not_these_times(rows); !why.empty()) return why;
  const std::vector<Point> points = points_of(figure.plots[claim.plot], claim);
  if (std::string why = why_not_all_points(rows, claim, points, ranks); !why.empty()) return why;
  return why_not_as_named(figure, rows, claim);
}

double number_of(const std::vector<double>& ratios, Compare compare) {
  if (compare == Compare::mean) return geometric_mean(ratios);
  if (compare == Compare::best) return *std::max_element(ratios.begin(), ratios.end());
  return *std::min_element(ratios.begin(), ratios.end());
}

double compared(const GpuPlotRows& measured, const GpuClaim& claim, const std::vector<Point>& points) {
  if (claim.compare == Compare::growth) {
    return time_of_lines(measured, points.back(), claim.fast, false) /
           time_of_lines(measured, points.front(), claim.fast, false);
  }
  std::vector<double> ratios;
  for (const Point& point : points) {
    ratios.push_back(time_of_lines(measured, point, claim.slow, false) /
                     time_of_lines(measured, point, claim.fast, claim.compare == Compare::each));
  }
  return number_of(ratios, claim.compare);
}

}  // namespace

Verdict verdict_of(const GpuFigure& figure, const GpuClaim& claim, const GpuMeasured& measured, int ranks) {
  Verdict verdict;
  verdict.reason = why_untestable(figure, claim, measured, ranks);
  if (!verdict.reason.empty()) return verdict;
  const std::vector<Point> points = points_of(figure.plots[claim.plot], claim);
  verdict.points = points.size();
  verdict.here = compared(measured.plots[claim.plot], claim, points);
  const bool agrees = claim.from <= verdict.here && verdict.here <= claim.to;
  verdict.word = agrees ? Verdict::Word::agrees : Verdict::Word::disagrees;
  return verdict;
}

}  // namespace quadrille::tools
