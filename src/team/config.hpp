// What the user set in the environment, and messages to the user.
//
//   QUADRILLE=off              every call goes to the MPI
//   QUADRILLE_ALGORITHM        forced algorithms: "alltoall=pairwise;allgather=bruck:radix=4"
//   QUADRILLE_NODES            another node map of MPI_COMM_WORLD, from which every communicator has its own:
//                              "blocked:2", "roundrobin:3", "even:2", "ragged:1,3,4", "permuted:SEED" (for tests of
//                              code for several nodes on one machine)
//   QUADRILLE_AWAY_STEPS       messages each way between nodes that a call has under way at a time beside the work
//                              inside the node (for tests with few ranks)
//   QUADRILLE_INBOX            largest block in bytes that goes through inboxes; 0: no inboxes
//   QUADRILLE_REACH            ways that large blocks may take inside a node, of "heap,xpmem,cma,ring"
//   QUADRILLE_STREAM           large copies past the cache: auto, off, on, or from so many bytes a call on
//   QUADRILLE_TOPOLOGY         another machine in hwloc's words, "package:2 numa:1 core:4 pu:1"
//   QUADRILLE_NODE_TREE        how the ranks of a node meet in the copy orders: "flat", or in a tree in which each has
//   so
//                              many children (memory/meeting.hpp); auto: a tree from so many ranks on that it is worth
//                              it
//   QUADRILLE_SETUP_AFTER      calls on a communicator before it is set up (drop-in door; the world is set up
//                              in MPI_Init)
//   QUADRILLE_TRIALS           may the first calls try what nothing is known of: auto (where each rank has a
//                              processor), on, off; learn: as auto, and what is found is added to the tuning table
//   QUADRILLE_MPI_WAITS        "keep": leave the MPI's own waits alone where ranks share processors; else
//                              "yield", see mpi/waits.hpp
//   QUADRILLE_PROGRESS         "thread": a thread of each process goes on with nonblocking and persistent calls; else
//                              "calls": they go on in calls of Quadrille alone
//   QUADRILLE_MPI_DEVICE       on, off: may the MPI be given pointers to a device's memory? "messages": to send and to
//                              receive, not in its collectives. Else it is asked
//   QUADRILLE_DEVICE_KERNELS   off: no kernel of ours runs on a GPU (memory/device_pieces.hpp)
//   QUADRILLE_HEAP, ...        see memory/heap.hpp
//   QUADRILLE_CHECK=1          check what the ranks must agree on and are trusted with otherwise
//   QUADRILLE_RECORD           a folder in which each rank writes down what calls it makes (team/record.hpp)
//   QUADRILLE_EXPLAIN=1        say once per distinct call what was chosen and why, and a summary
//
// A malformed value never breaks a program: rank 0 warns once and the value is ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"
#include "memory/node_copy.hpp"
#include "memory/reach.hpp"
#include "mpi/device_support.hpp"

namespace quadrille::team {

enum class Trials : std::uint8_t { automatic, on, off, learn };

struct Config {
  bool off = false;
  bool fault_tolerant = false;  // the MPI is, on some rank: all calls are forwarded. Found in MPI_Init, not read
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
  std::vector<std::string> warnings;  // one line each, not printed yet
};

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

}  // namespace quadrille::team
