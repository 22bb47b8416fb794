#include "choose/tuning.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "choose/tuning_parts.hpp"
#include "plan/placed_cost.hpp"

namespace quadrille::choose {
namespace {

using nlohmann::json;

constexpr std::uint64_t schema_version = 1;
constexpr std::uint64_t most_ranks = most_ranks_in_table;
constexpr std::uint64_t most_bytes = most_bytes_in_table;
constexpr std::uint64_t most_blocks = std::uint64_t{1} << 40;
constexpr double most_nanoseconds = 1e12;

bool measures_neighbors(Collective c) { return is_neighbor(c) && is_regular(c); }

TuningEntry read_entry(Table& table, const std::string& path) {
  TuningEntry entry;
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks));
  entry.crowded = table.truth(path, "crowded");
  entry.points.cma_from = table.number(path, "cma_from", 0, most_bytes);
  const std::string limits = path + "/inbox_limit";
  if (!table.enter(limits, '{', path)) return entry;
  for (int c = 0; c < dense_collective_count; ++c) {
    const std::string name(name_of(static_cast<Collective>(c)));
    entry.points.inbox_limit[static_cast<std::size_t>(c)] = table.number(limits, name, 0, most_bytes);
  }
  return entry;
}

// Those that a model has which tells no messages and copies apart.
bool is_of_one_class(plan::Term term) {
  using enum plan::Term;
  return term == message || term == byte || term == copied_byte || term == copied_block || term == round;
}

// With the first of the others all must be there.
plan::Machine read_machine(Table& table, const std::string& parent, const char* name) {
  plan::Machine machine{};
  const std::string path = parent + "/" + name;
  if (!table.enter(path, '{', parent)) return machine;
  const bool one_class = std::none_of(plan::term_rows.begin(), plan::term_rows.end(), [&](const plan::TermRow& row) {
    return !is_of_one_class(row.term) && table.has(fmt::format("{}/{}", path, row.name));
  });
  for (const plan::TermRow& row : plan::term_rows) {
    if (one_class && !is_of_one_class(row.term)) continue;
    machine.*row.constant = table.real(path, std::string(row.name), most_nanoseconds) * 1e-9;
  }
  return one_class ? plan::one_class(machine) : machine;
}

ModelEntry read_model(Table& table, const std::string& path) {
  ModelEntry entry;
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks));
  if (table.has(path + "/ranks_on_node")) {
    entry.ranks_on_node = static_cast<int>(table.number(path, "ranks_on_node", 1, most_ranks));
  }
  entry.crowded = table.truth(path, "crowded");
  if (table.has(path + "/processors")) {
    entry.model.processors = static_cast<double>(table.number(path, "processors", 1, most_ranks));
  }
  entry.model.quadrille = read_machine(table, path, "quadrille");
  entry.model.mpi = read_machine(table, path, "mpi");
  return entry;
}

Collective read_neighbor_collective(Table& table, const std::string& path) {
  Collective collective{};
  const std::string name = table.words(path, "collective");
  if (!collective_from_name(name, collective) || !measures_neighbors(collective)) {
    table.fail(table.line_of(path), "\"collective\" must be neighbor_alltoall or neighbor_allgather");
  }
  return collective;
}

// `combines`: with fewer rounds than neighbours.
NeighborhoodKind read_kind(Table& table, const std::string& path, bool combines) {
  const auto amount = [&](const char* of, std::uint64_t least) {
    return static_cast<std::int64_t>(table.number(path, of, least, most_blocks));
  };
  const NeighborhoodKind kind = {amount("neighbors", combines ? 2 : 1), amount("rounds", 1), amount("blocks", 1)};
  if (combines && kind.rounds >= kind.neighbors) {
    table.fail(table.line_of(path), "\"rounds\" must be fewer than \"neighbors\"");
  }
  if (kind.rounds > kind.neighbors) table.fail(table.line_of(path), "\"rounds\" must not be more than \"neighbors\"");
  return kind;
}

