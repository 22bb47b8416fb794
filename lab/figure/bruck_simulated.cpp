#include "lab/figure/bruck_simulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/figure/bruck_list.hpp"
#include "lab/map/map_grid.hpp"
#include "lab/simulate/network.hpp"

namespace quadrille::tools {
namespace simulated_bruck_pages {
namespace {

using nlohmann::ordered_json;

constexpr const char* network_name = "aries";

ordered_json row_json(const SimulatedLine& line, const SimulatedPoint& point) {
  ordered_json row = {{"line", line.label},
                      {"algorithm", point.algorithm},
                      {"ranks", point.ranks},
                      {"bytes", point.bytes},
                      {"mean_bytes", std::round(point.mean * 1e4) / 1e4}};
  if (!point.why_not.empty()) {
    row["why_not"] = point.why_not;
    return row;
  }
  row["us"] = std::round(point.microseconds * 1e3) / 1e3;
  row["fast_us"] = std::round(point.fastest * 1e3) / 1e3;
  row["slow_us"] = std::round(point.slowest * 1e3) / 1e3;
  row["simulated"] = point.one_node ? "one node for all" : "all ranks";
  return row;
}

ordered_json compute_figure(const SimulatedFigure& figure) {
  simulate::Network network;
  simulate::read_network(network_name, network);
  ordered_json json;
  json["figure"] = figure.name;
  json["source"] = figure.source;
  json["command"] = fmt::format("quadrille bench --figure {}", figure.name);
  json["network"] = ordered_json(simulate::to_json(network));
  json["panels"] = ordered_json::array();
  for (const SimulatedPanel& panel : figure.panels) {
    json["panels"].push_back({{"title", panel.title},
                              {"x", panel.over_ranks ? "ranks" : "bytes"},
                              {"ranks_a_node", panel.per_node},
                              {"rows", ordered_json::array()}});
  }
  for (const SimulatedPoint& point : simulate_points(figure.panels, network_name)) {
    json["panels"][point.panel]["rows"].push_back(row_json(figure.panels[point.panel].lines[point.line], point));
  }
  return json;
}

double time_in(const ordered_json& panel, const std::string& line, int ranks, std::size_t bytes, const char* network = "us") {
  for (const ordered_json& row : panel.at("rows")) {
    if (row.at("line") == line && row.at("ranks") == ranks && row.at("bytes") == bytes) return row.value(network, 0.0);
  }
  return 0;
}

void judge_figure(const SimulatedFigure& figure, ordered_json& json) {
  const auto number_in = [&](const SimulatedClaim& claim, const char* network) {
    const TimeOf time = [&](std::size_t panel, const std::string& line, int ranks, std::size_t bytes) {
      return time_in(json.at("panels").at(panel), line, ranks, bytes, network);
    };
    return std::round(claim.here(time) * 1e4) / 1e4;
  };
  ordered_json claims = ordered_json::array();
  for (const SimulatedClaim& claim : figure.claims) {
    const double here = number_in(claim, "us"), fast = number_in(claim, "fast_us"), slow = number_in(claim, "slow_us");
    const std::string reason = here >= 0 || !claim.reason.empty() ? claim.reason : "it was not simulated";
    claims.push_back(claim_of_numbers(claim.text, claim.fast, claim.slow, claim.paper, {here, fast, slow}, reason));
  }
  json["claims"] = claims;
}

// ---- The page ----

std::string panel_text(const SimulatedPanel& panel, const ordered_json& json) {
  std::string text = fmt::format("{:>8} {:>7}", panel.over_ranks ? "ranks" : "N", panel.over_ranks ? "N" : "ranks");
  for (const SimulatedLine& line : panel.lines) text += fmt::format(" {:>25}", line.label);
  text += '\n';
  for (const int ranks : panel.ranks) {
    for (const std::size_t bytes : panel.sizes) {
      text += panel.over_ranks ? fmt::format("{:>8} {:>7}", ranks, bytes) : fmt::format("{:>8} {:>7}", bytes, ranks);
      for (const SimulatedLine& line : panel.lines) {
        const double us = time_in(json, line.label, ranks, bytes);
        text += us > 0 ? fmt::format(" {:>25.2f}", us) : fmt::format(" {:>25}", "-");
      }
      text += '\n';
    }
  }
  return fmt::format("{}: microseconds a call, simulated.\n\n```\n{}```\n\n", panel.title, text);
}

std::string map_of(const ordered_json& json) {
  MapGrid grid;
  for (const ordered_json& panel : json.at("panels")) {
    for (const ordered_json& row : panel.at("rows")) {
      if (!row.contains("us")) continue;
      const std::string line = row.at("line");
      const double seconds = row.at("us").get<double>() * 1e-6;
      const std::string algorithm = line == "MPI" ? "mpi" : row.at("algorithm").get<std::string>();
      put_faster(grid, row.at("bytes"), row.at("ranks"), {algorithm, seconds, line == "MPI" ? seconds : 0});
    }
  }
  return fmt::format("The fastest, by simulation; S is the MPI:\n\n```\n{}```\n\n", map_text(grid));
}

std::string simulated_page(const SimulatedFigure& figure, const ordered_json& json, bool has_picture) {
  std::string text = fmt::format("# {}\n\nSource: {}.\n\n", figure.title, json.at("source").get<std::string>());
  text += fmt::format(
      "**Every number is simulated**: `{}` runs the schedules of all ranks through the network `{}` of the "
      "[simulation](../simulate.md), whose constants are assumed (`quadrille simulate --list-networks`). A claim agrees if it does so also where all constants have the least value that is thought "
      "possible, and where all have the most; the column has the three. {}\n\n",
      json.at("command").get<std::string>(), network_name, figure.how);
  if (has_picture) {
    text += fmt::format("![{0}]({0}.svg)\n\nA band goes from the least to the most that the constants may be.\n\n", figure.name);
  }
  if (figure.has_map) text += map_of(json);
  for (std::size_t i = 0; i < figure.panels.size(); ++i) text += panel_text(figure.panels[i], json.at("panels").at(i));
  text += "How many times as fast, or what is named:\n\n" + claims_table(json.at("claims"));
  return text + fmt::format("\nAll numbers: [{0}.json]({0}.json).\n", figure.name);
}

ComputedFigure figure_of(const SimulatedFigure& figure) {
  return {figure.name, [figure] { return compute_figure(figure); },
          [figure](ordered_json& json) { judge_figure(figure, json); },
          [figure](const ordered_json& json, bool has_picture) { return simulated_page(figure, json, has_picture); }};
}

}  // namespace
}  // namespace simulated_bruck_pages

std::vector<ComputedFigure> simulations() {
  std::vector<ComputedFigure> all;
  std::vector<SimulatedFigure> figures = simulated_bruck_figures();
  for (SimulatedFigure& figure : simulated_node_figures()) figures.push_back(std::move(figure));
  for (const SimulatedFigure& figure : figures) all.push_back(simulated_bruck_pages::figure_of(figure));
  return all;
}

}  // namespace quadrille::tools
