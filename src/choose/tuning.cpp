#include "choose/tuning.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

namespace quadrille::choose {
namespace {

using nlohmann::json;

constexpr std::uint64_t schema_version = 1;
constexpr std::uint64_t most_ranks = 1 << 20;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr std::uint64_t most_blocks = std::uint64_t{1} << 40;
constexpr double most_nanoseconds = 1e12;

// The numbers of a model, as the file names them.
struct Constant {
  const char* name;
  double plan::Machine::* value;
};
constexpr Constant constants[] = {{"message", &plan::Machine::alpha},
                                  {"byte", &plan::Machine::beta},
                                  {"copied_byte", &plan::Machine::gamma},
                                  {"copied_block", &plan::Machine::delta},
                                  {"round", &plan::Machine::rho}};

bool measures_neighbors(Collective c) {
  return c == Collective::neighbor_alltoall || c == Collective::neighbor_allgather;
}

// A value of the text with its place, so that a mistake can be shown. A key is the way to it from the
// root: "/entries/0/ranks".
struct Leaf {
  json value;
  std::size_t line = 1;
  bool used = false;
};
using Leaves = std::map<std::string, Leaf>;

// Counts what the parser has read.
struct Reader {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at;
  const char** seen;
  reference operator*() const { return *at; }
  Reader& operator++() {
    *seen = ++at;
    return *this;
  }
  Reader operator++(int) {
    Reader old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Reader& other) const { return at == other.at; }
  bool operator!=(const Reader& other) const { return at != other.at; }
};

// Called by the parser for each piece of the text. Returning false ends the reading.
class Collector {
 public:
  Collector(const std::string& text, Leaves& leaves) : text_(text), leaves_(leaves) {}

  bool null() { return leaf(nullptr); }
  bool boolean(bool value) { return leaf(value); }
  bool number_integer(std::int64_t value) { return leaf(value); }
  bool number_unsigned(std::uint64_t value) { return leaf(value); }
  bool number_float(double value, const std::string&) { return leaf(value); }
  bool string(std::string& value) { return leaf(value); }
  bool binary(json::binary_t&) { return leaf(nullptr); }
  bool start_object(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(true); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return fail("it is not JSON");
  }

  const char* seen = nullptr;  // how far the parser has read
  std::string problem;

 private:
  struct Level {
    std::string path;
    bool is_array;
    int next;
  };
  // The line of what was read last; the parser may have looked one letter ahead.
  std::size_t line() const {
    const char* end = seen == nullptr || seen == text_.data() ? text_.data() : seen - 1;
    return 1 + static_cast<std::size_t>(std::count(text_.data(), end, '\n'));
  }
  bool fail(const std::string& why) {
    problem = fmt::format("line {}: {}", line(), why);
    return false;
  }
  std::string path() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    return level.path + "/" + (level.is_array ? std::to_string(level.next++) : key_);
  }
  bool leaf(json value) {
    const std::string where = path();
    if (where.empty()) return fail("it must be an object");
    const bool is_new = leaves_.try_emplace(where, Leaf{std::move(value), line(), false}).second;
    return is_new || fail("\"" + key_ + "\" is there twice");
  }
  bool open(bool is_array) {
    if (levels_.size() > 8) return fail("it is nested too deep");
    const std::string where = path();
    if (!leaves_.try_emplace(where + (is_array ? "[" : "{"), Leaf{nullptr, line(), false}).second) {
      return fail("\"" + key_ + "\" is there twice");
    }
    levels_.push_back({where, is_array, 0});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  const std::string& text_;
  Leaves& leaves_;
  std::vector<Level> levels_;
  std::string key_;
};

// Takes values out of the leaves; the first mistake stays.
class Table {
 public:
  explicit Table(Leaves& leaves) : leaves_(leaves) {}

