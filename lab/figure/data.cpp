// The data of a figure, as they are written, and its claims.
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/figure/claims.hpp"
#include "lab/figure/figure.hpp"
#include "lab/figure/results.hpp"
#include "lab/figure/same.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

std::vector<double> short_numbers(const std::vector<double>& numbers) {
  std::vector<double> all;
  for (const double one : numbers) all.push_back(four_digits(one));
  return all;
}

ordered_json row_json(const PlotRows& plot, std::size_t i) {
  const BenchRow& row = plot.rows[i];
  const RowRuns runs = i < plot.runs.size() ? plot.runs[i] : RowRuns{{row.mpi.median}, {row.quadrille.median}};
  ordered_json json = {{"line", row.algorithm},
                       {"bytes", row.measured.bytes},
                       {"us", short_numbers(runs.quadrille)},
                       {"mpi_us", short_numbers(runs.mpi)},
                       {"by", row.served_by},
                       {"errors", row.errors},
                       {"samples", row.batches}};
  if (const SameLine* same = find_same(plot.same, row.measured.bytes, row.algorithm)) {
    json[same->in_sequence ? "identical_to" : "same_copies_as"] = same->as;
  }
  return json;
}

ordered_json plot_json(const Plot& plot, const PlotRows& measured, int ranks) {
  ordered_json json = {{"title", plot.title}, {"ranks", ranks_of(plot, ranks)}};
  if (!measured.skipped.empty()) json["skipped"] = measured.skipped;
  json["rows"] = ordered_json::array();
  for (std::size_t i = 0; i < measured.rows.size(); ++i) json["rows"].push_back(row_json(measured, i));
  return json;
}

ordered_json claim_json(const Figure& figure, const Claim& claim, const FigureRun& run,
                        const std::vector<PlotRows>& plots) {
  const ClaimResult result = result_of(figure, claim, run, plots);
  ordered_json json = {{"text", text_of(claim, run)}, {"fast", claim.fast}, {"slow", claim.slow},
                       {"paper", claim.paper},        {"here", nullptr},    {"sizes", result.sizes}};
  if (result.sizes > 0) {
    json["here"] = result.here;
    json["least"] = result.least;
    json["most"] = result.most;
  }
  const std::string status = status_of(claim, result);
  json["verdict"] = status.empty() ? ordered_json(nullptr) : ordered_json(status);
  if (!result.verdict.reason.empty()) json["reason"] = result.verdict.reason;
  if (!result.verdict.note.empty()) json["note"] = result.verdict.note;
  if (!status.empty() && !result.verdict.scale.empty()) json["scale"] = result.verdict.scale;
  return json;
}

}  // namespace

double four_digits(double number) {
  if (number == 0 || !std::isfinite(number)) return number;
  const int places = 3 - static_cast<int>(std::floor(std::log10(std::abs(number))));
  const double scale = std::pow(10, std::abs(places));
  return places < 0 ? std::round(number / scale) * scale : std::round(number * scale) / scale;
}

ordered_json claims_json(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots) {
  ordered_json claims = ordered_json::array();
  for (const Claim& claim : figure.claims) claims.push_back(claim_json(figure, claim, run, plots));
  return claims;
}

ordered_json figure_json(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots) {
  ordered_json json = head_json(figure, run);
  json["plots"] = ordered_json::array();
  for (std::size_t p = 0; p < plots.size(); ++p) {
    // What was not measured yet is not there.
    if (plots[p].rows.empty() && plots[p].skipped.empty()) continue;
    json["plots"].push_back(plot_json(figure.plots[p], plots[p], run.ranks));
  }
  return json;
}

}  // namespace quadrille::tools
