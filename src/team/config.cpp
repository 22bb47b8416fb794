#include "team/config.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "memory/heap.hpp"
#include "memory/meeting.hpp"
#include "plan/problem.hpp"
#include "sys/sys.hpp"
#include "team/numa.hpp"
#include "text/edits.hpp"
#include "text/hash.hpp"

namespace quadrille::team {
namespace {

bool read_number(const std::string& text, std::size_t most, std::size_t& value) {
  std::size_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size() || read > most) return false;
  value = read;
  return true;
}

void warn(Config& config, const char* name, const std::string& value, const std::string& why) {
  config.warnings.push_back(fmt::format("{}={}: {}; ignored", name, value, why));
}

void read_switch(Config& c, const char* name, const std::string& value, bool& on) {
  if (value.empty()) return;
  if (const std::optional<bool> read = switch_of(value)) {
    on = *read;
  } else {
    warn(c, name, value, "expected on or off");
  }
}

}  // namespace

std::optional<bool> switch_of(std::string_view text) {
  if (text == "1" || text == "on" || text == "yes" || text == "true") return true;
  if (text == "0" || text == "off" || text == "no" || text == "false") return false;
  return std::nullopt;
}

Config read_config(std::string (*get)(const char*)) {
  Config c;
  bool on = true;
  read_switch(c, "QUADRILLE", get("QUADRILLE"), on);
  c.off = !on;
  read_switch(c, "QUADRILLE_EXPLAIN", get("QUADRILLE_EXPLAIN"), c.explain);

  read_switch(c, "QUADRILLE_CHECK", get("QUADRILLE_CHECK"), c.check);

  if (const std::string text = get("QUADRILLE_ALGORITHM"); !text.empty()) {
    choose::Forced forced;
    if (const std::string why = choose::parse_forced(text, forced); !why.empty()) {
      warn(c, "QUADRILLE_ALGORITHM", text, why);
    } else {
      c.forced = forced;
      c.any_forced = true;
    }
  }
  if (const std::string text = get("QUADRILLE_NODES"); !text.empty()) {
    plan::NodeMap map;
    if (const std::string why = plan::parse_node_map(text, 1, map); !why.empty()) {
      warn(c, "QUADRILLE_NODES", text, why);
    } else {
      c.nodes = text;
    }
  }
  if (const std::string text = get("QUADRILLE_INBOX"); !text.empty()) {
    if (!read_number(text, SIZE_MAX, c.inbox_limit)) {
      warn(c, "QUADRILLE_INBOX", text, "expected a number of bytes");
    }
  }
  if (const std::string text = get("QUADRILLE_REACH"); !text.empty()) {
    if (const std::string why = memory::parse_ways(text, c.ways); !why.empty()) {
      warn(c, "QUADRILLE_REACH", text, why);
    }
  }
  if (const std::string text = get("QUADRILLE_STREAM"); !text.empty()) {
    if (const std::string why = memory::parse_stream(text, c.stream); !why.empty()) {
      warn(c, "QUADRILLE_STREAM", text, why);
    }
  }
  if (const std::string text = get("QUADRILLE_TOPOLOGY"); !text.empty()) {
    if (const std::string why = check_topology(text); !why.empty()) {
      warn(c, "QUADRILLE_TOPOLOGY", text, why);
    } else {
      c.topology = text;
    }
  }
  if (const std::string text = get("QUADRILLE_SETUP_AFTER"); !text.empty()) {
    std::size_t calls = 0;
    if (read_number(text, 1'000'000, calls)) {
      c.setup_after = static_cast<int>(calls);
    } else {
      warn(c, "QUADRILLE_SETUP_AFTER", text, "expected a number of calls, 0 to 1000000");
    }
  }
  if (const std::string text = get("QUADRILLE_AWAY_STEPS"); !text.empty()) {
    std::size_t steps = 0;
    if (read_number(text, 1'000'000, steps) && steps > 0) {
      c.away_steps = static_cast<int>(steps);
    } else {
      warn(c, "QUADRILLE_AWAY_STEPS", text, "expected a number of messages, 1 to 1000000");
    }
  }
  if (const std::string text = get("QUADRILLE_NODE_TREE"); !text.empty() && text != "auto") {
    std::size_t radix = 0;
    if (text == "flat") {
      c.node_tree = memory::Meeting::flat;
    } else if (read_number(text, 1024, radix) && radix > 0) {
      c.node_tree = static_cast<int>(radix);
    } else {
      warn(c, "QUADRILLE_NODE_TREE", text, "expected auto, flat, or a number of children, 1 to 1024");
    }
  }
  if (const std::string text = get("QUADRILLE_TRIALS"); !text.empty() && text != "auto") {
    const std::optional<bool> on_or_off = switch_of(text);
    if (text == "learn") {
      c.trials = Trials::learn;
    } else if (on_or_off.has_value()) {
      c.trials = *on_or_off ? Trials::on : Trials::off;
    } else {
      warn(c, "QUADRILLE_TRIALS", text, "expected auto, on, learn or off");
    }
  }
  if (const std::string text = get("QUADRILLE_MPI_WAITS"); text == "keep") {
    c.keep_mpi_waits = true;
  } else if (!text.empty() && text != "yield") {
    warn(c, "QUADRILLE_MPI_WAITS", text, "expected yield or keep");
  }
  if (const std::string text = get("QUADRILLE_PROGRESS"); text == "thread") {
    c.progress_thread = true;
  } else if (!text.empty() && text != "calls") {
    warn(c, "QUADRILLE_PROGRESS", text, "expected calls or thread");
  }
  if (const std::string text = get("QUADRILLE_MPI_DEVICE"); !text.empty()) {
    const std::optional<bool> on_or_off = switch_of(text);
    if (text == "messages") {
      c.mpi_device = DeviceUse::messages;
    } else if (on_or_off.has_value()) {
      c.mpi_device = *on_or_off ? DeviceUse::all : DeviceUse::none;
    } else {
      warn(c, "QUADRILLE_MPI_DEVICE", text, "expected on, off or messages");
    }
  }
  if (const std::string text = get("QUADRILLE_DEVICE_KERNELS"); !text.empty()) {
    const std::optional<bool> on_or_off = switch_of(text);
    if (on_or_off.has_value()) {
      c.device_kernels = *on_or_off;
    } else {
      warn(c, "QUADRILLE_DEVICE_KERNELS", text, "expected on or off");
    }
  }
  for (const std::string& problem : memory::read_heap_settings(get).problems) c.warnings.push_back(problem);
  return c;
}

