// The page of a figure.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "lab/figure/claims.hpp"
#include "lab/figure/figure.hpp"
#include "lab/figure/same.hpp"
#include "lab/map/map_grid.hpp"
#include "tool/bench/statistics.hpp"

namespace quadrille::tools {
namespace {

bool is_again(const std::string& label) { return label.ends_with(" again"); }

// The row of a size and a line; -1 if it was not measured. The MPI's is that of any line.
std::ptrdiff_t place_of(const PlotRows& plot, std::size_t bytes, const std::string& label) {
  for (std::size_t i = 0; i < plot.rows.size(); ++i) {
    const bool wanted = label == "mpi" || plot.rows[i].algorithm == label;
    if (wanted && plot.rows[i].measured.bytes == bytes) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

std::vector<std::size_t> sizes_of(const PlotRows& plot) {
  std::vector<std::size_t> sizes;
  for (const BenchRow& row : plot.rows) {
    if (sizes.empty() || sizes.back() != row.measured.bytes) sizes.push_back(row.measured.bytes);
  }
  return sizes;
}

// The medians of the runs; that of the row if nothing more is known.
std::vector<double> measured_medians(const PlotRows& plot, std::size_t bytes, const std::string& label) {
  const std::ptrdiff_t place = place_of(plot, bytes, label);
  if (place < 0) return {};
  const auto i = static_cast<std::size_t>(place);
  if (plot.runs.empty()) return {time_of(plot, bytes, label)};
  return label == "mpi" ? plot.runs[i].mpi : plot.runs[i].quadrille;
}

// Which of the lines was the fastest in all runs but one; in that one if there is no other.
const std::vector<double>& fastest_without(const std::vector<std::vector<double>>& lines, std::size_t run) {
  const auto mean = [run](const std::vector<double>& medians) {
    std::vector<double> others = medians;
    if (others.size() > 1) others.erase(others.begin() + static_cast<std::ptrdiff_t>(run));
    return geometric_mean(others);
  };
  return *std::min_element(lines.begin(), lines.end(),
                           [&](const auto& one, const auto& other) { return mean(one) < mean(other); });
}

std::vector<double> medians_of_switching(const PlotRows& plot, std::size_t bytes) {
  std::vector<std::vector<double>> lines;
  for (const BenchRow& row : plot.rows) {
    if (row.measured.bytes == bytes && !is_again(row.algorithm))
      lines.push_back(measured_medians(plot, bytes, row.algorithm));
  }
  std::vector<double> medians;
  for (std::size_t run = 0; !lines.empty() && run < lines[0].size(); ++run) {
    medians.push_back(fastest_without(lines, run)[run]);
  }
  return medians;
}

std::vector<double> medians_of(const PlotRows& plot, std::size_t bytes, const std::string& label) {
  return label == switching ? medians_of_switching(plot, bytes) : measured_medians(plot, bytes, label);
}

// "12.38", "12.38=" or "12.38~" where another line is the same, "12.38 (11.90..14.02)" of several runs.
std::string cell(const PlotRows& plot, std::size_t bytes, const std::string& label) {
  std::string text = fmt::format("{:.2f}", time_of(plot, bytes, label));
  const std::vector<double> runs = medians_of(plot, bytes, label);
  if (runs.size() > 1) {
    text += fmt::format(" ({:.2f}..{:.2f})", *std::min_element(runs.begin(), runs.end()),
                        *std::max_element(runs.begin(), runs.end()));
  }
  if (const SameLine* same = find_same(plot.same, bytes, label)) text += same->in_sequence ? "=" : "~";
  return text;
}

std::string table(const Plot& plot, const PlotRows& measured) {
  std::vector<std::string> labels = {"mpi"};
  for (const Variant& variant : plot.variants) labels.push_back(variant.label);
  if (!plot.variants.empty() && place_of(measured, sizes_of(measured)[0], again(labels[1])) >= 0) {
    labels.push_back(again(labels[1]));
  }
  const bool has_runs = !measured.runs.empty() && measured.runs[0].mpi.size() > 1;
  const int width = has_runs ? 30 : 12;
  std::string text = fmt::format("{:>10}", "bytes");
  for (const std::string& label : labels) text += fmt::format(" {:>{}}", label, width);
  text += '\n';
  for (const std::size_t bytes : sizes_of(measured)) {
    text += fmt::format("{:>10}", bytes);
    for (const std::string& label : labels) text += fmt::format(" {:>{}}", cell(measured, bytes, label), width);
    text += '\n';
  }
  return text;
}

// Lines that another algorithm served, and wrong bytes.
std::string warnings(const Figure& figure, const std::vector<PlotRows>& plots) {
  std::string text;
  std::set<std::string> others;
  std::uint64_t errors = 0;
  for (std::size_t p = 0; p < plots.size(); ++p) {
    for (const BenchRow& row : plots[p].rows) {
      errors += row.errors;
      for (const Variant& variant : figure.plots[p].variants) {
        if (variant.label == row.algorithm && !row.served_by.starts_with(variant.algorithm)) {
          others.insert(fmt::format("`{}` served `{}`", row.served_by, row.algorithm));
        }
      }
    }
  }
  for (const std::string& other : others) text += fmt::format("Beware: {}.\n\n", other);
  if (errors > 0) text += fmt::format("Beware: {} wrong bytes were delivered.\n\n", errors);
  return text;
}

std::string notes(const Plot& plot, const PlotRows& measured) {
  std::string text;
  if (const std::string same = same_text(measured.same, true); !same.empty()) {
    text +=
        fmt::format("Identical here (`=`), as their schedules are equal: {}. What they differ by is noise.\n\n", same);
  }
  if (const std::string same = same_text(measured.same, false); !same.empty()) {
    text += fmt::format("The same copies by the same ranks here (`~`), in another sequence alone: {}.\n\n", same);
  }
  if (const Noise noise = noise_of(plot, measured); noise.most > 0) {
    text += fmt::format(
        "Noise: `{}` was measured twice. The two times differ by a factor of {:.3f} in the mean, {:.2f} at most (at {} "
        "bytes).\n\n",
        noise.line, noise.mean, noise.most, noise.at);
  }
  return text;
}

std::string plot_text(const Plot& plot, const PlotRows& measured, int runs) {
  if (!measured.skipped.empty()) return fmt::format("{}: not measured. {}.\n\n", plot.title, measured.skipped);
  if (measured.rows.empty()) return fmt::format("{}: not measured.\n\n", plot.title);
  const std::string what =
      runs > 1
          ? fmt::format("median of the medians of {} runs (least..most); each over batches of the maximum over ranks",
                        runs)
          : "median over batches of the maximum over ranks";
  return fmt::format("{}: microseconds a call, {}.\n\n```\n{}```\n\n", plot.title, what, table(plot, measured)) +
         notes(plot, measured);
}

// Who is the fastest, N by P, as in figure 9 of Fan et al.
std::string map_of_plots(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots) {
  MapGrid grid;
  for (std::size_t p = 0; p < plots.size(); ++p) {
    const auto ranks = static_cast<std::size_t>(ranks_of(figure.plots[p], run.ranks));
    for (const Variant& variant : figure.plots[p].variants) {
      for (const std::size_t bytes : plots[p].rows.empty() ? std::vector<std::size_t>{} : sizes_of(plots[p])) {
        const double mpi = time_of(plots[p], bytes, "mpi");
        put_faster(grid, bytes, ranks, {variant.algorithm, time_of(plots[p], bytes, variant.label), mpi});
        put_faster(grid, bytes, ranks, {"mpi", mpi, mpi});
      }
    }
  }
  if (grid.empty()) return "";
  return fmt::format("The fastest of these lines and the MPI's own, which is S too:\n\n```\n{}```\n\n", map_text(grid));
}

std::string claim_line(const Claim& claim, const ClaimResult& result, const FigureRun& run) {
  const bool has_runs = run.facts.runs > 1;
  std::string here = "-";
  if (result.sizes > 0) here = fmt::format("{:.2f}", result.here);
  if (result.sizes > 0 && has_runs) here += fmt::format(" ({:.2f}..{:.2f})", result.least, result.most);
  std::string verdict = status_of(claim, result);
  if (verdict.empty()) verdict = "no number to compare with";
  if (!result.verdict.reason.empty()) verdict += ": " + result.verdict.reason;
  if (result.verdict.reason.empty() && !result.verdict.scale.empty())
    verdict += " at this scale: " + result.verdict.scale;
  if (!result.verdict.note.empty()) verdict += "; " + result.verdict.note;
  return fmt::format("| {} | {} over {} | {} | {} | {} | {} |\n", text_of(claim, run), claim.fast, claim.slow,
                     claim.paper, here, result.sizes, verdict);
}

}  // namespace

std::string again(const std::string& label) { return label + " again"; }

double time_of(const PlotRows& plot, std::size_t bytes, const std::string& label) {
  const std::ptrdiff_t place = place_of(plot, bytes, label);
  if (place < 0) return 0;
  const BenchRow& row = plot.rows[static_cast<std::size_t>(place)];
  return label == "mpi" ? row.mpi.median : row.quadrille.median;
}

std::vector<double> speedups_of_runs(const Claim& claim, const PlotRows& plot, const PlotRows& of_slow,
                                     std::size_t& sizes) {
  std::vector<std::vector<double>> speedups;  // [run][size]
  sizes = 0;
  for (const std::size_t bytes : sizes_of(plot)) {
    if (bytes < claim.least || bytes > claim.most) continue;
    const bool one_panel = claim.slow_plot < 0;
    if (one_panel && first_like(plot, bytes, claim.fast) == first_like(plot, bytes, claim.slow)) continue;
    const std::vector<double> fast = medians_of(plot, bytes, claim.fast), slow = medians_of(of_slow, bytes, claim.slow);
    const std::size_t runs = std::min(fast.size(), slow.size());
    speedups.resize(std::max(speedups.size(), runs));
    for (std::size_t run = 0; run < runs; ++run) {
      if (fast[run] > 0 && slow[run] > 0) speedups[run].push_back(slow[run] / fast[run]);
    }
    if (runs > 0) ++sizes;
  }
  std::vector<double> means;
  for (const std::vector<double>& one : speedups) means.push_back(geometric_mean(one));
  return means;
}

std::string page_head(const Figure& figure, const FigureRun& run) {
  std::string text = fmt::format("# {}\n\nSource: {}.\n\n{}\n\n", figure.title, figure.source, figure.how);
  const std::string hosts = run.hosts > 1 ? fmt::format("{} hosts with ", run.hosts) : "";
  text += fmt::format("`{}`, {} rank{} on {}{} processor{} of {}, {}. The paper: {}.\n\n", run.command, run.ranks,
                      run.ranks == 1 ? "" : "s", hosts, run.processors, run.processors == 1 ? "" : "s", run.header.cpu,
                      run.header.mpi, figure.paper_machine);
  if (const std::string facts = facts_line(run.facts); !facts.empty()) text += facts + "\n\n";
  if (run.ranks > run.hosts * run.processors) {
    text += fmt::format(
        "There were {} ranks on {} processors: the time slices of the system are "
        "measured too, and the ranks of a processor share its caches.\n\n",
        run.ranks, run.hosts * run.processors);
  }
  return text;
}

std::string figure_page(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots) {
  std::string text = page_head(figure, run) + warnings(figure, plots);
  if (figure.has_map) text += map_of_plots(figure, run, plots);
  for (std::size_t p = 0; p < plots.size(); ++p) text += plot_text(figure.plots[p], plots[p], run.facts.runs);
  text +=
      "How many times as fast, geometric mean over the sizes:\n\n"
      "| the paper says | compared | paper | here | sizes | verdict |\n|---|---|---|---|---|---|\n";
  for (const Claim& claim : figure.claims) {
    text += claim_line(claim, result_of(figure, claim, run, plots), run);
  }
  return text + fmt::format("\nMeasured at {}.\n", run.header.date);
}

}  // namespace quadrille::tools
