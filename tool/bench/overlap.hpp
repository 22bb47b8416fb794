// How much of an exchange hides behind computation: nonblocking calls, Quadrille's beside the MPI's own.
//
// Three things are timed by turns: to start a call and wait for it, with nothing between; a computation that lasts
// about as long as that takes the MPI; and to start, compute and wait. What the third takes longer than the second was
// not hidden. The computation is arithmetic in registers: it asks nothing of memory, of the system or of the MPI, so
// whatever moves meanwhile moves by itself, or in the calls of Test that are spread over it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tool/bench/by_turns.hpp"
#include "tool/bench/data.hpp"
#include "tool/bench/statistics.hpp"
#include "tool/bench/timing.hpp"

namespace quadrille::tools {

// ---- Pure ----

// Microseconds of a call.
struct OverlapTimes {
  double alone = 0;    // start and wait
  double compute = 0;  // the computation
  double both = 0;     // start, computation and wait
};

// The part of the exchange that takes no time of its own beside the computation, in percent from 0 to 100, as
// osu_ialltoall of the OSU benchmarks defines it. 0 where the exchange takes no time.
double hidden_percent(const OverlapTimes& times);

// Of `units` of work in `parts` parts: how many part number `part` has. The parts are as equal as can be.
long units_of_part(long units, int parts, int part);

// So much arithmetic, each unit on the result of the one before.
std::uint64_t work(std::uint64_t value, long units);

// Calls of Test are spread evenly over the computation, until test() is true: the call is complete.
template <class Test>
void compute_and_test(long units, int tests, Test test) {
  static volatile std::uint64_t sink = 1;
  std::uint64_t value = sink;
  bool complete = false;
  for (int part = 0; part <= tests; ++part) {
    value = work(value, units_of_part(units, tests + 1, part));
    if (part < tests && !complete) complete = test();
  }
  sink = value;
}

// One implementation over the rounds of a measurement.
struct OverlapSide {
  Quartiles both;            // microseconds of start, computation and wait
  Quartiles percent;         // hidden, round by round
  long calls_per_batch = 0;  // of these
};
// Each has a value a round.
OverlapSide overlap_side(std::span<const double> alone, std::span<const double> compute, std::span<const double> both);

// What a row of the benchmark has of it.
struct OverlapColumns {
  int tests = 0;
  double compute = 0;  // microseconds, median
  OverlapSide mpi, quadrille;
  double both_ratio = 0;       // of the medians: Quadrille's time with the computation over the MPI's
  double both_pair_ratio = 0;  // median over the rounds
};

// ---- Measured ----

struct OverlapTiming {
  Timing alone;                           // start and wait, of each implementation
  std::vector<double> compute;            // [round]
  std::vector<std::vector<double>> both;  // [implementation][round]
  std::vector<long> both_calls;           // [implementation] in a batch
  std::vector<std::uint64_t> errors;      // [implementation] wrong bytes on this rank, in batches that were checked
};

// Collective. The first implementation is the MPI's own, to whose time the computation is fitted. In some rounds the
// buffers are filled for call number ++`calls` before a batch, and compared after it.
OverlapTiming measure_overlap(BenchData& data, const std::vector<Implementation>& implementations,
                              const TimingOptions& options, int tests, std::uint64_t& calls);

// Implementation number `which` against the first.
OverlapColumns overlap_columns(const OverlapTiming& timing, std::size_t which, int tests);

// Starts a call and waits for it, not timed.
void start_and_wait(BenchData& data, const Implementation& implementation);

}  // namespace quadrille::tools
