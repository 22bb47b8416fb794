// The copy phase of a collective inside a node, alone: no MPI, no waiting for peers, one process.
//
// The send and recv buffers of P ranks lie in the memory of this process. Pinned threads do what
// the ranks would do: thread t has the ranks from P t / T on, and does their parts of an order
// (copies.hpp) one rank after the other. So orders are compared by nothing but the order.
// Source: tables 1 and 2 of Li, Zhang and Hoefler count the cache misses of this phase; section 3 has it for
// neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/copy_phase/copies.hpp"
#include "tool/machine/counters.hpp"

namespace quadrille::tools {

struct CopyPhaseCase {
  Copied what;
  std::size_t bytes = 8;  // of a block
  int threads = 1;
  std::vector<plan::Order> orders;
  // Buffers begin on pages, as large ones from malloc do: the same block of all of them falls into
  // the same set of the first cache. Staggered, each begins at another line of its page.
  bool staggered = false;
  // 0: calls follow each other. Else each rank's part of a call is timed alone, after its thread
  // has walked through so many bytes of other memory and then through the rank's own buffers
  // (figure 9 of the paper, lines 3 to 7): as if each rank had a core of its own.
  std::size_t evict_bytes = 0;
  std::vector<Event> events;  // what to count in the timed calls
  double seconds = 0.5;       // about how long to measure
};

struct CopyPhaseResult {
  // [order][round]: microseconds of a call, from the first thread's start to the last one's end.
  std::vector<std::vector<double>> microseconds;
  std::vector<std::vector<Count>> events;  // [order][event]: a call, all threads together
  std::uint64_t errors = 0;                // bytes that some order put wrong
  long rounds = 0, calls_per_batch = 0;
};

// In a round each order has a batch of calls; in which sequence is drawn anew for each round.
// Throws std::bad_alloc or std::system_error if the system gives no memory or threads.
CopyPhaseResult measure_copy_phase(const CopyPhaseCase& c);

// ---- The command ----

struct LabOptions;
// `quadrille-lab bench --copy-phase`: prints the table, writes JSON. Returns the exit status.
int copy_phase_command(const LabOptions& options);

}  // namespace quadrille::tools