  bool has(const std::string& path) const { return leaves_.contains(path); }
  bool enter(const std::string& path, char kind, const std::string& parent) {
    const auto found = leaves_.find(path + kind);
    if (found == leaves_.end()) {
      fail(line_of(parent), fmt::format("\"{}\" must be {}", last_word(path),
                                        kind == '{' ? "an object" : "a list"));
      return false;
    }
    return found->second.used = true;
  }
  std::uint64_t number(const std::string& parent, const std::string& name, std::uint64_t least,
                       std::uint64_t most) {
    Leaf* leaf = take(parent, name);
    if (leaf == nullptr) return least;
    if (!leaf->value.is_number_unsigned() || leaf->value.get<std::uint64_t>() < least ||
        leaf->value.get<std::uint64_t>() > most) {
      fail(leaf->line, fmt::format("\"{}\" must be a whole number from {} to {}", name, least, most));
      return least;
    }
    return leaf->value.get<std::uint64_t>();
  }
  double real(const std::string& parent, const std::string& name, double most) {
    Leaf* leaf = take(parent, name);
    if (leaf == nullptr) return 0;
    // Also refuses what is not a number.
    if (!leaf->value.is_number() || !(leaf->value.get<double>() >= 0 && leaf->value.get<double>() <= most)) {
      fail(leaf->line, fmt::format("\"{}\" must be a number from 0 to {:g}", name, most));
      return 0;
    }
    return leaf->value.get<double>();
  }
  bool truth(const std::string& parent, const std::string& name) {
    Leaf* leaf = take(parent, name);
    if (leaf == nullptr) return false;
    if (!leaf->value.is_boolean()) {
      fail(leaf->line, fmt::format("\"{}\" must be true or false", name));
      return false;
    }
    return leaf->value.get<bool>();
  }
  std::string words(const std::string& parent, const std::string& name) {
    Leaf* leaf = take(parent, name);
    if (leaf == nullptr) return {};
    if (!leaf->value.is_string()) {
      fail(leaf->line, fmt::format("\"{}\" must be a string", name));
      return {};
    }
    return leaf->value.get<std::string>();
  }
  void fail(std::size_t line, const std::string& why) {
    if (problem.empty()) problem = fmt::format("line {}: {}", line, why);
  }
  // Of an object or list.
  std::size_t line_of(const std::string& path) const {
    for (const char* kind : {"{", "["}) {
      if (const auto found = leaves_.find(path + kind); found != leaves_.end()) {
        return found->second.line;
      }
    }
    return 1;
  }
  void refuse_the_rest() {
    for (const auto& [path, leaf] : leaves_) {
      if (!leaf.used) fail(leaf.line, fmt::format("\"{}\" is not known here", last_word(path)));
    }
  }

  std::string problem;

 private:
  static std::string last_word(std::string path) {
    while (!path.empty() && (path.back() == '{' || path.back() == '[')) path.pop_back();
    return path.substr(path.rfind('/') + 1);
  }
  Leaf* take(const std::string& parent, const std::string& name) {
    const auto found = leaves_.find(parent + "/" + name);
    if (found == leaves_.end()) {
      fail(line_of(parent), fmt::format("\"{}\" is missing or of the wrong kind", name));
      return nullptr;
    }
    found->second.used = true;
    return &found->second;
  }

  Leaves& leaves_;
};

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

plan::Machine read_machine(Table& table, const std::string& parent, const char* name) {
  plan::Machine machine{};
  const std::string path = parent + "/" + name;
  if (!table.enter(path, '{', parent)) return machine;
  for (const Constant& c : constants) machine.*c.value = table.real(path, c.name, most_nanoseconds) * 1e-9;
  return machine;
}

ModelEntry read_model(Table& table, const std::string& path) {
  ModelEntry entry;
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks));
  if (table.has(path + "/ranks_on_node")) {
    entry.ranks_on_node = static_cast<int>(table.number(path, "ranks_on_node", 1, most_ranks));
  }
  entry.crowded = table.truth(path, "crowded");
  entry.model.quadrille = read_machine(table, path, "quadrille");
  entry.model.mpi = read_machine(table, path, "mpi");
  return entry;
}

NeighborEntry read_neighbors(Table& table, const std::string& path) {
  NeighborEntry entry;
  const std::string name = table.words(path, "collective");
  if (!collective_from_name(name, entry.collective) || !measures_neighbors(entry.collective)) {
    table.fail(table.line_of(path), "\"collective\" must be neighbor_alltoall or neighbor_allgather");
  }
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks));
  entry.ranks_on_node = static_cast<int>(table.number(path, "ranks_on_node", 1, most_ranks));
  entry.crowded = table.truth(path, "crowded");
  const auto amount = [&](const char* of, std::uint64_t least) {
    return static_cast<std::int64_t>(table.number(path, of, least, most_blocks));
  };
  entry.kind = {amount("neighbors", 2), amount("rounds", 1), amount("blocks", 1)};
  if (entry.kind.rounds >= entry.kind.neighbors) {
    table.fail(table.line_of(path), "\"rounds\" must be fewer than \"neighbors\"");
  }
  entry.largest_combined = table.number(path, "largest_combined", 0, most_bytes);
  return entry;
}

