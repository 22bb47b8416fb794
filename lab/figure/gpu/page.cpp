// The page and the data of a figure on GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/figure/gpu/gpu_figure.hpp"
#include "lab/figure/results.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view compares[] = {"mean", "best", "worst", "each", "growth"};

ordered_json finite(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

// What a page, a verdict or a picture reads of a row; times have four digits.
ordered_json row_json(const GpuRow& one) {
  ordered_json json = {{"size", one.size}};
  json.update(to_json(one.row));
  for (const char* time : {"mpi_us", "quadrille_us"}) {
    json[time] = four_digits(json[time].get<double>());
  }
  for (const char* needless : {"nodes",
                               "ratio",
                               "pair_ratio",
                               "mpi_min_us",
                               "mpi_p90_us",
                               "mpi_p99_us",
                               "quadrille_min_us",
                               "quadrille_p90_us",
                               "quadrille_p99_us",
                               "mpi_MBps",
                               "quadrille_MBps",
                               "calls_per_batch",
                               "mpi_calls_per_batch",
                               "datatype",
                               "distribution",
                               "mean_bytes",
                               "max_bytes",
                               "neighbors",
                               "in_place",
                               "cold",
                               "seed",
                               "ceiling_us",
                               "ceiling_part",
                               "ceiling_by"}) {
    json.erase(needless);
  }
  return json;
}

ordered_json plot_json(const GpuPlot& plot, const GpuPlotRows* measured) {
  ordered_json json = {{"title", plot.title},
                       {"x", plot.over_ranks ? "ranks" : "size"},
                       {"size_of", name_of(plot.size_of)},
                       {"ranks_of_paper", plot.ranks},
                       {"sizes", plot.sizes}};
  json["lines"] = {{{"label", "mpi"}, {"algorithm", nullptr}}};
  for (const Variant& line : plot.lines)
    json["lines"].push_back({{"label", line.label}, {"algorithm", line.algorithm}});
  json["rows"] = ordered_json::array();
  if (measured == nullptr) return json;
  for (const GpuRow& one : measured->rows) json["rows"].push_back(row_json(one));
  json["left_out"] = measured->left_out;
  json["skipped"] = ordered_json::array();
  for (const GpuSkipped& one : measured->skipped) {
    json["skipped"].push_back({{"ranks", one.ranks}, {"size", one.size}, {"why", one.why}});
  }
  json["devices"] = ordered_json::array();
  for (const auto& [ranks, facts] : measured->devices) {
    json["devices"].push_back({{"ranks", ranks}, {"gpus", facts.gpus}, {"ranks_a_gpu", facts.ranks_a_gpu}});
  }
  return json;
}

ordered_json claim_json(const GpuClaim& claim, const Verdict& verdict) {
  const bool tested = verdict.word != Verdict::Word::cannot_be_told;
  ordered_json json = {{"text", claim.text},
                       {"plot", claim.plot},
                       {"fast", claim.fast},
                       {"slow", claim.slow},
                       {"compare", compares[static_cast<std::size_t>(claim.compare)]},
                       {"ranks", {claim.least_ranks, claim.most_ranks}},
                       {"paper", claim.paper},
                       {"agrees_from", claim.from},
                       {"agrees_to", finite(claim.to)},
                       {"here", tested ? ordered_json(verdict.here) : ordered_json(nullptr)},
                       {"points", verdict.points},
                       {"verdict", to_text(verdict.word)}};
  if (!tested) json["reason"] = verdict.reason;
  return json;
}

std::string table_of(const GpuPlot& plot, const GpuPlotRows& measured) {
  std::string text = fmt::format("{:>6} {:>11} {:>11} {:>12}", "ranks", "size", "block", "mpi");
  for (const Variant& line : plot.lines)
    text += fmt::format(" {:>{}}", line.label, std::max<std::size_t>(line.label.size(), 11));
  std::size_t column = 0;
  for (const GpuRow& one : measured.rows) {
    if (column == 0) {
      text += fmt::format("\n{:>6} {:>11} {:>11} {:>12.1f}", one.row.measured.ranks, one.size, one.row.measured.bytes,
                          one.row.mpi.median);
    }
    const std::size_t width = std::max<std::size_t>(plot.lines[column].label.size(), 11);
    text += fmt::format(" {:>{}.1f}", one.row.quadrille.median, width);
    column = (column + 1) % plot.lines.size();
  }
  return text + "\n";
}

std::string plot_text(const GpuPlot& plot, const GpuPlotRows& measured) {
  std::string text = fmt::format("{}: ", plot.title);
  if (measured.left_out) {
    text += "left out (--panel).\n\n";
  } else if (measured.rows.empty()) {
    text += "not measured.\n\n";
  } else {
    text += fmt::format(
        "microseconds a call, median over batches of the maximum over ranks. size is the data {}.\n\n```\n{}```\n\n",
        plot.size_of == SizeOf::pair   ? "from a rank to another"
        : plot.size_of == SizeOf::rank ? "that a rank sends in all"
                                       : "that all ranks send in all",
        table_of(plot, measured));
  }
  for (const GpuSkipped& one : measured.skipped) {
    text += fmt::format("Not measured: {} bytes with {} ranks. {}.\n\n", one.size, one.ranks, one.why);
  }
  return text;
}

std::string device_text(const FigureRun& run, const GpuMeasured& measured) {
  if (!measured.no_device.empty()) return fmt::format("{}.\n\n", measured.no_device);
  if (!run.header.device) return "";
  return fmt::format("```\n{}```\n\n", facts_text(*run.header.device));
}

std::string warnings_of(const GpuMeasured& measured) {
  std::uint64_t errors = 0;
  std::string late;
  for (const GpuPlotRows& plot : measured.plots) {
    for (const GpuRow& one : plot.rows) {
      errors += one.row.errors;
      if (!one.row.late) continue;
      const Late& who = one.row.late->late;
      late = fmt::format("{} entered each call {:.0f} us late; times are from then.\n\n",
                         who.is_drawn() ? "A rank that was drawn for each round" : fmt::format("Rank {}", who.rank),
                         who.seconds * 1e6);
    }
  }
  if (measured.shrink != 1) late += fmt::format("All sizes were divided by {}.\n\n", measured.shrink);
  return late + (errors > 0 ? fmt::format("Beware: {} wrong bytes were delivered.\n\n", errors) : "");
}

std::string names_of(const std::vector<std::string>& labels) { return fmt::format("{}", fmt::join(labels, ", ")); }

std::string compared_text(const GpuClaim& claim) {
  if (claim.compare == Compare::growth) return fmt::format("growth of {}", names_of(claim.fast));
  return fmt::format("{} over {}", names_of(claim.fast), names_of(claim.slow));
}

std::string claim_line(const GpuClaim& claim, const Verdict& verdict) {
  const bool tested = verdict.word != Verdict::Word::cannot_be_told;
  return fmt::format("| {} | {} | {} | {} | {}{} |\n", claim.text, compared_text(claim), claim.paper,
                     tested ? fmt::format("{:.2f}", verdict.here) : "-",
                     tested && claim.paper == "-" ? "no number to compare with" : to_text(verdict.word),
                     tested ? "" : ": " + verdict.reason);
}

}  // namespace

