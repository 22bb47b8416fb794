// The entries of a tuning table: all of one form, whatever they are of (docs/tuning.md).
//
//   {"of": "algorithm", "collective": "alltoall", <the case>, "choices": [{"up_to": 512, "take": "inbox"}, ...]}
//
// To add a subject: a row below with how it is read, and a line in entries_text().
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "choose/tuning_parts.hpp"
#include "plan/placed_cost.hpp"

namespace quadrille::choose {
namespace {

constexpr std::uint64_t most_blocks = std::uint64_t{1} << 40;
constexpr double most_nanoseconds = 1e12;

bool measures_neighbors(Collective c) { return is_neighbor(c) && is_regular(c); }

// Those that a model has which tells no messages and copies apart.
bool is_of_one_class(plan::Term term) {
  using enum plan::Term;
  return term == message || term == byte || term == copied_byte || term == copied_block || term == round;
}

// With the first of the others all must be there, but for what older tables do not have.
plan::Machine read_machine(Table& table, const std::string& parent, const char* name) {
  plan::Machine machine{};
  const std::string path = parent + "/" + name;
  if (!table.enter(path, '{')) return machine;
  const bool one_class = std::none_of(plan::term_rows.begin(), plan::term_rows.end(), [&](const plan::TermRow& row) {
    const bool of_classes = !is_of_one_class(row.term) && row.term != plan::Term::handshake;
    return of_classes && table.has(fmt::format("{}/{}", path, row.name));
  });
  for (const plan::TermRow& row : plan::term_rows) {
    if (one_class && !is_of_one_class(row.term)) continue;
    if (row.term == plan::Term::handshake && !table.has(fmt::format("{}/{}", path, row.name))) continue;
    machine.*row.constant = table.real(path, std::string(row.name), most_nanoseconds) * 1e-9;
  }
  return one_class ? plan::one_class(machine) : machine;
}

Bus read_bus(Table& table, const std::string& parent) {
  Bus bus;
  const std::string path = parent + "/bus";
  if (!table.enter(path, '{')) return bus;
  bus.byte = table.real(path, "byte", most_nanoseconds) * 1e-9;
  bus.call = table.real(path, "call", most_nanoseconds) * 1e-9;
  return bus;
}

// `combines`: with fewer rounds than neighbours.
NeighborhoodKind read_kind(Table& table, const std::string& entry, bool combines) {
  const std::string path = entry + "/around";
  table.enter(path, '{');
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

// The one choice of a subject that has two ways: blocks of up to so many bytes take `way`. None if there is no choice.
std::optional<std::size_t> read_limit(Table& table, const std::string& path, std::string_view way) {
  const std::string list = path + "/choices", first = list + "/0";
  if (!table.enter(list, '[') || !table.has(first + "{")) return std::nullopt;
  if (table.has(list + "/1{")) table.fail(table.line_of(list), "\"choices\" must be one object here, or none");
  table.enter(first, '{');
  if (table.words(first, "take") != way) {
    table.fail(table.line_of(first, "take"), fmt::format("\"take\" must be {}", way));
  }
  return table.number(first, "up_to", 0, most_bytes_in_table);
}
// The first block that takes the other way.
std::size_t read_from(Table& table, const std::string& path, std::string_view way) {
  const std::optional<std::size_t> limit = read_limit(table, path, way);
  return limit.has_value() ? *limit + 1 : 0;
}

TuningEntry& points_of(Table& table, const std::string& path, TuningTable& read) {
  TuningEntry wanted;
  wanted.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks_in_table));
  wanted.crowded = table.truth(path, "crowded");
  if (TuningEntry* const known = same_case(read.entries, wanted)) return *known;
  wanted.points = default_switch_points(wanted.crowded);
  read.entries.push_back(wanted);
  return read.entries.back();
}

void read_inbox(Table& table, const std::string& path, TuningTable& read) {
  const Collective collective = read_collective(table, path, is_dense);
  TuningEntry& entry = points_of(table, path, read);
  entry.points.inbox_limit[static_cast<std::size_t>(collective)] = read_limit(table, path, "inbox").value_or(0);
}

void read_kernel_copy(Table& table, const std::string& path, TuningTable& read) {
  TuningEntry& entry = points_of(table, path, read);
  entry.points.cma_from = read_from(table, path, "ring");
}

void read_streaming(Table& table, const std::string& path, TuningTable& read) {
  TuningEntry& entry = points_of(table, path, read);
  entry.points.stream_from = std::max<std::size_t>(read_from(table, path, "cached"), 1);
}

void read_algorithm(Table& table, const std::string& path, TuningTable& read) {
  add_new(table, path, read_algorithms(table, path), read.algorithms);
}

void read_order(Table& table, const std::string& path, TuningTable& read) {
  InsideEntry entry;
  entry.collective = read_collective(table, path, measures_neighbors);
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks_in_table));
  entry.crowded = table.truth(path, "crowded");
  entry.kind = read_kind(table, path, false);
  entry.choices = read_choices(table, path, entry.collective, [&](const Algorithm& one) {
    std::string names = "an order must be one of default";
    for (const Algorithm* order : inside_orders(entry.collective)) names += fmt::format(", {}", order->name);
    return one.build_edges != nullptr ? "" : names;
  });
  add_new(table, path, entry, read.inside);
}

