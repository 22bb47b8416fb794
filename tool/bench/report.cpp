#include "tool/bench/report.hpp"

#include <fmt/core.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

const char* name_of_element(ElementKind element) {
  switch (element) {
    case ElementKind::byte:
      return "byte";
    case ElementKind::double_float:
      return "double";
    case ElementKind::strided:
      break;
  }
  return "strided";
}

// "L1d misses" of "mpi" becomes the column mpi_l1d_misses.
void add_events(ordered_json& json, const std::string& side, const std::vector<Count>& counts) {
  for (const Count& count : counts) {
    std::string name = side + "_" + count.name;
    for (char& letter : name) {
      letter = letter == ' ' ? '_' : static_cast<char>(std::tolower(letter));
    }
    json[name] = count.value ? ordered_json(*count.value) : ordered_json(nullptr);
  }
}

void add_overlap(ordered_json& json, const std::string& side, const OverlapSide& overlap) {
  json[side + "_both_us"] = overlap.both.median;
  json[side + "_both_p25_us"] = overlap.both.low;
  json[side + "_both_p75_us"] = overlap.both.high;
  json[side + "_overlap_percent"] = overlap.percent.median;
  json[side + "_overlap_p25_percent"] = overlap.percent.low;
  json[side + "_overlap_p75_percent"] = overlap.percent.high;
  json[side + "_both_calls_per_batch"] = overlap.calls_per_batch;
}

void add_overlap(ordered_json& json, const OverlapColumns& overlap) {
  json["tests"] = overlap.tests;
  json["compute_us"] = overlap.compute;
  add_overlap(json, "mpi", overlap.mpi);
  add_overlap(json, "quadrille", overlap.quadrille);
  json["both_ratio"] = overlap.both_ratio;
  json["both_pair_ratio"] = overlap.both_pair_ratio;
}

void add_late(ordered_json& json, const LateColumns& late) {
  json["late_us"] = late.late.seconds * 1e6;
  json["late_rank"] = late.late.is_drawn() ? ordered_json(nullptr) : ordered_json(late.late.rank);
  json["mpi_others_us"] = late.mpi_others.median;
  json["quadrille_others_us"] = late.quadrille_others.median;
  json["mpi_others_p99_us"] = late.mpi_others.p99;
  json["quadrille_others_p99_us"] = late.quadrille_others.p99;
}

void add_step(ordered_json& json, const StepColumns& step) {
  json["mpi_step_us"] = step.mpi;
  json["quadrille_step_us"] = step.quadrille;
  json["step_ratio"] = step.ratio;
  json["step_pair_ratio"] = step.pair_ratio;
}

std::string cannot_write(const std::string& file) {
  return fmt::format("cannot write '{}': {}", file, std::strerror(errno));
}

// Text of a CSV field: quoted where it has to be.
std::string csv_field(const ordered_json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  return text.find_first_of(",\"\n") == std::string::npos ? text : value.dump();
}

}  // namespace

double bandwidth(std::size_t bytes, double microseconds) {
  return microseconds > 0 ? static_cast<double>(bytes) / microseconds : 0;
}

StepColumns step_columns(std::span<const double> mpi, std::span<const double> quadrille) {
  StepColumns step{quantile(mpi, 0.5), quantile(quadrille, 0.5), 0, median_of_ratios(quadrille, mpi)};
  step.ratio = step.mpi > 0 ? step.quadrille / step.mpi : 0;
  return step;
}

double part_of_ceiling(const BenchRow& row) {
  return row.quadrille.median > 0 ? row.ceiling.microseconds / row.quadrille.median : 0;
}

std::string events_line(const BenchRow& row) {
  std::string text;
  for (std::size_t e = 0; e < row.quadrille_events.size(); ++e) {
    const Count &mpi = row.mpi_events[e], &quadrille = row.quadrille_events[e];
    if (!mpi.value || !quadrille.value) continue;
    text += fmt::format("{} {}: mpi {:.1f}, quadrille {:.1f}", text.empty() ? "# a call and rank:" : ";", mpi.name,
                        *mpi.value, *quadrille.value);
  }
  return text.empty() ? "" : text + "\n";
}

