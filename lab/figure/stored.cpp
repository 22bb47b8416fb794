#include "lab/figure/stored.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/figure/computed.hpp"
#include "lab/figure/hosts.hpp"
#include "lab/figure/results.hpp"
#include "lab/figure/same.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

BenchHeader header_from(const ordered_json& json) {
  BenchHeader header;
  header.version = json.at("version");
  header.mpi = json.at("mpi");
  header.mpi_library = json.value("mpi_library", "");
  header.cpu = json.at("cpu");
  header.date = json.at("date");
  return header;
}

BenchRow row_from(const ordered_json& json) {
  BenchRow row;
  row.measured.bytes = json.at("bytes");
  row.algorithm = json.at("algorithm");
  row.served_by = json.at("served_by");
  row.mpi.median = json.at("mpi_us");
  row.quadrille.median = json.at("quadrille_us");
  row.errors = json.at("errors");
  return row;
}

PlotRows plot_from(const ordered_json& json) {
  PlotRows plot;
  plot.skipped = json.value("skipped", "");
  for (const ordered_json& one : json.at("rows")) {
    plot.rows.push_back(row_from(one));
    if (one.contains("runs")) plot.runs.push_back({one["runs"].at("mpi_us"), one["runs"].at("quadrille_us"), {}, {}});
    for (const char* likeness : {"identical_to", "same_copies_as"}) {
      if (!one.contains(likeness)) continue;
      const BenchRow& row = plot.rows.back();
      plot.same.push_back({row.measured.bytes, row.algorithm, one[likeness], likeness == std::string("identical_to")});
    }
  }
  return plot;
}

