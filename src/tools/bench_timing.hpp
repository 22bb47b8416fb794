// Times implementations of one collective against each other.
//
// Batches of calls alternate between the implementations, and the order turns from round to round:
// what changes on the machine during the run meets all of them alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/mpi.hpp"
#include "tools/bench_data.hpp"

namespace quadrille::tools {

// One way to carry a collective out.
struct Implementation {
  std::string name;  // "mpi", "default", or an algorithm
  bool native = false;
  MPI_Comm comm{};  // its own; the algorithm is forced on it
};

struct TimingOptions {
  MPI_Comm world{};
  long iterations = 0;  // calls; 0: automatic
  int warmup = 10;
  bool cold = false;
  std::size_t evict_bytes = 0;  // memory to walk through to empty the caches
};

struct Timing {
  // [implementation][round]: microseconds a call, maximum over the ranks.
  std::vector<std::vector<double>> microseconds;
  long batches = 0, calls_per_batch = 0;
};

// How many calls a batch has and how many batches are run, from an estimate of the seconds a call
// takes in the fastest implementation and in all together.
struct BatchPlan {
  long calls = 1, batches = 1;
};
BatchPlan plan_batches(double fastest, double total, const TimingOptions& options);

// Collective. All ranks get the same result.
Timing measure(BenchData& data, const std::vector<Implementation>& implementations,
               const TimingOptions& options);

// One call, not timed.
void call_once(BenchData& data, const Implementation& implementation);

}  // namespace quadrille::tools
