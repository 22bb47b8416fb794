#include "team/config.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "memory/heap.hpp"
#include "memory/meeting.hpp"
#include "mpi/mpi.hpp"
#include "plan/problem.hpp"
#include "sys/sys.hpp"
#include "team/numa.hpp"
#include "text/hash.hpp"
#include "text/text.hpp"

namespace quadrille::team {
namespace {

using Text = std::string;

template <class Number>
Text read_number(const Text& text, std::size_t least, std::size_t most, Number& value, const Text& expected) {
  std::size_t read = 0;
  if (!text::read_number(text, read) || read < least || read > most) return expected;
  value = static_cast<Number>(read);
  return "";
}

// One of some words, each with what it means. All words of a switch mean "on" or "off".
template <class Value>
Text read_word(const Text& text, const std::vector<std::pair<Text, Value>>& words, Value& value) {
  const std::optional<bool> on = switch_of(text);
  const Text word = !on ? text : *on ? "on" : "off";
  Text expected = "expected ";
  for (std::size_t w = 0; w < words.size(); ++w) {
    const auto& [known, meant] = words[w];
    if (known == word) return value = meant, "";
    expected += (w == 0 ? "" : w + 1 == words.size() ? " or " : ", ") + known;
  }
  return expected;
}

template <auto member>
Text read_on(const Text& text, Config& c) {
  return read_word(text, {{"on", true}, {"off", false}}, c.*member);
}

template <auto member, std::size_t least>
Text read_count(const Text& text, Config& c) {
  return read_number(text, least, 1'000'000, c.*member, fmt::format("expected a number, {} to 1000000", least));
}

// The heap has read its variables before, in malloc: here a malformed value is found once more, and reported.
template <auto parse>
Text check_heap(const Text& text, Config& /*config*/) {
  memory::HeapSettings unused;
  return parse(text, unused);
}

template <auto member>
Text text_of(const Config& c) {
  return fmt::format("{}", c.*member);
}

Text read_forced(const Text& text, Config& c) {
  choose::Forced forced;
  Text wrong = choose::parse_forced(text, forced);
  if (wrong.empty()) {
    c.forced = forced;
    c.any_forced = true;
  }
  return wrong;
}

Text text_of_forced(const Config& c) {
  Text text;
  for (const choose::Choice& choice : c.forced.by_collective) {
    text += (choice.algorithm != nullptr ? choose::to_string(choice) : "") + ";";
  }
  return text;
}

Text keep_unless(Text wrong, const Text& text, Text& kept) {
  if (wrong.empty()) kept = text;
  return wrong;
}

Text read_nodes(const Text& text, Config& c) {
  plan::NodeMap map;
  return keep_unless(plan::parse_node_map(text, 1, map), text, c.nodes);
}

Text read_node_tree(const Text& text, Config& c) {
  if (text == "auto") return "";
  int children = memory::Meeting::flat;
  Text wrong = text == "flat"
                   ? ""
                   : read_number(text, 1, 1024, children, "expected auto, flat, or a number of children, 1 to 1024");
  if (wrong.empty()) c.node_tree = children;
  return wrong;
}

Text read_trials(const Text& text, Config& c) {
  using enum Trials;
  return read_word(text, {{"auto", automatic}, {"on", on}, {"learn", learn}, {"off", off}}, c.trials);
}

Text read_mpi_device(const Text& text, Config& c) {
  using enum DeviceUse;
  return read_word(text, {{"on", all}, {"off", none}, {"messages", messages}}, c.mpi_device);
}

Text text_of_ways(const Config& c) {
  const auto& [heap, xpmem, cma_read, cma_write, ring] = c.ways;
  return fmt::format("{} {} {} {} {}", heap, xpmem, cma_read, cma_write, ring);
}
Text text_of_node_tree(const Config& c) { return fmt::format("{}", c.node_tree.value_or(-1)); }
Text text_of_trials(const Config& c) { return fmt::format("{}", static_cast<int>(c.trials)); }
Text text_of_mpi_device(const Config& c) {
  return fmt::format("{}", c.mpi_device ? static_cast<int>(*c.mpi_device) : -1);
}

const Setting table[] = {
    {.name = "QUADRILLE",
     .values = "on, off",
     .unset = "on",
     .help = "off: calls are forwarded to the MPI; messages replace large counts that the MPI lacks",
     .read =
         [](const Text& text, Config& c) {
           return read_word(text, {{"on", false}, {"off", true}}, c.off);
         },
     .agreed = text_of<&Config::off>},
    {.name = "QUADRILLE_ALGORITHM",
     .values = "COLLECTIVE=ALGORITHM;...",
     .unset = "none",
     .help = "forced algorithms ('alltoall=pairwise;allgather=bruck:radix=4')",
     .read = read_forced,
     .agreed = text_of_forced},
    {.name = "QUADRILLE_INBOX",
     .values = "BYTES",
     .unset = "measured, or what fits a slot",
     .help = "largest block that goes through inboxes; 0: nothing goes through shared memory",
     .read = [](const Text& text,
                Config& c) { return read_number(text, 0, SIZE_MAX, c.inbox_limit, "expected a number of bytes"); },
     .agreed = text_of<&Config::inbox_limit>},
    {.name = "QUADRILLE_REACH",
     .values = "heap,xpmem,cma,cma-read,cma-write,ring",
     .unset = "all",
     .help = "allowed paths of large blocks inside a node",
     .read = [](const Text& text, Config& c) { return memory::parse_ways(text, c.ways); },
     .agreed = text_of_ways},
    {.name = "QUADRILLE_HEAP",
     .values = "on, off, early",
     .unset = "on",
     .help = "the shared heap; early: from the first large allocation on",
     .read = check_heap<memory::read_heap_mode>,
     .agreed = may_differ},
    {.name = "QUADRILLE_HEAP_FROM",
     .values = "BYTES",
     .unset = "16K",
     .help = "smallest allocation in the shared heap, also with a unit ('64K')",
     .read = check_heap<memory::read_heap_from>,
     .agreed = may_differ},
    {.name = "QUADRILLE_HEAP_BYTES",
     .values = "BYTES",
     .unset = "64G, at most the physical memory",
     .help = "size of the shared heap, at least 64K",
     .read = check_heap<memory::read_heap_bytes>,
     .agreed = may_differ},
    {.name = "QUADRILLE_HEAP_PAGES",
     .values = "huge, small",
     .unset = "huge if allowed",
     .help = "pages of the shared heap's large blocks",
     .read = check_heap<memory::read_heap_pages>,
     .agreed = may_differ},
    {.name = "QUADRILLE_TOPOLOGY",
     .values = "TOPOLOGY",
     .unset = "the real machine",
     .help = "another machine for NUMA-aware orders, in hwloc's syntax ('package:2 numa:1 core:4 pu:1'); last word "
             "'bind:numa', 'bind:package' or 'bind:none'",
     .read = [](const Text& text, Config& c) { return keep_unless(check_topology(text), text, c.topology); },
     .agreed = text_of<&Config::topology>},
    {.name = "QUADRILLE_TUNING",  // read in choose/tuning_file.cpp
     .values = "FILE, none",
     .unset = "~/.config/quadrille/tuning.json",
     .help = "file of the tuning table; none: no table or measurements",
     .agreed = may_differ},
    {.name = "QUADRILLE_STREAM",
     .values = "auto, off, on, BYTES",
     .unset = "auto",
     .help = "large copies past the cache; on: every large block; BYTES: calls where a rank copies at least this many",
     .read = [](const Text& text, Config& c) { return memory::parse_stream(text, c.stream); },
     .agreed = may_differ},
    {.name = "QUADRILLE_SETUP_AFTER",
     .values = "CALLS",
     .unset = "10",
     .help = "under 'quadrille run': calls before a communicator is set up (MPI_COMM_WORLD: in MPI_Init; with a forced "
             "algorithm: none)",
     .read = read_count<&Config::setup_after, 0>,
     .agreed = text_of<&Config::setup_after>},
    {.name = "QUADRILLE_TRIALS",
     .values = "auto, on, off, learn",
     .unset = "auto",
     .help = "whether first calls try several algorithms; auto: not on one node whose ranks share processors; "
             "learn: auto, and add the results to the table",
     .read = read_trials,
     .agreed = text_of_trials},
    {.name = "QUADRILLE_MPI_WAITS",
     .values = "yield, keep",
     .unset = "yield",
     .help = "yield: where ranks share processors, make MPICH's waiting ranks sleep",
     .read =
         [](const Text& text, Config& c) {
           return read_word(text, {{"yield", false}, {"keep", true}}, c.keep_mpi_waits);
         },
     .agreed = may_differ},
    {.name = "QUADRILLE_PROGRESS",
     .values = "calls, thread",
     .unset = "calls",
     .help = "thread: a thread progresses nonblocking and persistent calls while the program computes; calls: only "
             "calls of Quadrille do",
     .read =
         [](const Text& text, Config& c) {
           return read_word(text, {{"calls", false}, {"thread", true}}, c.progress_thread);
         },
     .agreed = may_differ},
    {.name = "QUADRILLE_DEVICE_KERNELS",
     .values = "on, off",
     .unset = "on",
     .help = "off: no kernels on a GPU; many small pieces are copied one by one",
     .read = read_on<&Config::device_kernels>,
     .agreed = may_differ},
    {.name = "QUADRILLE_MPI_DEVICE",
     .values = "on, off, messages",
     .unset = "what the MPI reports",
     .help = "whether the MPI accepts pointers to GPU memory; messages: in messages, not in its collectives",
     .read = read_mpi_device,
     .agreed = text_of_mpi_device},
    {.name = "QUADRILLE_CHECK",
     .values = "on, off",
     .unset = "off",
     .help = "check the neighbourhoods and block sizes of isomorphic communicators on all ranks",
     .read = read_on<&Config::check>,
     .agreed = text_of<&Config::check>},
    {.name = "QUADRILLE_EXPLAIN",
     .values = "on, off",
     .unset = "off",
     .help = "print what was chosen for each distinct call, and each communicator's paths inside a node",
     .read = read_on<&Config::explain>,
     .agreed = may_differ},
    {.name = "QUADRILLE_RECORD",
     .values = "FOLDER",
     .unset = "none",
     .help = "folder for records of calls; set by 'quadrille report'",
     .read = [](const Text& text, Config& c) { return keep_unless("", text, c.record); },
     .agreed = may_differ},
    {.name = "QUADRILLE_NODE_TREE",
     .values = "auto, flat, CHILDREN",
     .unset = "auto",
     .help = "how a node's ranks meet in orders of copies; CHILDREN: a tree; auto: a tree of 8 from 17 ranks on, "
             "unless they share processors",
     .read = read_node_tree,
     .agreed = text_of_node_tree},
    {.name = "QUADRILLE_NODES",
     .values = "NODE-MAP",
     .unset = "the real map",
     .help = "pretend the ranks are on nodes as given ('blocked:4')",
     .read = read_nodes,
     .agreed = text_of<&Config::nodes>},
    {.name = "QUADRILLE_AWAY_STEPS",
     .values = "MESSAGES",
     .unset = "32",
     .help = "for tests: messages in flight each way between nodes beside copies",
     .read = read_count<&Config::away_steps, 1>,
     .agreed = text_of<&Config::away_steps>},
    {.name = "QUADRILLE_LIBMPI",  // read in mpi/mpi.cpp
     .values = "FILE",
     .unset = "the launcher's",
     .help = "file of the MPI library that 'bench', 'doctor' and 'tune' load",
     .agreed = may_differ},
    {.name = "QUADRILLE_LIB_DIR",  // read in tool/
     .values = "FOLDER",
     .unset = "beside the tool",
     .help = "folder where 'quadrille run' finds the preload library",
     .agreed = may_differ},
};

}  // namespace

std::string may_differ(const Config& /*config*/) { return ""; }

std::span<const Setting> settings() { return table; }

// ---- The use of the settings ----

std::optional<bool> switch_of(std::string_view text) {
  if (text == "1" || text == "on" || text == "yes" || text == "true") return true;
  if (text == "0" || text == "off" || text == "no" || text == "false") return false;
  return std::nullopt;
}

Config read_config(std::string (*get)(const char*)) {
  Config c;
  for (const Setting& setting : settings()) {
    const std::string text = setting.read != nullptr ? get(setting.name) : "";
    if (text.empty()) continue;
    const std::string expected = setting.read(text, c);
    if (!expected.empty()) c.warnings.push_back(fmt::format("{}={}: {}; ignored", setting.name, text, expected));
  }
  return c;
}

std::uint64_t fingerprint(const Config& c) {
  text::Hash hash;
  for (const Setting& setting : settings()) hash.add(setting.agreed(c));
  return hash.value();
}

std::string guess_variable(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Setting& setting : settings()) {
    if (setting.name != std::string_view("QUADRILLE")) known.emplace_back(setting.name);
  }
  return name.starts_with("QUADRILLE_") ? std::string(text::nearest(name, known)) : "";
}