NeighborEntry read_neighbors(Table& table, const std::string& path) {
  NeighborEntry entry;
  entry.collective = read_neighbor_collective(table, path);
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks));
  entry.ranks_on_node = static_cast<int>(table.number(path, "ranks_on_node", 1, most_ranks));
  entry.crowded = table.truth(path, "crowded");
  entry.kind = read_kind(table, path, true);
  entry.largest_combined = table.number(path, "largest_combined", 0, most_bytes);
  return entry;
}

InsideEntry read_inside(Table& table, const std::string& path) {
  InsideEntry entry;
  entry.collective = read_neighbor_collective(table, path);
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks));
  entry.crowded = table.truth(path, "crowded");
  entry.kind = read_kind(table, path, false);
  const std::string list = path + "/inside";
  if (!table.enter(list, '[', path)) return entry;
  for (int i = 0; table.has(fmt::format("{}/{}{{", list, i)); ++i) {
    const std::string range = fmt::format("{}/{}", list, i);
    table.enter(range, '{', list);
    const std::size_t bytes = table.number(range, "up_to", 1, most_bytes);
    const std::string problem = add_range(entry, bytes, table.words(range, "algorithm"));
    if (!problem.empty()) table.fail(table.line_of(range), problem);
  }
  if (entry.count == 0) table.fail(table.line_of(list), "\"inside\" must have an element");
  return entry;
}

// Those of communicators on one node, and the others.
void read_all_neighbors(Table& table, const std::string& list, TuningTable& read) {
  for_each_object(table, list, [&](const std::string& path) {
    if (table.has(path + "/inside[") || table.has(path + "/inside")) {
      add_new(table, path, read_inside(table, path), read.inside);
    } else {
      add_new(table, path, read_neighbors(table, path), read.neighbors);
    }
  });
}

std::string machine_text(const plan::Machine& machine) {
  std::string text;
  for (const plan::TermRow& row : plan::term_rows) {
    const char* before = text.empty() ? "{" : row.term == plan::Term::near_byte ? ",\n       " : ", ";
    text += fmt::format("{}\"{}\": {:.6g}", before, row.name, machine.*row.constant * 1e9);
  }
  return text + "}";
}

std::string models_text(const std::vector<ModelEntry>& models) {
  if (models.empty()) return {};
  std::string text = ",\n  \"models\": [";
  const char* before = "\n";
  for (const ModelEntry& e : models) {
    const std::string processors =
        e.model.processors > 0 ? fmt::format(" \"processors\": {:.0f},", e.model.processors) : "";
    text += fmt::format(
        "{}    {{\"ranks\": {}, \"ranks_on_node\": {}, \"crowded\": {},{}\n     \"quadrille\": {},\n     \"mpi\": {}}}",
        before, e.ranks, e.ranks_on_node, e.crowded, processors, machine_text(e.model.quadrille), machine_text(e.model.mpi));
    before = ",\n";
  }
  return text + "\n  ]";
}

std::string kind_text(const NeighborhoodKind& kind) {
  return fmt::format("\"neighbors\": {}, \"rounds\": {}, \"blocks\": {}", kind.neighbors, kind.rounds, kind.blocks);
}

std::string neighbors_text(const std::vector<NeighborEntry>& entries, const std::vector<InsideEntry>& inside) {
  if (entries.empty() && inside.empty()) return {};
  std::string text = ",\n  \"neighbors\": [";
  const char* before = "\n";
  for (const NeighborEntry& e : entries) {
    text += fmt::format(
        "{}    {{\"collective\": \"{}\", \"ranks\": {}, \"ranks_on_node\": {}, \"crowded\": {},\n"
        "     {}, \"largest_combined\": {}}}",
        before, name_of(e.collective), e.ranks, e.ranks_on_node, e.crowded, kind_text(e.kind),
        std::min<std::size_t>(e.largest_combined, most_bytes));
    before = ",\n";
  }
  for (const InsideEntry& e : inside) {
    text += fmt::format("{}    {{\"collective\": \"{}\", \"ranks\": {}, \"crowded\": {}, {},\n     \"inside\": {}}}",
                        before, name_of(e.collective), e.ranks, e.crowded, kind_text(e.kind), ranges_text(e));
    before = ",\n";
  }
  return text + "\n  ]";
}

}  // namespace

