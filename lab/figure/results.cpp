#include "lab/figure/results.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "mpi/mpi.hpp"
#include "tool/bench/bench.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) complain(fmt::format("cannot write '{}'; give a folder that exists with --results", file));
  return static_cast<bool>(out);
}

// What follows the name of the program on the command line. Not where the results go: it changes nothing in them.
std::string own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string word, words;
  for (bool first = true; std::getline(file, word, '\0'); first = false) {
    if (first || word.starts_with("--results=")) continue;
    if (word == "--results") {
      std::getline(file, word, '\0');
    } else {
      words += " " + word;
    }
  }
  return words;
}

bool has_rows(const ordered_json& json) {
  const auto is_list_of_rows = [](const ordered_json& one) {
    return one.is_array() &&
           std::any_of(one.begin(), one.end(), [](const ordered_json& row) { return row.is_object(); });
  };
  return is_list_of_rows(json) ||
         (json.is_structured() && std::any_of(json.begin(), json.end(), [](const auto& one) { return has_rows(one); }));
}

void add_text(const ordered_json& json, const std::string& indent, std::string& text) {
  if (!has_rows(json)) {
    text += json.dump();
    return;
  }
  const std::string inside = indent + " ";
  const char* separator = "\n";
  text += json.is_array() ? "[" : "{";
  for (const auto& [name, value] : json.items()) {
    text += separator + inside + (json.is_array() ? "" : ordered_json(name).dump() + ": ");
    add_text(value, inside, text);
    separator = ",\n";
  }
  text += "\n" + indent + (json.is_array() ? "]" : "}");
}

}  // namespace

int count_hosts() {
  MpiComm all = mpi().comm_world;
  MpiComm host = mpi().comm_null;
  int rank = 0;
  mpi().Comm_split_type(all, mpi().comm_type_shared, 0, mpi().info_null, &host);
  mpi().Comm_rank(host, &rank);
  mpi().Comm_free(&host);
  std::uint64_t first = rank == 0 ? 1 : 0, hosts = 0;
  mpi().Allreduce(&first, &hosts, 1, mpi().uint64, mpi().op_sum, all);
  return static_cast<int>(hosts);
}

std::string compact_text(const ordered_json& json) {
  std::string text;
  add_text(json, "", text);
  return text;
}

nlohmann::ordered_json head_json(const Figure& figure, const FigureRun& run) {
  ordered_json json;
  json["figure"] = figure.name;
  json["command"] = run.command;
  json["header"] = quadrille::tools::to_json(run.header);
  // Of the last panel alone.
  json["header"].erase("mpi_setup_us");
  json["header"].erase("quadrille_setup_us");
  json["ranks"] = run.ranks;
  json["hosts"] = run.hosts;
  json["processors"] = run.processors;
  json["facts"] = to_json(run.facts);
  return json;
}

int write_data(const LabOptions& options, const std::string& name, const nlohmann::ordered_json& json) {
  return write(options.results + "/" + name + ".json", compact_text(json) + "\n") ? 0 : wrong_result;
}

int write_results(const LabOptions& options, const Figure& figure, const nlohmann::ordered_json& json,
                  const std::string& page) {
  const int status = write_data(options, figure.name, json);
  if (status == 0) fmt::print("{}", page);
  return status;
}

std::string make_local_folder(const std::string& folder) {
  std::error_code ignored;  // access() finds the same
  std::filesystem::create_directory(folder, ignored);
  if (std::filesystem::is_directory(folder, ignored) && access(folder.c_str(), W_OK) == 0) return "";
  return fmt::format("'{}' is no folder to write to; give one with --results", folder);
}

bool make_folder(const std::string& folder) {
  int rank = 0, usable = 1;
  mpi().Comm_rank(mpi().comm_world, &rank);
  if (rank == 0) {
    const std::string problem = make_local_folder(folder);
    usable = problem.empty() ? 1 : 0;
    if (usable == 0) complain(problem);
  }
  mpi().Bcast(&usable, 1, mpi().int_type, 0, mpi().comm_world);
  return usable != 0;
}

FigureRun make_run(const BenchHeader& header) {
  FigureRun run;
  mpi().Comm_size(mpi().comm_world, &run.ranks);
  run.hosts = count_hosts();
  run.processors = static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  run.command = launcher_line();
  if (run.command.empty()) run.command = fmt::format("mpirun -n {} quadrille{}", run.ranks, own_words());
  run.facts = collect_facts();
  run.header = header;
  return run;
}

std::string why_not_joined() {
  int ranks = 0;
  mpi().Comm_size(mpi().comm_world, &ranks);
  return why_ranks_differ(ranks);
}

std::string why_no_launcher(const LabOptions& options) {
  return fmt::format(
      "a figure is measured by the ranks of a launcher; start it with 'mpirun -n 8 "
      "quadrille-lab bench --figure {}' (with --oversubscribe if Open MPI sees fewer "
      "than 8 cores)",
      options.figure);
}

}  // namespace quadrille::tools