Config& config() {
  static auto* read = [] {
    auto* made = new Config(read_config(sys::environment));  // outlives all destructors
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string name(*entry, std::strcspn(*entry, "="));
      const std::string guess = guess_variable(name);
      if (!guess.empty()) made->warnings.push_back(fmt::format("unknown variable {}; did you mean {}?", name, guess));
    }
    return made;
  }();
  return *read;
}

void print_warnings(Config& c, int rank) {
  if (rank == 0) {
    for (const std::string& line : c.warnings) say(line);
  }
  c.warnings.clear();
}

void say(const std::string& line) {
  const std::string text = "quadrille: " + line + "\n";
  // One write, so that the lines of several ranks do not mix. Nothing can be done about an error.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

// ---- The keys of an info ----

namespace {

void read_hint(Hints& hints, const std::string& key, const std::string& value) {
  bool* const meant = key == "quadrille_check"       ? &hints.check
                      : key == "quadrille_iso_sizes" ? &hints.iso_sizes
                                                     : nullptr;
  const std::optional<bool> on = switch_of(value);
  if (meant == nullptr) {
    hints.problems.push_back(fmt::format("unknown info key {}; expected quadrille_check or quadrille_iso_sizes", key));
  } else if (!on) {
    hints.problems.push_back(fmt::format("info key {}={}: expected true or false; ignored", key, value));
  } else {
    *meant = *on;
  }
}

}  // namespace

Hints read_hints(MpiInfo info) {
  Hints hints;
  int keys = 0;
  if (info == mpi().info_null || mpi().Info_get_nkeys(info, &keys) != mpi_success) return hints;
  for (int i = 0; i < keys; ++i) {
    char key[most_mpi_text + 1] = {}, value[64] = {};
    int found = 0;
    if (mpi().Info_get_nthkey(info, i, key) != mpi_success) continue;
    if (!std::string(key).starts_with("quadrille_")) {
      hints.others = true;
      continue;
    }
    mpi().Info_get(info, key, sizeof value - 1, value, &found);
    if (found != 0) read_hint(hints, key, value);
  }
  return hints;
}

void say_problems(const Hints& hints, const std::string& where) {
  for (const std::string& problem : hints.problems) say(where + ": " + problem);
}

}  // namespace quadrille::team
