#include "lab/figure/stored.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/figure/claims.hpp"
#include "lab/figure/computed.hpp"
#include "lab/figure/hosts.hpp"
#include "lab/figure/results.hpp"
#include "tool/bench/statistics.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

BenchHeader header_from(const ordered_json& json) {
  BenchHeader header;
  header.version = json.at("version");
  header.mpi = json.at("mpi");
  header.mpi_library = json.at("mpi_library");
  header.cpu = json.at("cpu");
  header.date = json.at("date");
  return header;
}

void add_row(const ordered_json& json, PlotRows& plot) {
  const RowRuns runs = {json.at("mpi_us"), json.at("us")};
  BenchRow row;
  row.measured.bytes = json.at("bytes");
  row.algorithm = json.at("line");
  row.served_by = json.at("by");
  row.errors = json.at("errors");
  row.batches = json.at("samples");
  row.mpi.median = quantile(runs.mpi, 0.5);
  row.quadrille.median = quantile(runs.quadrille, 0.5);
  for (const char* likeness : {"identical_to", "same_copies_as"}) {
    if (!json.contains(likeness)) continue;
    plot.same.push_back({row.measured.bytes, row.algorithm, json[likeness], likeness == std::string("identical_to")});
  }
  plot.rows.push_back(std::move(row));
  plot.runs.push_back(runs);
}

PlotRows plot_from(const ordered_json& json) {
  PlotRows plot;
  plot.skipped = json.value("skipped", "");
  for (const ordered_json& one : json.at("rows")) add_row(one, plot);
  return plot;
}

FigureRun run_from(const ordered_json& json) {
  FigureRun run;
  run.command = json.at("command");
  run.ranks = json.at("ranks");
  run.hosts = json.at("hosts");
  run.processors = json.at("processors");
  run.header = header_from(json.at("header"));
  run.facts = facts_from(json.at("facts"));
  return run;
}

bool find_figure(const std::string& name, const FigureRun& run, Figure& figure) {
  for (Figure& one : figures(run.facts.l2, std::max(run.ranks, 1))) {
    if (one.name != name) continue;
    figure = std::move(one);
    count_on_hosts(figure, run.hosts);
    return true;
  }
  return false;
}

std::string stale(const Figure& figure, const std::string& what) {
  return fmt::format("{}: {}; it was measured with an older figure: measure it again", figure.name, what);
}

// The lines of a plot, in the order in which they were measured.
std::vector<std::string> lines_of(const PlotRows& plot) {
  std::vector<std::string> lines;
  for (const BenchRow& row : plot.rows) {
    if (std::find(lines.begin(), lines.end(), row.algorithm) == lines.end()) lines.push_back(row.algorithm);
  }
  return lines;
}

std::string why_other_lines(const Figure& figure, const Plot& plot, const PlotRows& measured) {
  if (measured.rows.empty()) return "";
  std::vector<std::string> wanted, lines = lines_of(measured);
  for (const Variant& variant : plot.variants) wanted.push_back(variant.label);
  std::erase_if(lines, [&](const std::string& line) { return line == again(wanted[0]); });
  return lines == wanted ? "" : stale(figure, fmt::format("other lines in '{}'", plot.title));
}

// What the figure has got since stays empty: it was not measured.
std::string read_plots(const ordered_json& json, StoredFigure& stored) {
  const Figure& figure = stored.figure;
  stored.plots.resize(figure.plots.size());
  for (const ordered_json& one : json.at("plots")) {
    const std::string title = one.at("title");
    const auto found =
        std::find_if(figure.plots.begin(), figure.plots.end(), [&](const Plot& plot) { return plot.title == title; });
    if (found == figure.plots.end()) return stale(figure, fmt::format("there is no panel '{}'", title));
    PlotRows& plot = stored.plots[static_cast<std::size_t>(found - figure.plots.begin())];
    plot = plot_from(one);
    if (std::string why = why_other_lines(figure, *found, plot); !why.empty()) return why;
  }
  return "";
}

SetupRow setup_from(const ordered_json& json, const std::vector<SetupCase>& cases) {
  SetupRow row;
  for (const SetupCase& one : cases) {
    if (one.dimensions == json.at("dimensions") && one.radius == json.at("radius")) row.measured = one;
  }
  row.neighbors = json.at("neighbors");
  row.repetitions = json.at("repetitions");
  for (std::size_t i = 0; i < setup_count; ++i) row.microseconds[i] = json.at("us").at(setup_functions()[i].name);
  return row;
}

std::string read_setups(const ordered_json& json, StoredFigure& stored) {
  for (const ordered_json& one : json.at("setups")) stored.setups.push_back(setup_from(one, stored.figure.setups));
  return stored.setups.size() == stored.figure.setups.size() ? "" : stale(stored.figure, "other cells");
}

std::string text_of_file(const std::string& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// What is judged of a file: its claims, and the page.
struct Judged {
  ordered_json claims;
  std::string page;
};

Judged judge(const ordered_json& json, const ComputedFigure& figure) {
  return {figure.claims(json), figure.page(json)};
}

Judged judge(const StoredFigure& stored) {
  return {stored.setups.empty() ? claims_json(stored.figure, stored.run, stored.plots)
                                : setup_claims(stored.figure, stored.run, stored.setups),
          page_of(stored)};
}

// Empty, or what is wrong.
std::string judge_file(const std::string& file, Judged& judged) {
  const ordered_json json = ordered_json::parse(text_of_file(file), nullptr, false);
  if (json.is_discarded() || !json.is_object()) return fmt::format("{}: no JSON of a figure", file);
  try {
    if (const auto computed = computed_figure(json.value("figure", ""))) {
      judged = judge(json, *computed);
      return "";
    }
  } catch (const ordered_json::exception& error) {
    return fmt::format("{}: these are no data of {}: {}", file, json["figure"].dump(), error.what());
  }
  StoredFigure stored;
  if (std::string problem = read_stored(json, stored); !problem.empty()) return file + ": " + problem;
  judged = judge(stored);
  return "";
}

}  // namespace

std::string read_stored(const ordered_json& json, StoredFigure& stored) {
  try {
    stored.run = run_from(json);
    const std::string name = json.at("figure");
    if (!find_figure(name, stored.run, stored.figure)) return fmt::format("there is no figure '{}'", name);
    if (!stored.figure.setups.empty()) return read_setups(json, stored);
    return read_plots(json, stored);
  } catch (const ordered_json::exception& error) {
    return fmt::format("these are no data of a figure: {}", error.what());
  }
}

std::string page_of(const StoredFigure& stored) {
  return stored.figure.setups.empty() ? figure_page(stored.figure, stored.run, stored.plots)
                                      : setup_page(stored.figure, stored.run, stored.setups);
}

int judge_command(const std::vector<std::string>& files, bool as_json) {
  int status = 0;
  ordered_json all = ordered_json::object();
  for (const std::string& file : files) {
    Judged judged;
    if (const std::string problem = judge_file(file, judged); !problem.empty()) {
      complain(problem);
      status = wrong_result;
    } else if (as_json) {
      all[file] = judged.claims;
    } else {
      fmt::print("{}", judged.page);
    }
  }
  if (as_json) fmt::print("{}\n", compact_text(all));
  return status;
}

}  // namespace quadrille::tools
