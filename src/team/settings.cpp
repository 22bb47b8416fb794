#include "team/settings.hpp"

#include <fmt/core.h>

#include <charconv>

#include "memory/meeting.hpp"
#include "plan/problem.hpp"
#include "team/config.hpp"
#include "team/numa.hpp"

namespace quadrille::team {
namespace {

using Text = std::string;

template <class Number>
Text read_number(const Text& text, std::size_t least, std::size_t most, Number& value, const char* expected) {
  std::size_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size() || read < least || read > most) return expected;
  value = static_cast<Number>(read);
  return "";
}

Text read_switch(const Text& text, bool& on) {
  const std::optional<bool> read = switch_of(text);
  if (!read) return "expected on or off";
  on = *read;
  return "";
}

// For a setting of two words, the first of which holds without it.
Text read_word(const Text& text, const char* standard, const char* other, bool& is_other) {
  if (text != standard && text != other) return fmt::format("expected {} or {}", standard, other);
  is_other = text == other;
  return "";
}

Text read_off(const Text& text, Config& c) {
  bool on = true;
  Text expected = read_switch(text, on);
  c.off = !on;
  return expected;
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

Text forced(const Config& c) {
  Text text;
  for (const choose::Choice& choice : c.forced.by_collective) {
    text += (choice.algorithm != nullptr ? choose::to_string(choice) : "") + ";";
  }
  return text;
}

Text read_nodes(const Text& text, Config& c) {
  plan::NodeMap map;
  Text wrong = plan::parse_node_map(text, 1, map);
  if (wrong.empty()) c.nodes = text;
  return wrong;
}

Text read_topology(const Text& text, Config& c) {
  Text wrong = check_topology(text);
  if (wrong.empty()) c.topology = text;
  return wrong;
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
  if (text == "auto") return "";
  const std::optional<bool> on = switch_of(text);
  if (!on && text != "learn") return "expected auto, on, learn or off";
  c.trials = !on ? Trials::learn : *on ? Trials::on : Trials::off;
  return "";
}

Text read_mpi_device(const Text& text, Config& c) {
  const std::optional<bool> on = switch_of(text);
  if (!on && text != "messages") return "expected on, off or messages";
  c.mpi_device = !on ? DeviceUse::messages : *on ? DeviceUse::all : DeviceUse::none;
  return "";
}

const Setting table[] = {
    {.name = "QUADRILLE",
     .values = "on, off",
     .unset = "on",
     .help = "off: every call is forwarded to the MPI",
     .read = read_off,
     .value = [](const Config& c) { return fmt::format("{}", c.off); }},
    {.name = "QUADRILLE_ALGORITHM",
     .values = "COLLECTIVE=ALGORITHM;...",
     .unset = "none",
     .help = "Forced algorithms: alltoall=pairwise;allgather=bruck:radix=4",
     .read = read_forced,
     .value = forced},
    {.name = "QUADRILLE_INBOX",
     .values = "BYTES",
     .unset = "measured, or the size of a slot",
     .help = "Largest block that goes through inboxes; 0: nothing goes through shared memory",
     .read = [](const Text& text,
                Config& c) { return read_number(text, 0, SIZE_MAX, c.inbox_limit, "expected a number of bytes"); },
     .value = [](const Config& c) { return fmt::format("{}", c.inbox_limit); }},
    {.name = "QUADRILLE_REACH",
     .values = "heap,xpmem,cma,cma-read,cma-write,ring",
     .unset = "all",
     .help = "Allowed ways of large blocks inside a node",
     .read = [](const Text& text, Config& c) { return memory::parse_ways(text, c.ways); },
     .value = [](const Config& c) { return to_string(c.ways); }},
    {.name = "QUADRILLE_HEAP",
     .values = "on, off, early",
     .unset = "on",
     .help = "The shared heap; early: from the first large allocation on",
     .module = "memory/heap.cpp"},
    {.name = "QUADRILLE_HEAP_FROM",
     .values = "BYTES",
     .unset = "16K",
     .help = "Smallest allocation in the shared heap, also with a unit (64K)",
     .module = "memory/heap.cpp"},
    {.name = "QUADRILLE_HEAP_BYTES",
     .values = "BYTES",
     .unset = "64G, at most the physical memory",
     .help = "Size of the shared heap, at least 64K",
     .module = "memory/heap.cpp"},
    {.name = "QUADRILLE_TOPOLOGY",
     .values = "TOPOLOGY",
     .unset = "the real machine",
     .help = "Another machine for NUMA-aware orders, in hwloc's syntax: package:2 numa:1 core:4 pu:1",
     .read = read_topology,
     .value = [](const Config& c) { return c.topology; }},
    {.name = "QUADRILLE_TUNING",
     .values = "FILE, none",
     .unset = "~/.config/quadrille/tuning.json",
     .help = "File of the tuning table; none: no table, and no measurements",
     .module = "team/switch_points.cpp"},
    {.name = "QUADRILLE_STREAM",
     .values = "auto, off, on, BYTES",
     .unset = "auto",
     .help = "Large copies past the cache; BYTES: in calls in which a rank copies at least so many",
     .read = [](const Text& text, Config& c) { return memory::parse_stream(text, c.stream); }},
    {.name = "QUADRILLE_SETUP_AFTER",
     .values = "CALLS",
     .unset = "10",
     .help = "Under quadrille run: calls before a communicator is set up (MPI_COMM_WORLD: in MPI_Init)",
     .read =
         [](const Text& text, Config& c) {
           return read_number(text, 0, 1'000'000, c.setup_after, "expected a number of calls, 0 to 1000000");
         },
     .value = [](const Config& c) { return fmt::format("{}", c.setup_after); }},
    {.name = "QUADRILLE_TRIALS",
     .values = "auto, on, off, learn",
     .unset = "auto",
     .help = "Whether first calls try several algorithms; auto: between nodes, and where each rank has a processor; "
             "learn: also store the results",
     .read = read_trials,
     .value = [](const Config& c) { return fmt::format("{}", static_cast<int>(c.trials)); }},
    {.name = "QUADRILLE_MPI_WAITS",
     .values = "yield, keep",
     .unset = "yield",
     .help = "yield: where ranks share processors, make MPICH's waiting ranks sleep; keep: leave MPICH as it is",
     .read = [](const Text& text, Config& c) { return read_word(text, "yield", "keep", c.keep_mpi_waits); }},
    {.name = "QUADRILLE_PROGRESS",
     .values = "calls, thread",
     .unset = "calls",
     .help = "thread: a thread progresses nonblocking and persistent calls while the program computes",
     .read = [](const Text& text, Config& c) { return read_word(text, "calls", "thread", c.progress_thread); }},
    {.name = "QUADRILLE_DEVICE_KERNELS",
     .values = "on, off",
     .unset = "on",
     .help = "off: no kernels of Quadrille run on a GPU",
     .read = [](const Text& text, Config& c) { return read_switch(text, c.device_kernels); }},
    {.name = "QUADRILLE_MPI_DEVICE",
     .values = "on, off, messages",
     .unset = "what the MPI reports",
     .help = "Whether the MPI takes pointers to GPU memory; messages: in messages, not in its collectives",
     .read = read_mpi_device,
     .value = [](const Config& c) { return fmt::format("{}", c.mpi_device ? static_cast<int>(*c.mpi_device) : -1); }},
    {.name = "QUADRILLE_CHECK",
     .values = "on, off",
     .unset = "off",
     .help = "Check on all ranks the neighbourhoods and block sizes of isomorphic communicators",
     .read = [](const Text& text, Config& c) { return read_switch(text, c.check); },
     .value = [](const Config& c) { return fmt::format("{}", c.check); }},
    {.name = "QUADRILLE_EXPLAIN",
     .values = "on, off",
     .unset = "off",
     .help = "Print what was chosen for each distinct call, and each communicator's ways inside a node",
     .read = [](const Text& text, Config& c) { return read_switch(text, c.explain); }},
    {.name = "QUADRILLE_RECORD",
     .values = "FOLDER",
     .unset = "none",
     .help = "Folder for records of calls; set by quadrille report",
     .module = "team/record.cpp"},
    {.name = "QUADRILLE_NODE_TREE",
     .values = "auto, flat, CHILDREN",
     .unset = "auto",
     .help = "How a node's ranks meet in the copy orders; auto: in a tree of 8 from 17 ranks on, unless they share "
             "processors",
     .read = read_node_tree,
     .value = [](const Config& c) { return fmt::format("{}", c.node_tree.value_or(-1)); }},
    {.name = "QUADRILLE_NODES",
     .values = "NODE-MAP",
     .unset = "the real map",
     .help = "Pretend the ranks are on nodes as given, for example blocked:4",
     .read = read_nodes,
     .value = [](const Config& c) { return c.nodes; }},
    {.name = "QUADRILLE_AWAY_STEPS",
     .values = "MESSAGES",
     .unset = "32",
     .help = "For tests: messages in flight each way between nodes in a call that also copies inside its node",
     .read =
         [](const Text& text, Config& c) {
           return read_number(text, 1, 1'000'000, c.away_steps, "expected a number of messages, 1 to 1000000");
         },
     .value = [](const Config& c) { return fmt::format("{}", c.away_steps); }},
    {.name = "QUADRILLE_LIBMPI",
     .values = "FILE",
     .unset = "the usual names",
     .help = "File of the MPI library that bench, doctor and tune load",
     .module = "mpi/mpi.cpp"},
    {.name = "QUADRILLE_LIB_DIR",
     .values = "FOLDER",
     .unset = "beside the tool",
     .help = "Folder of the preload library for quadrille run",
     .module = "the tool"},
};

}  // namespace

std::span<const Setting> settings() { return table; }

}  // namespace quadrille::team
