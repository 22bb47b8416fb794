#include "lab/figure/bruck_simulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "lab/figure/bruck_list.hpp"
#include "lab/figure/claims.hpp"
#include "lab/map/map_grid.hpp"
#include "lab/simulate/network.hpp"

namespace quadrille::tools {
namespace simulated_bruck_pages {
namespace {

using nlohmann::ordered_json;

std::string time_at(const char* end) { return fmt::format("{}_us", end); }

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
  for (std::size_t i = 0; i < network_ends.size(); ++i) {
    row[time_at(network_ends[i])] = std::round(point.at_ends[i] * 1e3) / 1e3;
  }
  row["simulated"] = point.one_node ? "one node for all" : "all ranks";
  if (!point.identical_to.empty()) row["identical_to"] = point.identical_to;
  if (!point.same_messages_as.empty()) row["same_messages_as"] = point.same_messages_as;
  return row;
}

ordered_json compute_figure(const SimulatedFigure& figure) {
  simulate::Network network;
  simulate::read_network(figure.network, network);
  ordered_json json;
  json["figure"] = figure.name;
  json["command"] = fmt::format("quadrille-lab bench --figure {}", figure.name);
  json["network"] = ordered_json(simulate::to_json(network));
  json["panels"] = ordered_json::array();
  for (const SimulatedPanel& panel : figure.panels) {
    json["panels"].push_back({{"title", panel.title},
                              {"x", panel.over_ranks ? "ranks" : "bytes"},
                              {"ranks_a_node", panel.per_node},
                              {"rows", ordered_json::array()}});
  }
  for (const SimulatedPoint& point : simulate_points(figure.panels, figure.network)) {
    json["panels"][point.panel]["rows"].push_back(row_json(figure.panels[point.panel].lines[point.line], point));
  }
  return json;
}

const ordered_json* find_row(const ordered_json& panel, const std::string& line, int ranks, std::size_t bytes) {
  for (const ordered_json& row : panel.at("rows")) {
    if (row.at("line") == line && row.at("ranks") == ranks && row.at("bytes") == bytes) return &row;
  }
  return nullptr;
}

double time_in(const ordered_json& panel, const std::string& line, int ranks, std::size_t bytes,
               const std::string& network = "us") {
  const ordered_json* row = find_row(panel, line, ranks, bytes);
  return row == nullptr ? 0 : row->value(network, 0.0);
}

// The first line that has this one's messages.
std::string first_like(const ordered_json& panel, const std::string& line, int ranks, std::size_t bytes) {
  const ordered_json* row = find_row(panel, line, ranks, bytes);
  return row == nullptr ? line : row->value("identical_to", row->value("same_messages_as", line));
}

// Whether a claim compares, wherever it looks, a line with one that sends the same messages.
bool compares_the_same(const SimulatedClaim& claim, const ordered_json& json) {
  std::map<std::tuple<std::size_t, int, std::size_t>, std::pair<std::set<std::string>, std::set<std::string>>> looked;
  claim.here([&](std::size_t panel, const std::string& line, int ranks, std::size_t bytes) {
    const ordered_json& of = json.at("panels").at(panel);
    auto& [lines, firsts] = looked[{panel, ranks, bytes}];
    if (find_row(of, line, ranks, bytes) != nullptr)
      lines.insert(line), firsts.insert(first_like(of, line, ranks, bytes));
    return time_in(of, line, ranks, bytes);
  });
  std::erase_if(looked, [](const auto& place) { return place.second.first.empty(); });
  return !looked.empty() && std::all_of(looked.begin(), looked.end(), [](const auto& place) {
    return place.second.first.size() > 1 && place.second.second.size() == 1;
  });
}

std::string why_no_verdict(const SimulatedClaim& claim, double here, const ordered_json& json) {
  if (!claim.reason.empty()) return claim.reason;
  if (here < 0) return because(not_measured, "it was not simulated");
  return compares_the_same(claim, json) ? because(no_other_way, "both send the same messages here") : "";
}

// Falling behind is a crossover only where the line is ahead on the near side.
void need_both_sides(const std::vector<double>& near, ordered_json& claim) {
  const auto ahead = std::count_if(near.begin(), near.end(), [](double one) { return one > 1; });
  if (claim["verdict"] != to_text(Verdict::Word::agrees) || ahead == static_cast<std::ptrdiff_t>(near.size())) return;
  claim["verdict"] = to_text(ahead > 0 ? Verdict::Word::cannot_be_told : Verdict::Word::disagrees);
  if (ahead > 0) claim["reason"] = the_networks_differ;
  claim["note"] = fmt::format("no crossover: {:.2f} on the near side", near[0]);
}

ordered_json claims_of(const SimulatedFigure& figure, const ordered_json& json) {
  const auto number_in = [&](const std::function<double(const TimeOf&)>& here, const std::string& network) {
    const TimeOf time = [&](std::size_t panel, const std::string& line, int ranks, std::size_t bytes) {
      return time_in(json.at("panels").at(panel), line, ranks, bytes, network);
    };
    return std::round(here(time) * 1e4) / 1e4;
  };
  const auto numbers_in = [&](const std::function<double(const TimeOf&)>& here) {
    std::vector<double> numbers = {number_in(here, "us")};
    for (const char* end : network_ends) numbers.push_back(number_in(here, time_at(end)));
    return numbers;
  };
  ordered_json claims = ordered_json::array();
  for (const SimulatedClaim& claim : figure.claims) {
    const std::vector<double> numbers = numbers_in(claim.here);
    claims.push_back(claim_of_numbers(claim.text, claim.fast, claim.slow, claim.paper, numbers,
                                      why_no_verdict(claim, numbers[0], json)));
    if (claim.near) need_both_sides(numbers_in(claim.near), claims.back());
  }
  return claims;
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

// Which lines are like others at all places of a panel.
std::string same_text(const ordered_json& json) {
  std::map<std::tuple<std::string, std::string, std::string>, int> places;
  for (const ordered_json& panel : json.at("panels")) {
    for (const ordered_json& row : panel.at("rows")) {
      for (const char* likeness : {"identical_to", "same_messages_as"}) {
        if (row.contains(likeness)) ++places[{row.at("line"), row[likeness], likeness}];
      }
    }
  }
  std::string text;
  for (const auto& [which, count] : places) {
    const auto& [line, as, likeness] = which;
    text += likeness == "identical_to"
                ? fmt::format("At {} points `{}` does what `{}` does. ", count, line, as)
                : fmt::format("At {} points `{}` sends the messages of `{}`, in other windows. ", count, line, as);
  }
  return text.empty() ? text : text + "No claim that compares only those has a verdict.\n\n";
}

std::string simulated_page(const SimulatedFigure& figure, const ordered_json& json) {
  std::string text = fmt::format("# {}\n\nSource: {}.\n\n", figure.title, figure.source);
  text += fmt::format(
      "**Every number is simulated**: `{}` runs the schedules of all ranks through the network `{}` of the "
      "simulation. {} A claim agrees if it does so at all four ends of what the constants may be, "
      "too "
      "(`quadrille-lab simulate --list-networks`): all at their least, all at their most, copies dear and messages "
      "cheap, "
      "and the other way "
      "round; the column has the usual number, and in brackets the least and the most. {}\n\n",
      json.at("command").get<std::string>(), figure.network, figure.constants, figure.how);
  text += same_text(json);
  if (figure.has_map) text += map_of(json);
  for (std::size_t i = 0; i < figure.panels.size(); ++i) text += panel_text(figure.panels[i], json.at("panels").at(i));
  text += "How many times as fast, or what is named:\n\n" + claims_table(claims_of(figure, json));
  return text;
}

ComputedFigure figure_of(const SimulatedFigure& figure) {
  return {figure.name, [figure] { return compute_figure(figure); },
          [figure](const ordered_json& json) { return claims_of(figure, json); },
          [figure](const ordered_json& json) { return simulated_page(figure, json); }};
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