std::string why_no_events(const std::vector<Count>& counts) {
  std::string names, reasons;
  for (const Count& count : counts) {
    if (count.value) return "";
    names += (names.empty() ? "" : ", ") + count.name;
    if (reasons.find(count.reason) == std::string::npos) {
      reasons += (reasons.empty() ? "" : "; ") + count.reason;
    }
  }
  return names + ": " + reasons;
}

std::string setup_line(const SetupTimes& setup) {
  if (setup.mpi <= 0) return "";
  return fmt::format(
      "# set-up: MPI_Dist_graph_create_adjacent {:.1f} us, Quadrille_Iso_neighborhood_create "
      "{:.1f} us "
      "({:.2f})\n",
      setup.mpi, setup.quadrille, setup.quadrille / setup.mpi);
}

ordered_json to_json(const BenchHeader& header) {
  ordered_json json = {{"version", header.version},
                       {"mpi", header.mpi},
                       {"mpi_library", header.mpi_library},
                       {"cpu", header.cpu},
                       {"date", header.date}};
  if (!header.no_counters.empty()) json["no_counters"] = header.no_counters;
  if (header.quiet) json["quiet"] = to_json(*header.quiet);
  if (header.device) json["device"] = to_json(*header.device);
  if (header.setup.mpi > 0) json["mpi_setup_us"] = header.setup.mpi;
  if (header.setup.mpi > 0) json["quadrille_setup_us"] = header.setup.quadrille;
  return json;
}

ordered_json to_json(const BenchRow& row) {
  ordered_json json;
  json["collective"] = name_of(row.measured.collective);
  json["ranks"] = row.measured.ranks;
  json["nodes"] = row.nodes;
  json["bytes"] = row.measured.bytes;
  json["algorithm"] = row.algorithm;
  json["served_by"] = row.served_by;
  json["mpi_us"] = row.mpi.median;
  json["quadrille_us"] = row.quadrille.median;
  json["ratio"] = row.ratio;
  json["pair_ratio"] = row.pair_ratio;
  json["errors"] = row.errors;
  json["mpi_min_us"] = row.mpi.least;
  json["mpi_p90_us"] = row.mpi.p90;
  json["mpi_p99_us"] = row.mpi.p99;
  json["quadrille_min_us"] = row.quadrille.least;
  json["quadrille_p90_us"] = row.quadrille.p90;
  json["quadrille_p99_us"] = row.quadrille.p99;
  json["mpi_MBps"] = bandwidth(row.bytes_sent, row.mpi.median);
  json["quadrille_MBps"] = bandwidth(row.bytes_sent, row.quadrille.median);
  json["batches"] = row.batches;
  json["calls_per_batch"] = row.calls_per_batch;
  json["mpi_calls_per_batch"] = row.mpi_calls_per_batch;
  json["datatype"] = name_of_element(row.measured.element);
  json["distribution"] = row.measured.traffic.text;
  json["mean_bytes"] = row.mean_bytes;
  json["max_bytes"] = row.max_bytes;
  json["neighbors"] = row.measured.neighbors != nullptr ? row.measured.peers() : 0;
  json["in_place"] = row.measured.in_place;
  json["memory"] = row.measured.gpu != nullptr ? "device" : name_of(row.measured.memory);
  if (!row.path.empty()) json["path"] = row.path;
  json["cold"] = row.cold;
  json["seed"] = row.measured.seed;
  const bool bounded = row.ceiling.microseconds > 0;
  json["ceiling_us"] = bounded ? ordered_json(row.ceiling.microseconds) : ordered_json(nullptr);
  json["ceiling_part"] = bounded ? ordered_json(part_of_ceiling(row)) : ordered_json(nullptr);
  json["ceiling_by"] = bounded ? ordered_json(row.ceiling.by) : ordered_json(nullptr);
  add_events(json, "mpi", row.mpi_events);
  add_events(json, "quadrille", row.quadrille_events);
  if (row.late) add_late(json, *row.late);
  if (row.step) add_step(json, *row.step);
  if (row.overlap) add_overlap(json, *row.overlap);
  return json;
}

