// The old form of a tuning table, version 1: a section for each kind of entry. It is read, not written.
#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "choose/tuning_parts.hpp"

namespace quadrille::choose {
namespace {

constexpr Form old_choices = {"choices", "algorithm"}, old_inside = {"inside", "algorithm"};

TuningEntry read_entry(Table& table, const std::string& path) {
  TuningEntry entry;
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks_in_table));
  entry.crowded = table.truth(path, "crowded");
  entry.points.cma_from = table.number(path, "cma_from", 0, most_bytes_in_table);
  const std::string limits = path + "/inbox_limit";
  if (!table.enter(limits, '{')) return entry;
  for (int c = 0; c < dense_collective_count; ++c) {
    const std::string name(name_of(static_cast<Collective>(c)));
    entry.points.inbox_limit[static_cast<std::size_t>(c)] = table.number(limits, name, 0, most_bytes_in_table);
  }
  return entry;
}

NeighborEntry read_combined(Table& table, const std::string& path) {
  NeighborEntry entry = read_neighbors(table, path, path);
  entry.largest_combined = table.number(path, "largest_combined", 0, most_bytes_in_table);
  return entry;
}

// Those of communicators on one node, and the others.
void read_all_neighbors(Table& table, const std::string& list, TuningTable& read) {
  for_each_object(table, list, [&](const std::string& path) {
    if (table.has(path + "/inside[") || table.has(path + "/inside")) {
      add_new(table, path, read_inside(table, path, path, old_inside), read.inside);
    } else {
      add_new(table, path, read_combined(table, path), read.neighbors);
    }
  });
}

AlgorithmEntry read_choices(Table& table, const std::string& path) { return read_algorithms(table, path, old_choices); }

}  // namespace

void read_sections(Table& table, TuningTable& read) {
  read_list(table, "/entries", read_entry, read.entries);
  const auto is_there = [&](const std::string& list) { return table.has(list + "[") || table.has(list); };
  if (is_there("/models")) read_list(table, "/models", read_model, read.models);
  if (is_there("/neighbors")) read_all_neighbors(table, "/neighbors", read);
  if (is_there("/algorithms")) read_list(table, "/algorithms", read_choices, read.algorithms);
}

}  // namespace quadrille::choose