std::uint64_t fingerprint(const Config& c) {
  text::Hash hash;
  hash.add(c.off ? "off" : "on").add(c.check ? "check" : "");
  for (const choose::Choice& choice : c.forced.by_collective) {
    hash.add(choice.algorithm != nullptr ? choose::to_string(choice) : "");
  }
  hash.add(c.nodes).add(c.topology);
  hash.add(fmt::format("{} {} {} {} {} {} {}", c.inbox_limit, c.setup_after, to_string(c.ways),
                       static_cast<int>(c.trials), c.away_steps, c.node_tree.value_or(-1),
                       c.mpi_device.has_value() ? static_cast<int>(*c.mpi_device) : -1));
  return hash.value();
}

std::string guess_variable(const std::string& name) {
  constexpr std::string_view known[] = {
      "QUADRILLE_ALGORITHM",  "QUADRILLE_CHECK",          "QUADRILLE_EXPLAIN",     "QUADRILLE_HEAP",
      "QUADRILLE_HEAP_FROM",  "QUADRILLE_HEAP_BYTES",     "QUADRILLE_INBOX",       "QUADRILLE_LIBMPI",
      "QUADRILLE_LIB_DIR",    "QUADRILLE_MPI_WAITS",      "QUADRILLE_NODES",       "QUADRILLE_REACH",
      "QUADRILLE_STREAM",     "QUADRILLE_TOPOLOGY",       "QUADRILLE_SETUP_AFTER", "QUADRILLE_TRIALS",
      "QUADRILLE_TUNING",     "QUADRILLE_AWAY_STEPS",     "QUADRILLE_PROGRESS",    "QUADRILLE_NODE_TREE",
      "QUADRILLE_MPI_DEVICE", "QUADRILLE_DEVICE_KERNELS", "QUADRILLE_RECORD"};
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

}  // namespace quadrille::team
