// Times implementations of one collective against each other.
//
// In a round each implementation has a batch of calls, and the order is drawn anew for each round: what changes on the
// machine during the run meets all of them alike, and none always finds the caches as the same other one left them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi/mpi.hpp"
#include "tools/bench/data.hpp"
#include "tools/machine/counters.hpp"

namespace quadrille::tools {

// One way to carry a collective out.
struct Implementation {
  std::string name;  // "mpi", "default", or an algorithm
  bool native = false;
  MPI_Comm comm{};                            // its own; the algorithm is forced on it
  std::optional<memory::CopyPlan> copying{};  // another way to copy, from the second call on
};

struct TimingOptions {
  MPI_Comm world{};
  long iterations = 0;  // calls; 0: automatic
  int warmup = 10;
  bool cold = false;
  std::size_t evict_bytes = 0;   // memory to walk through to empty the caches
  int ranks_a_processor = 1;     // more than 1: they share its caches
  std::size_t shared_bytes = 0;  // more bytes than that do not stay in a processor's caches anyway
  std::vector<Event> events;     // what hardware counters shall count in the timed calls
};

struct Timing {
  // [implementation][round]: microseconds a call, maximum over the ranks.
  std::vector<std::vector<double>> microseconds;
  // [implementation][event]: events a call, mean over the ranks; no value unless all ranks have
  // one.
  std::vector<std::vector<Count>> events;
  long batches = 0;
  std::vector<long> calls_per_batch;  // [implementation]
};

// How many calls a batch of each implementation has and how many batches are run, from an estimate
// of the seconds a call takes in each and of the seconds between the ranks' leaving of a barrier.
// The batches of all implementations last about as long, so that the barrier spoils them alike.
struct BatchPlan {
  std::vector<long> calls;  // [implementation]
  long batches = 1;
};
BatchPlan plan_batches(const std::vector<double>& seconds, double skew,
                       const TimingOptions& options);

// Collective. All ranks get the same result.
Timing measure(BenchData& data, const std::vector<Implementation>& implementations,
               const TimingOptions& options);

// What plain copies need for the work of a call.
struct Ceiling {
  double microseconds = 0;  // 0: not measured
  bool streaming = false;   // by streaming stores, else by memcpy
};
// Collective, on one machine: all ranks at once copy from their own send to their own receive
// buffer as many bytes as they receive in a call. These are the bytes, the buffers, the processors
// and, with `cold`, the caches of the collective. Where ranks share a processor, each copies other
// buffers in turn, so that the caches see as many bytes between two copies as in the collective.
// The time is the median over batches, each from the first rank's start to the last one's end; the
// better of memcpy and streaming stores counts.
Ceiling measure_ceiling(BenchData& data, const TimingOptions& options);

// One call, not timed.
void call_once(BenchData& data, const Implementation& implementation);

}  // namespace quadrille::tools