// But for the number of ranks.
bool alike(const TuningEntry& a, const TuningEntry& b) { return a.crowded == b.crowded; }
bool alike(const ModelEntry& a, const ModelEntry& b) {
  return a.crowded == b.crowded && a.ranks_on_node == b.ranks_on_node;
}
bool alike(const NeighborEntry& a, const NeighborEntry& b) {
  return a.collective == b.collective && a.crowded == b.crowded && a.ranks_on_node == b.ranks_on_node &&
         a.kind == b.kind;
}

// The objects of the list at `list`, no two of them for the same case.
template <class Entry>
void read_list(Table& table, const std::string& list, Entry (*read)(Table&, const std::string&),
               std::vector<Entry>& entries) {
  if (!table.enter(list, '[', "")) return;
  for (int i = 0; table.has(fmt::format("{}/{}{{", list, i)); ++i) {
    const std::string path = fmt::format("{}/{}", list, i);
    table.enter(path, '{', list);
    const Entry entry = read(table, path);
    for (const Entry& other : entries) {
      if (entry.ranks == other.ranks && alike(entry, other))
        table.fail(table.line_of(path), "these ranks are there twice");
    }
    entries.push_back(entry);
  }
}

template <class Entry>
const Entry* nearest(const std::vector<Entry>& entries, const Entry& wanted) {
  const int ranks = wanted.ranks;
  const Entry* found = nullptr;
  double least = 0;
  for (const Entry& e : entries) {
    if (!alike(e, wanted)) continue;
    const double distance = static_cast<double>(std::max(e.ranks, ranks)) / std::min(e.ranks, ranks);
    if (found == nullptr || distance < least || (distance == least && e.ranks < found->ranks)) {
      found = &e;
      least = distance;
    }
  }
  return found;
}

template <class Entry>
void put(std::vector<Entry>& entries, const Entry& entry) {
  const auto known = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
    return e.ranks == entry.ranks && alike(e, entry);
  });
  if (known != entries.end()) {
    *known = entry;
  } else {
    entries.push_back(entry);
  }
}

std::string machine_text(const plan::Machine& machine) {
  std::string text;
  for (const Constant& c : constants) {
    text += fmt::format("{}\"{}\": {:.6g}", text.empty() ? "{" : ", ", c.name, machine.*c.value * 1e9);
  }
  return text + "}";
}

std::string models_text(const std::vector<ModelEntry>& models) {
  if (models.empty()) return {};
  std::string text = ",\n  \"models\": [";
  const char* before = "\n";
  for (const ModelEntry& e : models) {
    text += fmt::format(
        "{}    {{\"ranks\": {}, \"ranks_on_node\": {}, \"crowded\": {},\n     \"quadrille\": {},\n     \"mpi\": {}}}",
        before, e.ranks, e.ranks_on_node, e.crowded, machine_text(e.model.quadrille), machine_text(e.model.mpi));
    before = ",\n";
  }
  return text + "\n  ]";
}

std::string neighbors_text(const std::vector<NeighborEntry>& entries) {
  if (entries.empty()) return {};
  std::string text = ",\n  \"neighbors\": [";
  const char* before = "\n";
  for (const NeighborEntry& e : entries) {
    text += fmt::format(
        "{}    {{\"collective\": \"{}\", \"ranks\": {}, \"ranks_on_node\": {}, \"crowded\": {},\n"
        "     \"neighbors\": {}, \"rounds\": {}, \"blocks\": {}, \"largest_combined\": {}}}",
        before, name_of(e.collective), e.ranks, e.ranks_on_node, e.crowded, e.kind.neighbors, e.kind.rounds,
        e.kind.blocks, std::min<std::size_t>(e.largest_combined, most_bytes));
    before = ",\n";
  }
  return text + "\n  ]";
}

}  // namespace

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
  Collector collector(text, leaves);
  collector.seen = text.data();
  const Reader begin{text.data(), &collector.seen};
  const Reader end{text.data() + text.size(), &collector.seen};
  if (!json::sax_parse(begin, end, &collector)) return collector.problem;

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
  if (is_there("/neighbors")) read_list(table, "/neighbors", read_neighbors, read.neighbors);
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
  return text + "\n  ]" + models_text(table.models) + neighbors_text(table.neighbors) + "\n}\n";
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

void put_entry(TuningTable& table, const TuningEntry& entry) { put(table.entries, entry); }

void put_model(TuningTable& table, const ModelEntry& entry) { put(table.models, entry); }

void put_neighbors(TuningTable& table, const NeighborEntry& entry) { put(table.neighbors, entry); }

}  // namespace quadrille::choose
