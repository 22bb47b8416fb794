// Hardware counters of the calling thread: how often a stretch of a program missed its caches, and how long
// it waited to store.
//
//   Counters counters(cache_events());
//   counters.start();  work();  counters.stop();
//   for (const Count& count : counters.read()) ...
//
// They count user mode only: what the kernel does for a program (a copy between processes, a page
// fault) is not in them. A counter that the machine lacks, as most virtual machines do, or that it
// does not let us use, has a reason in place of a value; that is never an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quadrille::tools {

// What to count, in the words of perf_event_open(2).
struct Event {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::string missing;  // if not empty: why nobody can count this here; type and config mean nothing
};

// Cycles, instructions, misses of the first, second and last cache by this machine's processor, and cycles in which it
// waited for a place in its store buffer.
std::vector<Event> cache_events();

// What memory costs: the misses and waits among them.
std::vector<Event> memory_events();

struct Count {
  std::string name;
  std::optional<double> value;  // events; an estimate if there were more events than counters
  std::string reason;           // if there is no value: why, "not available: ..."
};

class Counters {
 public:
  // Opens counters for the calling thread. They stand still until start().
  explicit Counters(std::span<const Event> events);
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters();

  // Lets them run, from zero.
  void start();
  void stop();
  // One for each event, in their order. May be called while they run.
  std::vector<Count> read() const;

 private:
  // What the kernel tells of a counter since it was opened. The times are nanoseconds; they differ
  // if the counter had to share the hardware with others.
  struct Reading {
    std::uint64_t events = 0, enabled = 0, running = 0;
  };
  struct Counter {
    std::string name;
    int descriptor = -1;
    std::string reason;
    Reading at_start;
  };
  static bool read_counter(int descriptor, Reading& reading);

  std::vector<Counter> counters_;
};

// Why perf_event_open failed with the error number `error`: "not available: ...".
std::string counter_problem(int error);

}  // namespace quadrille::tools
