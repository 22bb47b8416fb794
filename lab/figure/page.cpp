// The page of a figure.
#include <fmt/core.h>

#include <set>

#include "lab/figure/figure.hpp"

namespace quadrille::tools {
namespace {

// The row of a size and a variant; null if it was not measured.
const BenchRow* find_row(const PlotRows& plot, std::size_t bytes, const std::string& label) {
  for (const BenchRow& row : plot.rows) {
    if (row.measured.bytes == bytes && row.algorithm == label) return &row;
  }
  return nullptr;
}

std::vector<std::size_t> sizes_of(const PlotRows& plot) {
  std::vector<std::size_t> sizes;
  for (const BenchRow& row : plot.rows) {
    if (sizes.empty() || sizes.back() != row.measured.bytes) sizes.push_back(row.measured.bytes);
  }
  return sizes;
}

double time_of(const PlotRows& plot, std::size_t bytes, const std::string& label) {
  if (label == "mpi") {
    for (const BenchRow& row : plot.rows) {
      if (row.measured.bytes == bytes) return row.mpi.median;
    }
    return 0;
  }
  const BenchRow* row = find_row(plot, bytes, label);
  return row == nullptr ? 0 : row->quadrille.median;
}

std::string table(const Plot& plot, const PlotRows& measured) {
  std::string text = fmt::format("{:>10} {:>12}", "bytes", "mpi");
  for (const Variant& variant : plot.variants) text += fmt::format(" {:>12}", variant.label);
  text += '\n';
  for (const std::size_t bytes : sizes_of(measured)) {
    text += fmt::format("{:>10} {:>12.2f}", bytes, time_of(measured, bytes, "mpi"));
    for (const Variant& variant : plot.variants) {
      text += fmt::format(" {:>12.2f}", time_of(measured, bytes, variant.label));
    }
    text += '\n';
  }
  return text;
}

// Variants that something else carried out, and wrong bytes.
std::string warnings(const Figure& figure, const std::vector<PlotRows>& plots) {
  std::string text;
  std::set<std::string> others;
  std::uint64_t errors = 0;
  for (std::size_t p = 0; p < plots.size(); ++p) {
    for (const BenchRow& row : plots[p].rows) {
      errors += row.errors;
      for (const Variant& variant : figure.plots[p].variants) {
        if (variant.label == row.algorithm && !row.served_by.starts_with(variant.algorithm)) {
          others.insert(fmt::format("`{}` was carried out by `{}`", row.algorithm, row.served_by));
        }
      }
    }
  }
  for (const std::string& other : others) text += fmt::format("Beware: {}.\n\n", other);
  if (errors > 0) text += fmt::format("Beware: {} wrong bytes were delivered.\n\n", errors);
  return text;
}

std::string plot_text(const Plot& plot, const PlotRows& measured) {
  if (!measured.skipped.empty()) return fmt::format("{}: not measured. {}.\n\n", plot.title, measured.skipped);
  return fmt::format("{}: microseconds a call, median over batches of the maximum over ranks.\n\n```\n{}```\n\n",
                     plot.title, table(plot, measured));
}

}  // namespace

double speedup_of(const Claim& claim, const PlotRows& plot, std::size_t& sizes) {
  std::vector<double> speedups;
  for (const std::size_t bytes : sizes_of(plot)) {
    if (bytes < claim.least || bytes > claim.most) continue;
    const double fast = time_of(plot, bytes, claim.fast), slow = time_of(plot, bytes, claim.slow);
    if (fast > 0 && slow > 0) speedups.push_back(slow / fast);
  }
  sizes = speedups.size();
  return geometric_mean(speedups);
}

std::string page_head(const Figure& figure, const FigureRun& run) {
  std::string text =
      fmt::format("# {}\n\nSource: {}.\n\n{}\n\n", figure.title, figure.source, figure.how);
  const std::string hosts = run.hosts > 1 ? fmt::format("{} hosts with ", run.hosts) : "";
  text += fmt::format("`{}`, {} rank{} on {}{} processor{} of {}, {}. The paper: {}.\n\n",
                      run.command, run.ranks, run.ranks == 1 ? "" : "s", hosts, run.processors,
                      run.processors == 1 ? "" : "s", run.header.cpu, run.header.mpi,
                      figure.paper_machine);
  if (run.ranks > run.hosts * run.processors) {
    text += fmt::format(
        "There were {} ranks on {} processors: the time slices of the system are "
        "measured too, and the ranks of a processor share its caches.\n\n",
        run.ranks, run.hosts * run.processors);
  }
  if (run.ranks == 2 && !figure.of_two_ranks.empty()) text += figure.of_two_ranks + "\n\n";
  return text;
}

std::string figure_page(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots) {
  std::string text = page_head(figure, run) + warnings(figure, plots);
  for (std::size_t p = 0; p < plots.size(); ++p) text += plot_text(figure.plots[p], plots[p]);
  text +=
      "How many times as fast, geometric mean over the sizes:\n\n"
      "| the paper says | compared | paper | here | sizes |\n|---|---|---|---|---|\n";
  for (const Claim& claim : figure.claims) {
    std::size_t sizes = 0;
    const double here = claim.plot < plots.size() ? speedup_of(claim, plots[claim.plot], sizes) : 0;
    text += fmt::format("| {} | {} over {} | {} | {} | {} |\n", claim.text, claim.fast, claim.slow,
                        claim.paper, sizes == 0 ? "-" : fmt::format("{:.2f}", here), sizes);
  }
  return text + fmt::format("\nAll numbers: [{0}.json]({0}.json), measured at {1}.\n", figure.name,
                            run.header.date);
}

}  // namespace quadrille::tools