void read_combining(Table& table, const std::string& path, TuningTable& read) {
  NeighborEntry entry;
  entry.collective = read_collective(table, path, measures_neighbors);
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks_in_table));
  entry.ranks_on_node = static_cast<int>(table.number(path, "ranks_on_node", 1, most_ranks_in_table));
  entry.crowded = table.truth(path, "crowded");
  entry.kind = read_kind(table, path, true);
  entry.largest_combined = read_limit(table, path, "combined").value_or(0);
  add_new(table, path, entry, read.neighbors);
}

void read_model(Table& table, const std::string& path, TuningTable& read) {
  ModelEntry entry;
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks_in_table));
  if (table.has(path + "/ranks_on_node")) {
    entry.ranks_on_node = static_cast<int>(table.number(path, "ranks_on_node", 1, most_ranks_in_table));
  }
  entry.crowded = table.truth(path, "crowded");
  if (table.has(path + "/processors")) {
    entry.model.processors = static_cast<double>(table.number(path, "processors", 1, most_ranks_in_table));
  }
  if (table.has(path + "/eager"))
    entry.model.eager = static_cast<double>(table.number(path, "eager", 1, most_bytes_in_table));
  entry.model.quadrille = read_machine(table, path, "quadrille");
  entry.model.mpi = read_machine(table, path, "mpi");
  entry.on_devices = read_on_devices(table, path);
  if (entry.on_devices) entry.bus = read_bus(table, path);
  add_new(table, path, entry, read.models);
}

struct EntrySubject {
  std::string_view of;
  void (*read)(Table&, const std::string& path, TuningTable&);
};
constexpr EntrySubject entry_subjects[] = {{"inbox", read_inbox},         {"kernel-copy", read_kernel_copy},
                                           {"streaming", read_streaming}, {"algorithm", read_algorithm},
                                           {"order", read_order},         {"combining", read_combining},
                                           {"model", read_model}};

std::string known_subjects() {
  std::string names;
  for (const EntrySubject& one : entry_subjects) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.of);
  return names;
}

// ---- Writing ----

void write_entry(std::string& all, std::string_view of, const std::string& rest) {
  all += fmt::format("{}    {{\"of\": \"{}\", {}}}", all.empty() ? "\n" : ",\n", of, rest);
}

std::string limit_text(std::size_t limit, std::string_view way) {
  return fmt::format("\"choices\": [{{\"up_to\": {}, \"take\": \"{}\"}}]",
                     std::min<std::size_t>(limit, most_bytes_in_table), way);
}

std::string from_text(std::size_t from, std::string_view way) {
  return from == 0 ? "\"choices\": []" : limit_text(from - 1, way);
}

std::string case_text(int ranks, bool crowded) { return fmt::format("\"ranks\": {}, \"crowded\": {}", ranks, crowded); }

std::string kind_text(const NeighborhoodKind& kind) {
  return fmt::format("\"around\": {{\"neighbors\": {}, \"rounds\": {}, \"blocks\": {}}}", kind.neighbors, kind.rounds,
                     kind.blocks);
}

void write_points(const TuningEntry& e, std::string& all) {
  const std::string where = case_text(e.ranks, e.crowded);
  for (int c = 0; c < dense_collective_count; ++c) {
    write_entry(all, "inbox",
                fmt::format("\"collective\": \"{}\", {}, {}", name_of(static_cast<Collective>(c)), where,
                            limit_text(e.points.inbox_limit[static_cast<std::size_t>(c)], "inbox")));
  }
  write_entry(all, "kernel-copy", where + ", " + from_text(e.points.cma_from, "ring"));
  if (e.points.stream_from != 0) {
    write_entry(all, "streaming", where + ", " + from_text(e.points.stream_from, "cached"));
  }
}

