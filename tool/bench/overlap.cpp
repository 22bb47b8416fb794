#include "tool/bench/overlap.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "abi/functions.hpp"
#include "tool/bench/checks.hpp"

namespace quadrille::tools {
namespace {

// ---- One call ----

// Errors end the program: communicators keep MPI_ERRORS_ARE_FATAL.
class MpiCall {
 public:
  MpiCall(BenchData& data, MpiComm comm) : data_(data), comm_(comm) {}
  void start() { data_.start_mpi(comm_, request_); }
  bool test() {
    int flag = 0;
    MpiStatus status;
    mpi().Testall(1, one(request_), &flag, &status);
    return flag != 0;
  }
  void wait() {
    MpiStatus status;
    mpi().Waitall(1, one(request_), &status);
  }

 private:
  BenchData& data_;
  MpiComm comm_;
  MpiRequest request_{};
};

class QuadrilleCall {
 public:
  QuadrilleCall(BenchData& data, MpiComm comm) : data_(data), comm_(comm) {}
  void start() { data_.start_quadrille(comm_, request_); }
  bool test() {
    int flag = 0;
    Quadrille_Test(&request_, &flag);
    return flag != 0;
  }
  void wait() { Quadrille_Wait(&request_); }

 private:
  BenchData& data_;
  MpiComm comm_;
  Quadrille_Request request_ = QUADRILLE_REQUEST_NULL;
};

template <class OneCall>
void run_alone(OneCall call, long calls) {
  for (long i = 0; i < calls; ++i) {
    call.start();
    call.wait();
  }
}

template <class OneCall>
void run_both(OneCall call, long calls, long units, int tests) {
  for (long i = 0; i < calls; ++i) {
    call.start();
    compute_and_test(units, tests, [&] { return call.test(); });
    call.wait();
  }
}

void call_alone(BenchData& data, const Implementation& implementation, long calls) {
  if (implementation.native) {
    run_alone(MpiCall(data, implementation.comm), calls);
  } else {
    run_alone(QuadrilleCall(data, implementation.comm), calls);
  }
}

void call_both(BenchData& data, const Implementation& implementation, long calls, long units, int tests) {
  if (implementation.native) {
    run_both(MpiCall(data, implementation.comm), calls, units, tests);
  } else {
    run_both(QuadrilleCall(data, implementation.comm), calls, units, tests);
  }
}

// ---- The computation ----

struct Computation {
  MpiComm world{};
  // Where ranks share a processor, the own time of each is only its own slice of what all need: there they wait for the
  // last of them. Alike on all ranks.
  bool together = false;
  long units = 0;
  int tests = 0;

  void run(long calls) const {
    for (long i = 0; i < calls; ++i) compute_and_test(units, tests, [] { return true; });
    if (together) mpi().Barrier(world);
  }
};

constexpr int samples = 5;

// Seconds that a call takes the slowest rank.
double seconds_of_call(const Timed& thing, double skew, const TimingOptions& options) {
  const double estimate = warm_up(thing, skew, options);
  const long calls = std::max(std::lround(batch_length(skew, options) / estimate), 1L);
  std::vector<double> seconds;
  seconds.reserve(samples);
  for (int i = 0; i < samples; ++i) {
    seconds.push_back(max_over_ranks(time_batch(thing, calls, options.world), options.world));
  }
  return quantile(seconds, 0.5) / static_cast<double>(calls);
}

// Seconds of a unit on this rank while all ranks compute; where they share processors, on the slowest rank.
double seconds_of_unit(Computation computation, double skew, const TimingOptions& options) {
  computation.units = 1000;
  computation.tests = 0;
  const Timed thing{[&](long calls) { computation.run(calls); }};
  long calls = 1;
  while (-max_over_ranks(-time_batch(thing, calls, computation.world), computation.world) <
         batch_length(skew, options)) {
    calls *= 2;
  }
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    const double own = time_batch(thing, calls, computation.world);
    // Who leaves the barrier a time slice late has not seen the others compute.
    seconds.push_back(computation.together ? max_over_ranks(own, computation.world) : own);
  }
  return quantile(seconds, 0.5) / static_cast<double>(calls * computation.units);
}

// One that lasts as long as a call of `thing`.
Computation computation_like(const Timed& thing, const TimingOptions& options, int tests) {
  Computation computation{options.world};
  computation.together = max_over_ranks(options.ranks_a_processor, options.world) > 1;
  computation.tests = tests;
  const double skew = measure_skew(options.world);
  const double seconds = seconds_of_call(thing, skew, options);
  computation.units = std::max(std::lround(seconds / seconds_of_unit(computation, skew, options)), 1L);
  return computation;
}

}  // namespace

