// The data of a figure, as they are written.
#include <nlohmann/json.hpp>

#include "lab/figure/claims.hpp"
#include "lab/figure/figure.hpp"
#include "lab/figure/results.hpp"
#include "lab/figure/same.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

ordered_json row_json(const PlotRows& plot, std::size_t i) {
  ordered_json json = to_json(plot.rows[i]);
  if (const SameLine* same = find_same(plot.same, plot.rows[i].measured.bytes, plot.rows[i].algorithm)) {
    json[same->in_sequence ? "identical_to" : "same_copies_as"] = same->as;
  }
  if (i >= plot.runs.size()) return json;
  const RowRuns& runs = plot.runs[i];
  json["runs"] = {{"mpi_us", runs.mpi}, {"quadrille_us", runs.quadrille}};
  // Those of the MPI are in the row of the first line.
  if (!runs.mpi_samples.empty() && !runs.mpi_samples[0].empty()) json["mpi_samples_us"] = runs.mpi_samples;
  json["samples_us"] = runs.samples;
  return json;
}

ordered_json plot_json(const Plot& plot, const PlotRows& measured) {
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < measured.rows.size(); ++i) rows.push_back(row_json(measured, i));
  ordered_json json = {{"title", plot.title}, {"rows", rows}};
  if (!measured.skipped.empty()) json["skipped"] = measured.skipped;
  if (const Noise noise = noise_of(plot, measured); noise.most > 0) {
    json["noise"] = {{"line", noise.line}, {"mean", noise.mean}, {"most", noise.most}, {"at_bytes", noise.at}};
  }
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
  if (!result.verdict.scale.empty()) json["scale"] = result.verdict.scale;
  return json;
}

}  // namespace

ordered_json claims_json(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots) {
  ordered_json claims = ordered_json::array();
  for (const Claim& claim : figure.claims) claims.push_back(claim_json(figure, claim, run, plots));
  return claims;
}

ordered_json figure_json(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots) {
  ordered_json json = head_json(figure, run);
  json["plots"] = ordered_json::array();
  for (std::size_t p = 0; p < plots.size(); ++p) json["plots"].push_back(plot_json(figure.plots[p], plots[p]));
  json["claims"] = claims_json(figure, run, plots);
  return json;
}

}  // namespace quadrille::tools
