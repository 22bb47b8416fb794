// Times implementations of one collective against each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/mpi.hpp"
#include "team/team.hpp"
#include "tool/bench/by_turns.hpp"
#include "tool/bench/data.hpp"

namespace quadrille::tools {

// One way to carry a collective out.
struct Implementation {
  std::string name;  // "mpi", "default", or an algorithm
  bool native = false;
  MpiComm comm{};                             // its own; the algorithm is forced on it
  std::optional<memory::CopyPlan> copying{};  // another way to copy, from the second call on
};

// Where the data are checked in the timed run as well: `calls` numbers the calls with known data, and `errors` counts
// this rank's wrong bytes of each implementation.
struct RunChecks {
  std::uint64_t& calls;
  std::vector<std::uint64_t>& errors;
};

// Collective. All ranks get the same result; the things are the implementations. Without `checks` nothing is checked.
Timing measure(BenchData& data, const std::vector<Implementation>& implementations, const TimingOptions& options,
               const RunChecks* checks = nullptr);

// The least time of a call: that of plain copies or, for small blocks, of an exchange of cache lines.
struct Ceiling {
  double microseconds = 0;         // 0: not measured
  std::string_view by = "memcpy";  // or "streaming" stores, "cache lines"; of a GPU's data "device copy" or "bus"
};
// Collective, on one machine: all ranks at once copy from their own send to their own receive
// buffer as many bytes as they receive in a call. These are the bytes, the buffers, the processors
// and, with `cold`, the caches of the collective. Where ranks share a processor, each copies other
// buffers in turn, so that the caches see as many bytes between two copies as in the collective.
// The time is the median over batches, each from the first rank's start to the last one's end; the
// better of memcpy and streaming stores counts.
Ceiling measure_ceiling(BenchData& data, const TimingOptions& options);
// Collective, of two ranks with a processor each: they exchange blocks of at most LineExchange::most_bytes through
// cache lines of the team's control memory. The time is the median over batches, as above; 0 if that has no room.
Ceiling measure_exchange(std::size_t bytes, const team::Team& team, const TimingOptions& options);

// So many calls, not timed.
void call_times(long times, BenchData& data, const Implementation& implementation);
// So many steps: a call, with its buffers written before and read after it. Returns the seconds in the calls alone.
double call_touched(long times, BenchData& data, const Implementation& implementation);

}  // namespace quadrille::tools