double hidden_percent(const OverlapTimes& times) {
  if (times.alone <= 0) return 0;
  return 100 * std::clamp(1 - (times.both - times.compute) / times.alone, 0.0, 1.0);
}

long units_of_part(long units, int parts, int part) { return units / parts + (part < units % parts ? 1 : 0); }

std::uint64_t work(std::uint64_t value, long units) {
  for (long u = 0; u < units; ++u) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));  // each step counts: the compiler may not combine them
  }
  return value;
}

OverlapSide overlap_side(std::span<const double> alone, std::span<const double> compute, std::span<const double> both) {
  std::vector<double> percents;
  for (std::size_t round = 0; round < std::min({alone.size(), compute.size(), both.size()}); ++round) {
    percents.push_back(hidden_percent({alone[round], compute[round], both[round]}));
  }
  OverlapSide side;
  side.both = quartiles_of(both);
  side.percent = quartiles_of(percents);
  return side;
}

void start_and_wait(BenchData& data, const Implementation& implementation) { call_alone(data, implementation, 1); }

OverlapTiming measure_overlap(BenchData& data, const std::vector<Implementation>& implementations,
                              const TimingOptions& options, int tests, std::uint64_t& calls) {
  const std::size_t count = implementations.size();
  const Timed native{[&](long n) { call_alone(data, implementations[0], n); }};
  const Computation computation = computation_like(native, options, tests);

  OverlapTiming timing;
  timing.errors.resize(count);
  std::vector<std::unique_ptr<Checks>> checks;
  // First those that only start and wait, then those with the computation, then that alone.
  std::vector<Timed> things;
  const auto add = [&](std::size_t i, std::function<void(long)> call) {
    checks.push_back(std::make_unique<Checks>(data, calls, timing.errors[i]));
    things.push_back(checks.back()->around(std::move(call)));
  };
  for (std::size_t i = 0; i < count; ++i) {
    add(i, [&, i](long n) { call_alone(data, implementations[i], n); });
  }
  for (std::size_t i = 0; i < count; ++i) {
    add(i, [&, i](long n) { call_both(data, implementations[i], n, computation.units, tests); });
  }
  things.push_back({[&](long n) { computation.run(n); }});

  Timing all = time_by_turns(things, options);
  const auto middle = static_cast<std::ptrdiff_t>(count), end = 2 * middle;
  timing.compute = all.microseconds.back();
  timing.both.assign(all.microseconds.begin() + middle, all.microseconds.begin() + end);
  timing.both_calls.assign(all.calls_per_batch.begin() + middle, all.calls_per_batch.begin() + end);
  timing.alone = std::move(all);
  timing.alone.microseconds.resize(count);
  timing.alone.calls_per_batch.resize(count);
  timing.alone.events.resize(count);
  return timing;
}

OverlapColumns overlap_columns(const OverlapTiming& timing, std::size_t which, int tests) {
  const auto side = [&](std::size_t i) {
    OverlapSide made = overlap_side(timing.alone.microseconds[i], timing.compute, timing.both[i]);
    made.calls_per_batch = timing.both_calls[i];
    return made;
  };
  OverlapColumns columns;
  columns.tests = tests;
  columns.compute = quantile(timing.compute, 0.5);
  columns.mpi = side(0);
  columns.quadrille = side(which);
  columns.both_ratio = columns.mpi.both.median > 0 ? columns.quadrille.both.median / columns.mpi.both.median : 0;
  columns.both_pair_ratio = median_of_ratios(timing.both[which], timing.both[0]);
  return columns;
}

}  // namespace quadrille::tools
