#include "choose/tuning.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "choose/tuning_parts.hpp"

namespace quadrille::choose {
namespace {

using nlohmann::json;

constexpr std::uint64_t schema_version = 2;
constexpr double most_quietness = 1e9;

Quietness read_quietness(Table& table) {
  const std::string path = "/quiet";
  Quietness read;
  if (!table.enter(path, '{')) return read;
  read.quiet = table.truth(path, "quiet");
  read.p99_over_median = table.real(path, "p99_over_median", most_quietness);
  read.load = table.real(path, "load", most_quietness);
  read.ranks_per_processor = table.real(path, "ranks_per_processor", most_quietness);
  return read;
}

std::string quietness_text(const Quietness& of) {
  return fmt::format(
      "  \"quiet\": {{\"quiet\": {}, \"p99_over_median\": {:.4g}, \"load\": {:.4g}, "
      "\"ranks_per_processor\": {:.4g}}},\n",
      of.quiet, of.p99_over_median, of.load, of.ranks_per_processor);
}

}  // namespace

bool alike(const TuningEntry& a, const TuningEntry& b) { return a.crowded == b.crowded; }
bool alike(const ModelEntry& a, const ModelEntry& b) {
  return a.crowded == b.crowded && a.ranks_on_node == b.ranks_on_node && a.on_devices == b.on_devices;
}
bool alike(const NeighborEntry& a, const NeighborEntry& b) {
  return a.collective == b.collective && a.crowded == b.crowded && a.ranks_on_node == b.ranks_on_node &&
         a.kind == b.kind;
}
bool alike(const InsideEntry& a, const InsideEntry& b) {
  return a.collective == b.collective && a.crowded == b.crowded && a.kind == b.kind;
}

void set_inbox_limits(SwitchPoints& points, std::size_t alltoall, std::size_t allgather) {
  for (std::size_t c = 0; c < points.inbox_limit.size(); ++c) {
    points.inbox_limit[c] = is_allgather(static_cast<Collective>(c)) ? allgather : alltoall;
  }
}

// Found on 2 cores (AMD EPYC, family 25, model 17) with 2, 4 and 8 ranks. What calls take with them:
// docs/results/inside-a-node.md.
SwitchPoints default_switch_points(bool crowded) {
  SwitchPoints points;
  points.inbox_limit.fill(crowded ? 3072 : 1024);
  points.cma_from = crowded ? 131072 : 10240;
  return points;
}

std::string parse_tuning(const std::string& text, TuningTable& result) {
  Leaves leaves;
  if (std::string problem = read_leaves(text, leaves); !problem.empty()) return problem;

  Table table(leaves);
  TuningTable read;
  if (!table.enter("", '{')) return "line 1: it must be an object";
  const std::uint64_t version = table.number("", "quadrille_tuning", 0, UINT64_MAX);
  if (version != schema_version && table.problem.empty()) {
    return fmt::format("line {}: version {} is not known (expected {}): remove the file and tune again",
                       leaves.at("/quadrille_tuning").line, version, schema_version);
  }
  if (table.enter("/machine", '{')) {
    read.machine.processor = table.words("/machine", "processor");
    read.machine.cores = static_cast<int>(table.number("/machine", "cores", 1, most_ranks_in_table));
  }
  if (table.has("/quiet{")) read.quietness = read_quietness(table);
  read_entries(table, "/entries", read);
  table.refuse_the_rest();
  if (table.problem.empty()) result = std::move(read);
  return table.problem;
}

std::string tuning_text(const TuningTable& table) {
  return fmt::format(
      "{{\n  \"quadrille_tuning\": {},\n  \"machine\": {{\"processor\": {}, \"cores\": {}}},\n{}  \"entries\": [{}\n  "
      "]\n}}\n",
      schema_version, json(table.machine.processor).dump(-1, ' ', true, json::error_handler_t::replace),
      table.machine.cores, table.quietness ? quietness_text(*table.quietness) : "", entries_text(table));
}

const TuningEntry* nearest_entry(const TuningTable& table, int ranks, bool crowded) {
  return nearest(table.entries, {ranks, crowded, {}});
}

const ModelEntry* nearest_model(const TuningTable& table, int ranks, int ranks_on_node, bool crowded, bool on_devices) {
  return nearest(table.models, {ranks, ranks_on_node, crowded, {}, on_devices});
}

std::vector<NeighborEntry> nearest_neighbors(const TuningTable& table, int ranks, int ranks_on_node, bool crowded) {
  std::vector<NeighborEntry> found;
  for (const NeighborEntry& e : table.neighbors) {
    const NeighborEntry wanted{e.collective, ranks, ranks_on_node, crowded, e.kind, 0};
    if (nearest(table.neighbors, wanted) == &e) found.push_back(e);
  }
  return found;
}

std::vector<InsideEntry> nearest_inside(const TuningTable& table, int ranks, bool crowded) {
  std::vector<InsideEntry> found;
  for (const InsideEntry& e : table.inside) {
    if (nearest(table.inside, {e.collective, ranks, crowded, e.kind, {}}) == &e) found.push_back(e);
  }
  return found;
}

void put_all(TuningTable& table, const TuningTable& found) {
  for (const TuningEntry& one : found.entries) put(table.entries, one);
  for (const ModelEntry& one : found.models) put(table.models, one);
  for (const NeighborEntry& one : found.neighbors) put(table.neighbors, one);
  for (const InsideEntry& one : found.inside) put(table.inside, one);
  for (const AlgorithmEntry& one : found.algorithms) put(table.algorithms, one);
  if (found.quietness) table.quietness = found.quietness;
}

}  // namespace quadrille::choose
