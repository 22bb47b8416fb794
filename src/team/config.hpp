// What the user set, in the environment and in the info of a communicator, and messages to the user.
//
// A malformed value never breaks a program: rank 0 warns once and the value is ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"
#include "memory/node_copy.hpp"
#include "memory/reach.hpp"
#include "mpi/device_support.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::team {

enum class Trials : std::uint8_t { automatic, on, off, learn };

struct Config {
  bool off = false;
  // Some rank's MPI tolerates faults: all calls are forwarded, or, where every rank's MPI reports faults, watched
  // (team/team.cpp). Found in MPI_Init, not read.
  bool fault_tolerant = false, watches_faults = false;
  bool explain = false;
  bool check = false;
  choose::Forced forced;
  bool any_forced = false;
  std::string nodes;                   // empty: the real map
  std::size_t inbox_limit = SIZE_MAX;  // further limited by the slots
  memory::Ways ways;
  memory::StreamWish stream;  // steers no collective choice
  std::string topology;       // empty: the real machine
  int setup_after = 10;
  int away_steps = plan::standard_away_steps;
  std::optional<int> node_tree;  // none: as suits
  Trials trials = Trials::automatic;
  bool keep_mpi_waits = false;          // steers no collective choice
  bool progress_thread = false;         // neither does this
  std::optional<DeviceUse> mpi_device;  // none: as the MPI says
  bool device_kernels = true;
  std::string record;                 // folder; empty: calls are not recorded
  bool some_recorded = false;         // whether some rank has a folder: agreed upon in MPI_Init
  std::vector<std::string> warnings;  // one line each, not printed yet
};

// ---- The settings: one table, with a row for each variable of the environment ----
//
// A new setting is one row in config.cpp, a member of Config, and its use. Without `agreed` the row does not compile;
// tests/run/config_test.cpp asks for values of it. Reading, the comparison of the ranks' settings, the guess at a
// misspelt name, `quadrille list --settings`, the manual pages and the rows of docs/tuning.md (`make docs`) follow the
// table.

struct Setting {
  const char* name = nullptr;
  const char* values = nullptr;  // what may be written, for people
  const char* unset = nullptr;   // what holds without the variable, for people
  const char* help = nullptr;    // one line; 'quoted' words are code
  // Reads a value that is not empty. Returns an empty string, or what is wrong. Null where another file reads it.
  std::string (*read)(const std::string& text, Config& config) = nullptr;
  // The value that holds, for settings that all ranks must agree on, since they steer the choice of all: equal texts
  // mean equal settings. `may_differ` for the others.
  std::string (&agreed)(const Config& config);
};

std::string may_differ(const Config& config);

std::span<const Setting> settings();

// ---- Their use ----

// Of variables and info keys: 1, on, yes, true, or their opposites; nothing for any other word.
std::optional<bool> switch_of(std::string_view text);

// Reads the environment; pure apart from that. `get` returns a variable's value or "".
Config read_config(std::string (*get)(const char*));

// The variable that was meant where a name is nearly that of one of ours, else "".
std::string guess_variable(const std::string& name);

// One number that is equal on two ranks if all settings that steer collective choices are.
std::uint64_t fingerprint(const Config& config);

// The configuration of this process, read at the first call.
Config& config();

// Prints the pending warnings if `rank` is 0, and forgets them.
void print_warnings(Config& config, int rank);

// "quadrille: <line>" on stderr, written at once so that lines of ranks do not mix.
void say(const std::string& line);

// ---- The keys of an MPI info that are meant for Quadrille ----

struct Hints {
  bool check = false;                 // quadrille_check
  bool iso_sizes = false;             // quadrille_iso_sizes
  bool others = false;                // there are keys that do not begin with quadrille_
  std::vector<std::string> problems;  // one line each: keys of ours that nobody knows, and values that mean nothing
};

// A null info has none. Not collective.
Hints read_hints(MpiInfo info);

// What is wrong with them, for a user who wants to know.
void say_problems(const Hints& hints, const std::string& where);

}  // namespace quadrille::team
