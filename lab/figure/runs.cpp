#include "lab/figure/runs.hpp"

#include <algorithm>

#include "tool/bench/statistics.hpp"

namespace quadrille::tools {
namespace {

const BenchRow* row_like(const PlotRows& plot, const BenchRow& wanted) {
  for (const BenchRow& row : plot.rows) {
    if (row.algorithm == wanted.algorithm && row.measured.bytes == wanted.measured.bytes) return &row;
  }
  return nullptr;
}

double median_over(const std::vector<const BenchRow*>& rows, double (*number)(const BenchRow&)) {
  std::vector<double> numbers;
  for (const BenchRow* row : rows) numbers.push_back(number(*row));
  return quantile(numbers, 0.5);
}

// Of the medians; what is least is so over all runs.
Summary summary_over(const std::vector<const BenchRow*>& rows, Summary BenchRow::*which) {
  std::vector<double> medians, least, p90, p99;
  for (const BenchRow* row : rows) {
    medians.push_back((row->*which).median);
    least.push_back((row->*which).least);
    p90.push_back((row->*which).p90);
    p99.push_back((row->*which).p99);
  }
  return {quantile(medians, 0.5), *std::min_element(least.begin(), least.end()), quantile(p90, 0.5),
          quantile(p99, 0.5)};
}

BenchRow combine_rows(const std::vector<const BenchRow*>& rows) {
  BenchRow row = *rows[0];
  row.mpi = summary_over(rows, &BenchRow::mpi);
  row.quadrille = summary_over(rows, &BenchRow::quadrille);
  row.ratio = row.mpi.median > 0 ? row.quadrille.median / row.mpi.median : 0;
  row.pair_ratio = median_over(rows, [](const BenchRow& one) { return one.pair_ratio; });
  for (std::size_t i = 1; i < rows.size(); ++i) {
    row.errors += rows[i]->errors;
    // What carried the line out in one run did not in another: that is to be seen.
    if (rows[i]->served_by != row.served_by) row.served_by = rows[i]->served_by + " or " + row.served_by;
  }
  return row;
}

RowRuns runs_of(const std::vector<const BenchRow*>& rows) {
  RowRuns runs;
  for (const BenchRow* row : rows) {
    runs.mpi.push_back(row->mpi.median);
    runs.quadrille.push_back(row->quadrille.median);
  }
  return runs;
}

PlotRows combine_plot(const std::vector<std::vector<PlotRows>>& runs, std::size_t plot) {
  PlotRows made;
  for (const std::vector<PlotRows>& run : runs) {
    if (!run[plot].skipped.empty()) made.skipped = run[plot].skipped;
  }
  if (!made.skipped.empty()) return made;
  made.same = runs[0][plot].same;
  for (const BenchRow& first : runs[0][plot].rows) {
    std::vector<const BenchRow*> rows;
    for (const std::vector<PlotRows>& run : runs) {
      if (const BenchRow* row = row_like(run[plot], first)) rows.push_back(row);
    }
    if (rows.size() < runs.size()) continue;
    made.rows.push_back(combine_rows(rows));
    made.runs.push_back(runs_of(rows));
  }
  return made;
}

}  // namespace

std::vector<PlotRows> combine_runs(const std::vector<std::vector<PlotRows>>& runs) {
  std::vector<PlotRows> plots;
  for (std::size_t plot = 0; plot < runs[0].size(); ++plot) plots.push_back(combine_plot(runs, plot));
  return plots;
}

}  // namespace quadrille::tools
