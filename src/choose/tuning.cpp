#include "choose/tuning.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <utility>

#include "choose/tuning_parts.hpp"

namespace quadrille::choose {
namespace {

constexpr std::uint64_t schema_version = 2;
constexpr double most_quietness = 1e9;

void describe(Fields& fields, Machine& machine) {
  fields.words("processor", machine.processor);
  fields.number("cores", machine.cores);
}

void describe(Fields& fields, Quietness& quietness) {
  fields.truth("quiet", quietness.quiet);
  fields.real("p99_over_median", quietness.p99_over_median, most_quietness);
  fields.real("load", quietness.load, most_quietness);
  fields.real("ranks_per_processor", quietness.ranks_per_processor, most_quietness);
}

template <class Object>
std::string object_text(const char* name, Object object) {
  Fields fields(2);
  describe(fields, object);
  return fmt::format("  \"{}\": {},\n", name, fields.text());
}

}  // namespace

// Found on 2 cores (AMD EPYC, family 25, model 17) with 2, 4 and 8 ranks. What calls take with them:
// docs/results/inside-a-node.md.
SwitchPoints default_switch_points(bool crowded) {
  SwitchPoints points;
  points.inbox_limit.fill(crowded ? 3072 : 1024);
  points.cma_from = crowded ? 131072 : 10240;
  return points;
}

std::string parse_tuning(const std::string& text, TuningTable& result) {
  Reading reading = read_json(text);
  if (!reading.problem.empty()) return reading.problem;
  Fields root(reading, reading.root);
  TuningTable read;
  std::uint64_t version = 0;
  root.number("quadrille_tuning", version, 0, UINT64_MAX);
  if (version != schema_version) {
    root.fail("quadrille_tuning", fmt::format("version {} is not known (expected {}): remove the file and tune again",
                                              version, schema_version));
  }
  root.object("machine", [&](Fields& fields) { describe(fields, read.machine); });
  if (root.has("quiet")) root.object("quiet", [&](Fields& fields) { describe(fields, read.quietness.emplace()); });
  read_entries(root, read);
  refuse_the_rest(reading, reading.root);
  if (reading.problem.empty()) result = std::move(read);
  return reading.problem;
}

std::string tuning_text(const TuningTable& table) {
  return fmt::format("{{\n  \"quadrille_tuning\": {},\n{}{}  \"entries\": [{}\n  ]\n}}\n", schema_version,
                     object_text("machine", table.machine),
                     table.quietness ? object_text("quiet", *table.quietness) : "", entries_text(table));
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
