#include "lab/figure/computed.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/figure/bruck_simulated.hpp"
#include "lab/figure/cache_table.hpp"
#include "lab/figure/claims.hpp"
#include "lab/figure/results.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

// Options of measurements, and several ranks, would do nothing.
std::string why_impossible_to_compute(const LabOptions& options) {
  const std::string on = options.figure + ", which is computed and not measured";
  if (std::string idle = why_without_effect(options, {"--figure", "--results"}, on); !idle.empty()) return idle;
  if (ranks_of_launcher() > 0)
    return fmt::format("{} is computed by one process: start it without a launcher", options.figure);
  return "";
}

bool does_agree(const std::string& paper, double here) {
  const auto bounds = bounds_of(paper);
  return bounds->first <= here && here <= bounds->second;
}

}  // namespace

std::vector<ComputedFigure> computed_figures() {
  std::vector<ComputedFigure> all = cache_tables();
  for (ComputedFigure& figure : simulations()) all.push_back(std::move(figure));
  return all;
}

std::optional<ComputedFigure> computed_figure(std::string_view name) {
  for (ComputedFigure& one : computed_figures()) {
    if (one.name == name) return std::move(one);
  }
  return std::nullopt;
}

int computed_figure_command(const LabOptions& options, const ComputedFigure& figure) {
  std::string problem = why_impossible_to_compute(options);
  if (problem.empty()) problem = make_local_folder(options.results);
  if (!problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  const ordered_json json = figure.compute();
  const int status = write_data(options, figure.name, json);
  if (status == 0) fmt::print("{}", figure.page(json));
  return status;
}

ordered_json claim_of_number(const std::string& text, const std::string& fast, const std::string& slow,
                             const std::string& paper, double here, const std::string& reason) {
  return claim_of_numbers(text, fast, slow, paper, {here}, reason);
}

ordered_json claim_of_numbers(const std::string& text, const std::string& fast, const std::string& slow,
                              const std::string& paper, const std::vector<double>& here, const std::string& reason) {
  ordered_json json = {{"text", text}, {"fast", fast}, {"slow", slow}, {"paper", paper}, {"here", nullptr}};
  const bool is_there = here[0] >= 0;
  if (is_there) json["here"] = here[0];
  if (is_there && here.size() > 1) {
    const auto [least, most] = std::minmax_element(here.begin(), here.end());
    json["least"] = *least, json["most"] = *most;
  }
  if (!is_there || !bounds_of(paper) || !reason.empty()) {
    json["verdict"] = to_text(Verdict::Word::cannot_be_told);
    if (!reason.empty()) json["reason"] = reason;
    return json;
  }
  const auto agreeing = std::count_if(here.begin(), here.end(), [&](double one) { return does_agree(paper, one); });
  const bool all = agreeing == static_cast<std::ptrdiff_t>(here.size());
  const bool differ = !all && agreeing > 0;
  json["verdict"] = to_text(all      ? Verdict::Word::agrees
                            : differ ? Verdict::Word::cannot_be_told
                                     : Verdict::Word::disagrees);
  if (differ) json["reason"] = the_networks_differ;
  return json;
}

std::string claims_table(const ordered_json& claims) {
  std::string text = "| the paper says | compared | paper | here | verdict |\n|---|---|---|---|---|\n";
  for (const ordered_json& claim : claims) {
    std::string here = claim.at("here").is_null() ? "-" : fmt::format("{:.2f}", claim["here"].get<double>());
    if (claim.contains("least")) {
      here += fmt::format(" ({:.2f}..{:.2f})", claim["least"].get<double>(), claim["most"].get<double>());
    }
    std::string verdict = claim.at("verdict");
    if (claim.contains("reason")) verdict += ": " + claim["reason"].get<std::string>();
    text += fmt::format("| {} | {} over {} | {} | {} | {} |\n", claim.at("text").get<std::string>(),
                        claim.at("fast").get<std::string>(), claim.at("slow").get<std::string>(),
                        claim.at("paper").get<std::string>(), here, verdict);
  }
  return text;
}

}  // namespace quadrille::tools