std::string write_json(const std::string& file, const BenchHeader& header, const std::vector<BenchRow>& rows) {
  ordered_json json;
  json["header"] = to_json(header);
  json["rows"] = ordered_json::array();
  for (const BenchRow& row : rows) json["rows"].push_back(to_json(row));
  std::ofstream out(file);
  out << json.dump(2) << '\n';
  out.close();
  return out ? "" : cannot_write(file);
}

std::string write_csv(const std::string& file, const std::vector<BenchRow>& rows) {
  std::ofstream out(file);
  std::string names;
  const ordered_json columns = to_json(rows.empty() ? BenchRow{} : rows[0]);
  for (const auto& [name, value] : columns.items()) names += (names.empty() ? "" : ",") + name;
  out << names << '\n';
  for (const BenchRow& row : rows) {
    const ordered_json json = to_json(row);
    std::string line;
    for (const auto& [name, value] : json.items()) {
      if (!line.empty()) line += ',';
      line += csv_field(value);
    }
    out << line << '\n';
  }
  out.close();
  return out ? "" : cannot_write(file);
}

namespace {

bool is_varied(const BenchCase& measured) { return measured.traffic.kind != Distribution::equal; }

// What is measured where, and the columns that all tables begin with.
std::string lines_above(const BenchHeader& header, const BenchCase& measured, bool cold) {
  std::string text = fmt::format(
      "# quadrille {}  {}  {}\n# {}, {} rank{}{}{}{}, {}{}; median over batches of the maximum "
      "over "
      "ranks\n",
      header.version, header.mpi, header.cpu, name_of(measured.collective), measured.ranks,
      measured.ranks == 1 ? "" : "s",
      measured.neighbors != nullptr ? fmt::format(", {} neighbours", measured.peers()) : "",
      measured.in_place ? ", in place" : "", cold ? ", cold caches" : "", name_of_element(measured.element),
      is_varied(measured) ? ", blocks " + measured.traffic.text : "");
  if (!row_of(measured.collective).of_mpi) {
    text += "# no MPI has neighbor_allgatherw: mpi is MPI_Neighbor_alltoallw with the same block for each neighbour\n";
  }
  if (header.quiet) text += "# " + quiet_line(*header.quiet) + "\n";
  if (header.device) text += facts_text(*header.device);
  return text;
}

// Names of algorithms on data of a GPU have parameters.
int width_of_names(const BenchCase& measured) { return measured.gpu != nullptr ? 52 : 24; }

std::string first_titles(const BenchCase& measured) {
  std::string text = fmt::format("{:>10} ", "bytes");
  if (is_varied(measured)) text += fmt::format("{:>10} {:>10} ", "mean", "max");
  const int width = width_of_names(measured);
  return text + fmt::format("{:<{}} {:<{}} ", "algorithm", width, "served by", width) +
         (measured.gpu != nullptr ? fmt::format("{:<10} ", "path") : "");
}

std::string first_columns(const BenchRow& row) {
  std::string text = fmt::format("{:>10} ", row.measured.bytes);
  if (is_varied(row.measured)) text += fmt::format("{:>10.1f} {:>10} ", row.mean_bytes, row.max_bytes);
  const int width = width_of_names(row.measured);
  return text + fmt::format("{:<{}} {:<{}} ", row.algorithm, width, row.served_by, width) +
         (row.measured.gpu != nullptr ? fmt::format("{:<10} ", row.path) : "");
}

// "63 (55..71)"
std::string with_spread(const Quartiles& percent) {
  return fmt::format("{:.0f} ({:.0f}..{:.0f})", percent.median, percent.low, percent.high);
}

}  // namespace