bool alike(const TuningEntry& a, const TuningEntry& b) { return a.crowded == b.crowded; }
bool alike(const ModelEntry& a, const ModelEntry& b) {
  return a.crowded == b.crowded && a.ranks_on_node == b.ranks_on_node;
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

// Measured on 2 cores (AMD EPYC, family 25, model 17) with 2, 4 and 8 ranks; see
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
  if (!table.enter("", '{', "")) return "line 1: it must be an object";
  if (const std::uint64_t version = table.number("", "quadrille_tuning", 0, UINT64_MAX);
      version != schema_version && table.problem.empty()) {
    return fmt::format("line {}: version {} is not known; this one knows {}",
                       leaves.at("/quadrille_tuning").line, version, schema_version);
  }
  if (table.enter("/machine", '{', "")) {
    read.machine.processor = table.words("/machine", "processor");
    read.machine.cores = static_cast<int>(table.number("/machine", "cores", 1, most_ranks));
  }
  read_list(table, "/entries", read_entry, read.entries);
  const auto is_there = [&](const std::string& list) { return table.has(list + "[") || table.has(list); };
  if (is_there("/models")) read_list(table, "/models", read_model, read.models);
  if (is_there("/neighbors")) read_all_neighbors(table, "/neighbors", read);
  if (is_there("/algorithms")) read_list(table, "/algorithms", read_algorithms, read.algorithms);
  table.refuse_the_rest();
  if (table.problem.empty()) result = std::move(read);
  return table.problem;
}

std::string tuning_text(const TuningTable& table) {
  std::string text = fmt::format(
      "{{\n  \"quadrille_tuning\": {},\n  \"machine\": {{\"processor\": {}, \"cores\": {}}},\n"
      "  \"entries\": [",
      schema_version, json(table.machine.processor).dump(-1, ' ', true, json::error_handler_t::replace),
      table.machine.cores);
  const char* before = "\n";
  for (const TuningEntry& e : table.entries) {
    text += fmt::format("{}    {{\"ranks\": {}, \"crowded\": {}, \"cma_from\": {},\n"
                        "     \"inbox_limit\": {{",
                        before, e.ranks, e.crowded, std::min<std::size_t>(e.points.cma_from, most_bytes));
    for (int c = 0; c < dense_collective_count; ++c) {
      const std::size_t limit = e.points.inbox_limit[static_cast<std::size_t>(c)];
      text += fmt::format("{}\"{}\": {}", c == 0 ? "" : ", ", name_of(static_cast<Collective>(c)),
                          std::min<std::size_t>(limit, most_bytes));
    }
    text += "}}";
    before = ",\n";
  }
  return text + "\n  ]" + models_text(table.models) + neighbors_text(table.neighbors, table.inside) +
         algorithms_text(table.algorithms) + "\n}\n";
}

const TuningEntry* nearest_entry(const TuningTable& table, int ranks, bool crowded) {
  return nearest(table.entries, {ranks, crowded, {}});
}

const ModelEntry* nearest_model(const TuningTable& table, int ranks, int ranks_on_node, bool crowded) {
  return nearest(table.models, {ranks, ranks_on_node, crowded, {}});
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
    if (nearest(table.inside, {e.collective, ranks, crowded, e.kind}) == &e) found.push_back(e);
  }
  return found;
}

void put_entry(TuningTable& table, const TuningEntry& entry) { put(table.entries, entry); }

void put_model(TuningTable& table, const ModelEntry& entry) { put(table.models, entry); }

void put_neighbors(TuningTable& table, const NeighborEntry& entry) { put(table.neighbors, entry); }

void put_inside(TuningTable& table, const InsideEntry& entry) { put(table.inside, entry); }

void put_all(TuningTable& table, const TuningTable& found) {
  for (const TuningEntry& one : found.entries) put_entry(table, one);
  for (const ModelEntry& one : found.models) put_model(table, one);
  for (const NeighborEntry& one : found.neighbors) put_neighbors(table, one);
  for (const InsideEntry& one : found.inside) put_inside(table, one);
  for (const AlgorithmEntry& one : found.algorithms) put_algorithms(table, one);
}

}  // namespace quadrille::choose