nlohmann::ordered_json to_json(const GpuFigure& figure, const FigureRun& run, const GpuMeasured& measured) {
  ordered_json json;
  if (!measured.no_device.empty()) json["no_device"] = measured.no_device;
  json["sizes_divided_by"] = measured.shrink;
  json["plots"] = ordered_json::array();
  for (std::size_t p = 0; p < figure.plots.size(); ++p) {
    json["plots"].push_back(plot_json(figure.plots[p], p < measured.plots.size() ? &measured.plots[p] : nullptr));
  }
  json["claims"] = ordered_json::array();
  for (const GpuClaim& claim : figure.claims) {
    json["claims"].push_back(claim_json(claim, verdict_of(figure, claim, measured, run.ranks)));
  }
  return json;
}

std::string gpu_page(const GpuFigure& figure, const FigureRun& run, const GpuMeasured& measured) {
  std::string text = page_head(figure.about, run) + device_text(run, measured) + warnings_of(measured);
  for (std::size_t p = 0; p < measured.plots.size(); ++p) text += plot_text(figure.plots[p], measured.plots[p]);
  text +=
      "How many times as fast; of several lines the fastest counts. A claim agrees if the number here is within the "
      "bounds "
      "that the data file has, for a number of the paper a quarter more or less.\n\n"
      "| the paper says | compared | paper | here | verdict |\n|---|---|---|---|---|\n";
  for (const GpuClaim& claim : figure.claims) text += claim_line(claim, verdict_of(figure, claim, measured, run.ranks));
  return text +
         fmt::format("\nAll numbers: [{0}.json]({0}.json), measured at {1}.\n", figure.about.name, run.header.date);
}

}  // namespace quadrille::tools
