// Times things against each other, in batches.
//
// In a round each of them has a batch of calls, and the order is drawn anew for each round: what changes on the machine
// during the run meets all of them alike, and none always finds the caches as the same other one left them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "mpi/mpi.hpp"
#include "tool/bench/late.hpp"
#include "tool/machine/counters.hpp"

namespace quadrille::tools {

// A batch lasts about this long, so that the clock weighs little; with a device as long as what its rates are measured
// by. And so many times as long as the ranks' leaving of a barrier, where ranks that share a core are let go a time
// slice apart.
constexpr double batch_seconds = 200e-6, batch_seconds_on_devices = 5e-3;

struct TimingOptions {
  MpiComm world{};
  long iterations = 0;  // calls; 0: automatic
  double seconds = 0;   // for each thing, after which it is enough, however many calls were made; 0: no such limit
  double end = 0;       // by rank 0's clock: from then on no more is measured than a first round; 0: no such limit
  int warmup = 10;
  bool cold = false;
  bool touch = false;            // a call is then a step: its buffers are written before and read after it
  double batch = batch_seconds;  // at least
  std::size_t evict_bytes = 0;   // memory to walk through to empty the caches
  int ranks_a_processor = 1;     // more than 1: they share its caches
  std::size_t shared_bytes = 0;  // more bytes than that do not stay in a processor's caches anyway
  std::vector<Event> events;     // what hardware counters shall count in the timed calls
  std::optional<Late> late;      // a batch is then one call, which one rank enters later than the others
};

struct Timing {
  // [thing][round]: microseconds a call, maximum over the ranks. Where a rank is late, from when that one enters.
  std::vector<std::vector<double>> microseconds;
  // [thing][round]: the same over the ranks that are not late, from when they enter. Only where a rank is late.
  std::vector<std::vector<double>> others;
  // [thing][round]: the same of steps, where `microseconds` has the calls in them. Only of things with `in_calls`.
  std::vector<std::vector<double>> steps;
  // [thing][event]: events a call, mean over the ranks; no value unless all ranks have one.
  std::vector<std::vector<Count>> events;
  long batches = 0;
  std::vector<long> calls_per_batch;  // [thing]
};

// Something that is timed.
struct Timed {
  std::function<void(long calls)> run;  // calls it so often
  // Not timed: right before and after its batch of a round. May be empty.
  std::function<void(std::size_t round)> before{}, after{};
  // To what run() adds the seconds in calls alone, if it does more than calls.
  double* in_calls = nullptr;
};

// How many calls a batch of each thing has and how many batches are run, from an estimate of the seconds a call takes
// in each and of the seconds between the ranks' leaving of a barrier. The batches of all things last about as long, so
// that the barrier spoils them alike.
struct BatchPlan {
  std::vector<long> calls;  // [thing]
  long batches = 1;
};
BatchPlan plan_batches(const std::vector<double>& seconds, double skew, const TimingOptions& options);

// Collective. All ranks get the same result.
Timing time_by_turns(const std::vector<Timed>& things, const TimingOptions& options);

// ---- Its steps. All are collective. ----

double max_over_ranks(double value, MpiComm comm);

// Seconds by which a barrier can spoil a batch: what the slowest rank needs from one to the next.
double measure_skew(MpiComm world);

double batch_length(double skew, const TimingOptions& options);

// Warms a thing up, and estimates the seconds of a call on the slowest rank.
double warm_up(const Timed& thing, double skew, const TimingOptions& options);

// Seconds of `calls` calls on this rank, after a barrier. `counters` may be null.
double time_batch(const Timed& thing, long calls, MpiComm world, Counters* counters = nullptr);

// Ends a measurement that takes much longer than it was planned for, on a machine that is shared with others. Rank 0
// decides for all.
class Deadline {
 public:
  Deadline(double seconds, std::size_t rounds, MpiComm world)
      : Deadline(seconds, world, std::max<std::size_t>(rounds / 20, 10)) {}
  // Looks at the clock after each `interval` rounds.
  Deadline(double seconds, MpiComm world, std::size_t interval)
      : end_(mpi().Wtime() + seconds), interval_(interval), world_(world) {}
  bool passed_after(std::size_t round);

 private:
  double end_;
  std::size_t interval_;
  MpiComm world_;
};

}  // namespace quadrille::tools