FigureRun run_from(const ordered_json& json) {
  FigureRun run;
  run.ranks = json.at("ranks");
  // Older data have no command line, and nothing of the machine.
  run.command = json.contains("command") ? json["command"].get<std::string>()
                                         : fmt::format("mpirun -n {} quadrille-lab bench --figure {}", run.ranks,
                                                       json.at("figure").get<std::string>());
  run.hosts = json.value("hosts", 1);
  run.processors = json.at("processors");
  run.header = header_from(json.at("header"));
  if (json.contains("facts")) run.facts = facts_from(json["facts"]);
  run.note = json.value("note", "");
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

// Panels have got letters since.
std::string without_letter(const std::string& title) {
  const bool has_letter = title.size() > 4 && title[0] == '(' && title[2] == ')';
  return has_letter ? title.substr(4) : title;
}

// Which panel of today's figure it is; -1 if it is none.
std::ptrdiff_t place_of_plot(const Figure& figure, const std::string& title) {
  const auto found = std::find_if(figure.plots.begin(), figure.plots.end(), [&](const Plot& plot) {
    return without_letter(plot.title) == without_letter(title);
  });
  return found == figure.plots.end() ? -1 : found - figure.plots.begin();
}

// What the figure has got since stays empty: it was not measured yet.
std::string read_plots(const ordered_json& json, StoredFigure& stored) {
  const Figure& figure = stored.figure;
  stored.plots.resize(figure.plots.size());
  for (const ordered_json& one : json.at("plots")) {
    const std::string title = one.at("title");
    const std::ptrdiff_t place = place_of_plot(figure, title);
    if (place < 0) return stale(figure, fmt::format("there is no panel '{}'", title));
    PlotRows& plot = stored.plots[static_cast<std::size_t>(place)];
    plot = plot_from(one);
    if (std::string why = why_other_lines(figure, figure.plots[static_cast<std::size_t>(place)], plot); !why.empty()) {
      return why;
    }
  }
  // Older data say nothing of that.
  if (stored.run.facts.domains.empty()) mark_same(figure, stored.run, stored.plots);
  return "";
}

// What follows from the times, as it does today.
void write_what_follows(const StoredFigure& stored, ordered_json& json) {
  for (ordered_json& one : json["plots"]) {
    const auto place = static_cast<std::size_t>(place_of_plot(stored.figure, one["title"]));
    const PlotRows& plot = stored.plots[place];
    one["title"] = stored.figure.plots[place].title;
    for (ordered_json& row : one["rows"]) {
      const SameLine* same = find_same(plot.same, row["bytes"], row["algorithm"]);
      // What is right stays where it is: the order of the names counts.
      for (const char* likeness : {"identical_to", "same_copies_as"}) {
        const bool wanted = same != nullptr && same->in_sequence == (likeness == std::string("identical_to"));
        if (wanted) {
          row[likeness] = same->as;
        } else {
          row.erase(likeness);
        }
      }
    }
  }
  json["claims"] = claims_json(stored.figure, stored.run, stored.plots);
}

SetupRow setup_from(const ordered_json& json, const std::vector<SetupCase>& cases) {
  SetupRow row;
  for (const SetupCase& one : cases) {
    if (one.dimensions == json.at("dimensions") && one.radius == json.at("radius")) row.measured = one;
  }
  row.neighbors = json.at("neighbors");
  row.repetitions = json.at("repetitions");
  for (std::size_t i = 0; i < setup_count; ++i) row.microseconds[i] = json.at("functions").at(i).at("us");
  return row;
}

std::string read_setups(const ordered_json& json, StoredFigure& stored) {
  for (const ordered_json& one : json.at("setups")) stored.setups.push_back(setup_from(one, stored.figure.setups));
  if (stored.setups.size() != stored.figure.setups.size()) return stale(stored.figure, "other cells");
  for (std::size_t i = 0; i < setup_count; ++i) {
    if (json["setups"][0]["functions"][i].at("name") != setup_functions()[i].name) {
      return stale(stored.figure, "other functions");
    }
  }
  return "";
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  return static_cast<bool>(out);
}

// Empty, or what is wrong.
std::string make_computed_page(const std::filesystem::path& file, const ComputedFigure& figure, ordered_json json,
                               bool check) {
  const ordered_json before = json;
  const bool has_picture = std::filesystem::exists(std::filesystem::path(file).replace_extension("svg"));
  const std::filesystem::path page = std::filesystem::path(file).replace_extension("md");
  std::string text;
  try {
    figure.judge(json);
    text = figure.page(json, has_picture);
  } catch (const ordered_json::exception& error) {
    return fmt::format("{}: these are no data of {}: {}", file.string(), figure.name, error.what());
  }
  if (check && json != before) return fmt::format("{}: its claims are not today's", file.string());
  if (check) return text_of(page) == text ? "" : fmt::format("{} is not what its data say", page.string());
  if (json != before && !write_text(file, compact_text(json) + "\n"))
    return fmt::format("cannot write '{}'", file.string());
  return write_text(page, text) ? "" : fmt::format("cannot write '{}'", page.string());
}

// Empty, or what is wrong.
std::string make_page(const std::filesystem::path& file, bool check) {
  StoredFigure stored;
  ordered_json json = ordered_json::parse(text_of(file), nullptr, false);
  if (json.is_discarded()) return fmt::format("{}: no JSON", file.string());
  if (const auto computed = computed_figure(json.value("figure", "")))
    return make_computed_page(file, *computed, json, check);
  if (std::string problem = read_stored(json, stored); !problem.empty()) return file.string() + ": " + problem;
  stored.run.has_picture = std::filesystem::exists(std::filesystem::path(file).replace_extension("svg"));
  const std::filesystem::path page = std::filesystem::path(file).replace_extension("md");
  const std::string text = page_of(stored);
  const ordered_json before = json;
  if (stored.setups.empty()) {
    write_what_follows(stored, json);
  } else {
    json["claims"] = setup_claims(stored.figure, stored.run, stored.setups);
  }
  if (check && json != before) return fmt::format("{}: its marks and claims are not today's", file.string());
  if (check) return text_of(page) == text ? "" : fmt::format("{} is not what its data say", page.string());
  if (json != before && !write_text(file, compact_text(json) + "\n"))
    return fmt::format("cannot write '{}'", file.string());
  return write_text(page, text) ? "" : fmt::format("cannot write '{}'", page.string());
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

int pages_command(const std::vector<std::string>& files, bool check) {
  int status = 0;
  for (const std::string& file : files) {
    const std::string problem = make_page(file, check);
    if (problem.empty()) continue;
    complain(problem);
    status = wrong_result;
  }
  return status;
}

}  // namespace quadrille::tools