void write_algorithm(const AlgorithmEntry& e, std::string& all) {
  write_entry(all, "algorithm",
              fmt::format("\"collective\": \"{}\", \"ranks\": {}, \"ranks_on_node\": {}, \"nodes\": {}, "
                          "\"crowded\": {},{}\n     {}",
                          name_of(e.collective), e.ranks, e.ranks_on_node, e.nodes, e.crowded,
                          e.on_devices ? " \"memory\": \"device\"," : "", choices_text(e.choices)));
}

std::string machine_text(const plan::Machine& machine) {
  std::string text;
  for (const plan::TermRow& row : plan::term_rows) {
    const char* before = text.empty() ? "{" : row.term == plan::Term::near_byte ? ",\n       " : ", ";
    text += fmt::format("{}\"{}\": {:.6g}", before, row.name, machine.*row.constant * 1e9);
  }
  return text + "}";
}

void write_model(const ModelEntry& e, std::string& all) {
  const std::string processors =
      e.model.processors > 0 ? fmt::format(" \"processors\": {:.0f},", e.model.processors) : "";
  const std::string eager = e.model.eager > 0 ? fmt::format(" \"eager\": {:.0f},", e.model.eager) : "";
  const std::string bus =
      e.on_devices ? fmt::format(" \"memory\": \"device\",\n     \"bus\": {{\"byte\": {:.6g}, \"call\": {:.6g}}},",
                                 e.bus.byte * 1e9, e.bus.call * 1e9)
                   : "";
  write_entry(all, "model",
              fmt::format("\"ranks\": {}, \"ranks_on_node\": {}, \"crowded\": {},{}{}{}\n     \"quadrille\": {},"
                          "\n     \"mpi\": {}",
                          e.ranks, e.ranks_on_node, e.crowded, processors, eager, bus, machine_text(e.model.quadrille),
                          machine_text(e.model.mpi)));
}

}  // namespace

Collective read_collective(Table& table, const std::string& path, bool (*wanted)(Collective)) {
  Collective collective{};
  if (collective_from_name(table.words(path, "collective"), collective) && wanted(collective)) return collective;
  table.fail(table.line_of(path, "collective"),
             fmt::format("\"collective\" must be one of {}", collective_names(wanted)));
  return {};
}

bool read_on_devices(Table& table, const std::string& path) {
  if (!table.has(path + "/memory")) return false;
  const std::string memory = table.words(path, "memory");
  if (memory != "device" && memory != "host") {
    table.fail(table.line_of(path, "memory"), "\"memory\" must be host or device");
  }
  return memory == "device";
}

void read_entries(Table& table, const std::string& list, TuningTable& read) {
  std::set<std::string> limits;
  for_each_object(table, list, [&](const std::string& path) {
    const std::string of = table.words(path, "of");
    const auto subject = std::find_if(std::begin(entry_subjects), std::end(entry_subjects),
                                      [&](const EntrySubject& one) { return one.of == of; });
    if (subject == std::end(entry_subjects)) {
      return table.fail(table.line_of(path, "of"), fmt::format("\"of\" must be one of {}", known_subjects()));
    }
    subject->read(table, path, read);
    // Those of which several make one entry.
    if (!table.problem.empty() || subject - entry_subjects >= 3) return;
    const std::string collective = of == "inbox" ? table.words(path, "collective") : "";
    if (!limits
             .insert(fmt::format("{} {} {} {}", of, collective, table.number(path, "ranks", 2, most_ranks_in_table),
                                 table.truth(path, "crowded")))
             .second) {
      table.fail(table.line_of(path), "these ranks are there twice");
    }
  });
}

std::string entries_text(const TuningTable& table) {
  std::string all;
  for (const TuningEntry& e : table.entries) write_points(e, all);
  for (const AlgorithmEntry& e : table.algorithms) write_algorithm(e, all);
  for (const InsideEntry& e : table.inside) {
    write_entry(all, "order",
                fmt::format("\"collective\": \"{}\", {}, {},\n     {}", name_of(e.collective),
                            case_text(e.ranks, e.crowded), kind_text(e.kind), choices_text(e.choices)));
  }
  for (const NeighborEntry& e : table.neighbors) {
    write_entry(
        all, "combining",
        fmt::format("\"collective\": \"{}\", \"ranks\": {}, \"ranks_on_node\": {}, \"crowded\": {},\n     {}, {}",
                    name_of(e.collective), e.ranks, e.ranks_on_node, e.crowded, kind_text(e.kind),
                    limit_text(e.largest_combined, "combined")));
  }
  for (const ModelEntry& e : table.models) write_model(e, all);
  return all;
}

}  // namespace quadrille::choose
