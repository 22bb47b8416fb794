#include "tools/bench_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

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

const char* name_of_distribution(Distribution distribution) {
  return distribution == Distribution::equal ? "equal" : "uniform";
}

std::string cannot_write(const std::string& file) {
  return fmt::format("cannot write '{}': {}", file, std::strerror(errno));
}

// Text of a CSV field: quoted where it has to be.
std::string csv_field(const ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  return text.find_first_of(",\"\n") == std::string::npos ? text : value.dump();
}

}  // namespace

double bandwidth(std::size_t bytes, double microseconds) {
  return microseconds > 0 ? static_cast<double>(bytes) / microseconds : 0;
}

ordered_json to_json(const BenchHeader& header) {
  return {{"version", header.version},
          {"mpi", header.mpi},
          {"mpi_library", header.mpi_library},
          {"cpu", header.cpu},
          {"date", header.date}};
}

ordered_json to_json(const BenchRow& row) {
  ordered_json json;
  json["collective"] = choose::name_of(row.measured.collective);
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
  json["datatype"] = name_of_element(row.measured.element);
  json["distribution"] = name_of_distribution(row.measured.distribution);
  json["in_place"] = row.measured.in_place;
  json["memory"] = row.measured.shared_memory ? "shared" : "private";
  json["cold"] = row.cold;
  json["seed"] = row.measured.seed;
  return json;
}

std::string write_json(const std::string& file, const BenchHeader& header,
                       const std::vector<BenchRow>& rows) {
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
  const ordered_json columns = to_json(BenchRow{});
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

std::string table_head(const BenchHeader& header, const BenchCase& measured, bool cold) {
  std::string text = fmt::format(
      "# quadrille {}  {}  {}\n# {}, {} rank{}{}{}, {}; median over batches of the maximum over "
      "ranks\n",
      header.version, header.mpi, header.cpu, choose::name_of(measured.collective), measured.ranks,
      measured.ranks == 1 ? "" : "s", measured.in_place ? ", in place" : "",
      cold ? ", cold caches" : "", name_of_element(measured.element));
  text += fmt::format("{:>10} {:<24} {:<24} {:>10} {:>10} {:>6} {:>10} {:>10} {:>10} {:>6}\n",
                      "bytes", "algorithm", "served by", "mpi us", "quadr. us", "ratio", "mpi p99",
                      "quadr. p99", "MB/s", "errors");
  return text;
}

std::string table_line(const BenchRow& row) {
  return fmt::format(
      "{:>10} {:<24} {:<24} {:>10.2f} {:>10.2f} {:>6.2f} {:>10.2f} {:>10.2f} {:>10.1f} {:>6}\n",
      row.measured.bytes, row.algorithm, row.served_by, row.mpi.median, row.quadrille.median,
      row.ratio, row.mpi.p99, row.quadrille.p99, bandwidth(row.bytes_sent, row.quadrille.median),
      row.errors);
}

Progress::Progress(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

void Progress::show(const std::string& text) {
  if (wanted_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

void Progress::clear() {
  if (wanted_) std::fputs("\r\033[K", stderr);
}

}  // namespace quadrille::tools