std::string table_head(const BenchHeader& header, const BenchCase& measured, bool cold, const std::optional<Late>& late,
                       bool touched) {
  const auto titles = [&](std::string_view last) {
    return fmt::format("{:>10} {:>10} {:>6} {:>10} {:>10} {:>10} {} {:>6}\n", "mpi us", "quadr. us", "ratio", "mpi p99",
                       "quadr. p99", "MB/s", last, "errors");
  };
  std::string text = lines_above(header, measured, cold);
  if (touched) {
    text +=
        fmt::format("# buffers in {}: us is a call, step us the call with its buffers written before, read after it\n",
                    name_of(measured.memory));
    return text + first_titles(measured) + titles("mpi step us  quadr. step  ratio");
  }
  if (!late) return text + first_titles(measured) + titles("ceiling us   of it");
  text += fmt::format(
      "# {} enters each call {:.0f} us late: us is from then until the last rank is done; others: the slowest of the "
      "others, "
      "from when they enter\n",
      late->is_drawn() ? "a rank that is drawn for each round" : fmt::format("rank {}", late->rank),
      late->seconds * 1e6);
  return text + first_titles(measured) + titles("mpi others qu. others");
}

std::string table_line(const BenchRow& row) {
  std::string last = "         -       -";
  if (row.late) {
    last = fmt::format("{:>10.2f} {:>10.2f}", row.late->mpi_others.median, row.late->quadrille_others.median);
  } else if (row.step) {
    last = fmt::format("{:>11.2f} {:>12.2f} {:>6.2f}", row.step->mpi, row.step->quadrille, row.step->ratio);
  } else if (row.ceiling.microseconds > 0) {
    last = fmt::format("{:>10.2f} {:>7.2f}", row.ceiling.microseconds, part_of_ceiling(row));
  }
  return first_columns(row) + fmt::format("{:>10.2f} {:>10.2f} {:>6.2f} {:>10.2f} {:>10.2f} {:>10.1f} {} {:>6}\n",
                                          row.mpi.median, row.quadrille.median, row.ratio, row.mpi.p99,
                                          row.quadrille.p99, bandwidth(row.bytes_sent, row.quadrille.median), last,
                                          row.errors);
}

std::string overlap_head(const BenchHeader& header, const BenchCase& measured, int tests) {
  return lines_above(header, measured, false) +
         fmt::format(
             "# nonblocking: us is to start and wait alone; both us is to start, compute and wait, with {} of Test\n"
             "# hidden % is the part of the first that takes no time of its own in the second, with quartiles\n",
             tests == 1 ? "1 call" : fmt::format("{} calls", tests)) +
         first_titles(measured) +
         fmt::format("{:>10} {:>10} {:>10} {:>11} {:>14} {:>6} {:>14} {:>15} {:>6}\n", "mpi us", "quadr. us",
                     "compute us", "mpi both us", "quadr. both us", "ratio", "mpi hidden %", "quadr. hidden %",
                     "errors");
}

std::string overlap_line(const BenchRow& row) {
  const OverlapColumns overlap = row.overlap.value_or(OverlapColumns{});
  return first_columns(row) +
         fmt::format("{:>10.2f} {:>10.2f} {:>10.2f} {:>11.2f} {:>14.2f} {:>6.2f} {:>14} {:>15} {:>6}\n", row.mpi.median,
                     row.quadrille.median, overlap.compute, overlap.mpi.both.median, overlap.quadrille.both.median,
                     overlap.both_ratio, with_spread(overlap.mpi.percent), with_spread(overlap.quadrille.percent),
                     row.errors);
}

}  // namespace quadrille::tools
