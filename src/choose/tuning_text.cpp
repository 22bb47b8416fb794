// The text of a tuning table, read and written. Its entries are all of one form, whatever they are of (docs/tuning.md).
//
//   {"of": "algorithm", "collective": "alltoall", <the case>, "choices": [{"up_to": 512, "take": "inbox"}, ...]}
//
// To add a subject: its description, by which it is read and written, a row of `entry_subjects`, and a line in
// entries_text().
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "choose/tuning.hpp"
#include "choose/tuning_json.hpp"
#include "plan/cost.hpp"

namespace quadrille::choose {
namespace {

constexpr std::uint64_t most_blocks = std::uint64_t{1} << 40;
constexpr double most_nanoseconds = 1e12, nanosecond = 1e-9;
constexpr std::uint64_t schema_version = 2;
constexpr double most_quietness = 1e9;

// ---- Fields ----

void describe_collective(Fields& fields, Collective& collective, bool (*wanted)(Collective)) {
  std::string name(name_of(collective));
  fields.words("collective", name);
  if (collective_from_name(name, collective) && wanted(collective)) return;
  fields.fail("collective", fmt::format("\"collective\" must be one of {}", collective_names(wanted)));
  collective = {};
}

void describe_memory(Fields& fields, bool& on_devices) {
  if (!fields.has("memory", on_devices)) return;
  std::string memory = "device";
  fields.words("memory", memory);
  on_devices = memory == "device";
  if (!on_devices && memory != "host") fields.fail("memory", "\"memory\" must be host or device");
}

bool measures_neighbors(Collective c) { return is_neighbor(c) && is_regular(c); }

// `combines`: with fewer rounds than neighbours.
void describe_kind(Fields& fields, NeighborhoodKind& kind, bool combines) {
  fields.object("around", [&](Fields& around) {
    around.number("neighbors", kind.neighbors, combines ? 2 : 1, most_blocks);
    around.number("rounds", kind.rounds, 1, most_blocks);
    around.number("blocks", kind.blocks, 1, most_blocks);
    if (combines && kind.rounds >= kind.neighbors) around.fail("", "\"rounds\" must be fewer than \"neighbors\"");
    if (kind.rounds > kind.neighbors) around.fail("", "\"rounds\" must not be more than \"neighbors\"");
  });
}

// At least one. `why_not`: what is wrong with a choice that can be read; empty: nothing.
void describe_choices(Fields& fields, SizedChoices& choices, Collective collective,
                      const std::function<std::string(const SizedChoice&)>& why_not) {
  std::size_t before = 0;
  fields.list("choices", choices, [&](Fields& choice, SizedChoice& one) {
    choice.number("up_to", one.up_to, 1, most_bytes_in_table);
    if (one.up_to <= before) choice.fail("up_to", "\"up_to\" must be more than in the choice before");
    before = one.up_to;
    std::string word = word_of(one);
    choice.words("take", word);
    std::string problem = read_word(collective, word, one);
    if (problem.empty()) problem = why_not(one);
    if (!problem.empty()) choice.fail("take", problem);
  });
  if (choices.empty() || choices.size() > most_sized_choices) {
    fields.fail("choices", fmt::format("\"choices\" must be 1 to {} objects", most_sized_choices));
  }
}

// The one choice of a subject that has two ways: blocks of fewer than `from` bytes take `way`; 0: there is no choice.
void describe_choice(Fields& fields, std::size_t& from, const std::string& way) {
  std::vector<std::size_t> limits(from > 0 ? 1U : 0U, from - 1);
  fields.list("choices", limits, [&](Fields& choice, std::size_t& limit) {
    std::string taken = way;
    choice.number("up_to", limit, 0, most_bytes_in_table);
    choice.words("take", taken);
    if (taken != way) choice.fail("take", fmt::format("\"take\" must be {}", way));
  });
  if (limits.size() > 1) fields.fail("choices", "\"choices\" must be one object here, or none");
  from = limits.empty() ? 0 : limits.front() + 1;
}

// Likewise for blocks of at most so many.
void describe_limit(Fields& fields, std::size_t& limit, const std::string& way) {
  std::size_t from = std::min<std::size_t>(limit, most_bytes_in_table) + 1;
  describe_choice(fields, from, way);
  limit = std::max<std::size_t>(from, 1) - 1;
}

// Those that a model has which tells no messages and copies apart.
bool is_of_one_class(plan::Term term) {
  using enum plan::Term;
  return term == message || term == byte || term == copied_byte || term == copied_block || term == round;
}

// With the first of the others all must be there, but for what older tables do not have.
void describe_machine(Fields& fields, plan::Machine& machine) {
  const auto lacks = [&](const plan::TermRow& row) { return !fields.has(std::string(row.name)); };
  const bool one_class = std::ranges::all_of(plan::term_rows, [&](const plan::TermRow& row) {
    return is_of_one_class(row.term) || row.term == plan::Term::handshake || lacks(row);
  });
  for (const plan::TermRow& row : plan::term_rows) {
    if (one_class && !is_of_one_class(row.term)) continue;
    if (row.term == plan::Term::handshake && lacks(row)) continue;
    if (row.term == plan::Term::near_byte) fields.begin_line();
    fields.real(std::string(row.name), machine.*row.constant, most_nanoseconds, nanosecond);
  }
  if (one_class) machine = plan::one_class(machine);
}

// ---- Subjects ----

// Why no communicator can be such; empty if one can.
std::string why_impossible(const AlgorithmEntry& entry) {
  if (entry.ranks_on_node > entry.ranks) return "\"ranks_on_node\" must not be more than \"ranks\"";
  const int elsewhere = entry.ranks - entry.ranks_on_node;
  if (elsewhere < entry.nodes - 1 || elsewhere > (entry.nodes - 1) * std::int64_t{entry.ranks_on_node}) {
    return fmt::format("{} ranks with {} on the fullest node are not on {} node{}", entry.ranks, entry.ranks_on_node,
                       entry.nodes, entry.nodes == 1 ? "" : "s");
  }
  return {};
}

void describe(Fields& fields, AlgorithmEntry& entry) {
  describe_collective(fields, entry.collective, is_dense);
  fields.number("ranks", entry.ranks, 2);
  fields.number("ranks_on_node", entry.ranks_on_node);
  fields.number("nodes", entry.nodes);
  fields.truth("crowded", entry.crowded);
  describe_memory(fields, entry.on_devices);
  if (const std::string why = why_impossible(entry); !why.empty()) fields.fail("", why);
  describe_choices(fields, entry.choices, entry.collective, [&](const SizedChoice& one) {
    const Algorithm* const taken = one.choice.algorithm;
    const bool is_there = taken == nullptr || !taken->needs.one_node || entry.nodes == 1;
    return is_there ? "" : fmt::format("{} is for one node, not {}", taken->name, entry.nodes);
  });
}

void describe(Fields& fields, InsideEntry& entry) {
  describe_collective(fields, entry.collective, measures_neighbors);
  fields.number("ranks", entry.ranks, 2);
  fields.truth("crowded", entry.crowded);
  describe_kind(fields, entry.kind, false);
  describe_choices(fields, entry.choices, entry.collective, [&](const SizedChoice& one) {
    const Algorithm* const taken = one.choice.algorithm;
    const bool is_order = taken == nullptr ? one.measured : taken->build_edges != nullptr;
    std::string names = "an order must be one of default";
    for (const Algorithm* order : inside_orders(entry.collective)) names += fmt::format(", {}", order->name);
    return is_order ? "" : names;
  });
}

void describe(Fields& fields, NeighborEntry& entry) {
  describe_collective(fields, entry.collective, measures_neighbors);
  fields.number("ranks", entry.ranks, 2);
  fields.number("ranks_on_node", entry.ranks_on_node);
  fields.truth("crowded", entry.crowded);
  describe_kind(fields, entry.kind, true);
  describe_limit(fields, entry.largest_combined, "combined");
}

void describe(Fields& fields, ModelEntry& entry) {
  Model& model = entry.model;
  fields.number("ranks", entry.ranks, 2);
  if (fields.has("ranks_on_node")) fields.number("ranks_on_node", entry.ranks_on_node);
  fields.truth("crowded", entry.crowded);
  if (fields.has("processors", model.processors > 0)) fields.number("processors", model.processors);
  if (fields.has("eager", model.eager > 0)) fields.number("eager", model.eager, 1, most_bytes_in_table);
  describe_memory(fields, entry.on_devices);
  if (entry.on_devices) {
    fields.object("bus", [&](Fields& bus) {
      bus.real("byte", entry.bus.byte, most_nanoseconds, nanosecond);
      bus.real("call", entry.bus.call, most_nanoseconds, nanosecond);
    });
  }
  fields.object("quadrille", [&](Fields& machine) { describe_machine(machine, model.quadrille); });
  fields.object("mpi", [&](Fields& machine) { describe_machine(machine, model.mpi); });
}

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

// A switch point of an entry, whose other points are other objects of a table.
struct Point {
  std::string_view of;
  Collective collective{};  // of inboxes
  TuningEntry entry = {};
};

std::size_t& value_in(SwitchPoints& points, const Point& point) {
  if (point.of == "inbox") return points.inbox_limit[static_cast<std::size_t>(point.collective)];
  return point.of == "streaming" ? points.stream_from : points.cma_from;
}

void describe(Fields& fields, Point& point) {
  const bool is_of_inboxes = point.of == "inbox", is_streaming = point.of == "streaming";
  if (is_of_inboxes) describe_collective(fields, point.collective, is_dense);
  fields.number("ranks", point.entry.ranks, 2);
  fields.truth("crowded", point.entry.crowded);
  std::size_t& value = value_in(point.entry.points, point);
  if (is_of_inboxes) return describe_limit(fields, value, "inbox");
  describe_choice(fields, value, is_streaming ? "cached" : "ring");
  if (is_streaming) value = std::max<std::size_t>(value, 1);
}

// ---- Reading ----

constexpr const char* twice = "these ranks are there twice";

using KnownPoints = std::set<std::tuple<std::string_view, Collective, int, bool>>;

void read_point(Fields& fields, std::string_view of, TuningTable& read, KnownPoints& known) {
  Point point{of};
  describe(fields, point);
  const int ranks = point.entry.ranks;
  const bool crowded = point.entry.crowded;
  if (!known.emplace(of, point.collective, ranks, crowded).second) fields.fail("", twice);
  const TuningEntry wanted{ranks, crowded, default_switch_points(crowded)};
  TuningEntry* entry = same_case(read.entries, wanted);
  if (entry == nullptr) entry = &read.entries.emplace_back(wanted);
  value_in(entry->points, point) = value_in(point.entry.points, point);
}

template <auto list>
void read_entry(Fields& fields, TuningTable& read) {
  auto& entries = read.*list;
  typename std::remove_reference_t<decltype(entries)>::value_type entry;
  describe(fields, entry);
  if (same_case(entries, entry) != nullptr) fields.fail("", twice);
  entries.push_back(std::move(entry));
}

struct EntrySubject {
  std::string_view of;
  void (*read)(Fields&, TuningTable&) = nullptr;  // null: it is a switch point
};
constexpr EntrySubject entry_subjects[] = {{"inbox"},
                                           {"kernel-copy"},
                                           {"streaming"},
                                           {"algorithm", read_entry<&TuningTable::algorithms>},
                                           {"order", read_entry<&TuningTable::inside>},
                                           {"combining", read_entry<&TuningTable::neighbors>},
                                           {"model", read_entry<&TuningTable::models>}};

std::string known_subjects() {
  std::string names;
  for (const EntrySubject& one : entry_subjects) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.of);
  return names;
}

void read_entries(Fields& root, TuningTable& read) {
  KnownPoints known;
  root.read_each("entries", [&](Fields& fields) {
    std::string of;
    fields.words("of", of);
    const auto* const subject = std::ranges::find(entry_subjects, std::string_view(of), &EntrySubject::of);
    if (subject == std::end(entry_subjects)) {
      return fields.fail("of", fmt::format("\"of\" must be one of {}", known_subjects()));
    }
    if (subject->read != nullptr) return subject->read(fields, read);
    read_point(fields, subject->of, read, known);
  });
}

// ---- Writing ----

template <class Entry>
void write_entry(std::string& all, std::string_view of, Entry entry) {
  Fields fields(5);
  std::string subject(of);
  fields.words("of", subject);
  describe(fields, entry);
  all += (all.empty() ? "\n    " : ",\n    ") + fields.text();
}

void write_points(std::string& all, const TuningEntry& entry) {
  for (const Collective c : those(is_dense)) write_entry(all, "inbox", Point{"inbox", c, entry});
  write_entry(all, "kernel-copy", Point{"kernel-copy", {}, entry});
  if (entry.points.stream_from != 0) write_entry(all, "streaming", Point{"streaming", {}, entry});
}

std::string entries_text(const TuningTable& table) {
  std::string all;
  for (const TuningEntry& entry : table.entries) write_points(all, entry);
  for (const AlgorithmEntry& entry : table.algorithms) write_entry(all, "algorithm", entry);
  for (const InsideEntry& entry : table.inside) write_entry(all, "order", entry);
  for (const NeighborEntry& entry : table.neighbors) write_entry(all, "combining", entry);
  for (const ModelEntry& entry : table.models) write_entry(all, "model", entry);
  return all;
}

template <class Object>
std::string object_text(const char* name, Object object) {
  Fields fields(2);
  describe(fields, object);
  return fmt::format("  \"{}\": {},\n", name, fields.text());
}

}  // namespace

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

}  // namespace quadrille::choose
