#include "tools/bench_timing.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::tools {
namespace {

// A batch lasts about this long, so that the clock and the barrier weigh little.
constexpr double batch_seconds = 200e-6;
// Time spent on one implementation of one size.
constexpr double automatic_seconds = 0.5;

double max_over_ranks(double value, MPI_Comm comm) {
  double most = value;
  mpi().Allreduce(&value, &most, 1, mpi().double_type, mpi().op_max, comm);
  return most;
}

// Ends a measurement that takes much longer than it was planned for, on a machine that is shared
// with others. Rank 0 decides for all.
class Deadline {
 public:
  Deadline(double seconds, std::size_t rounds, MPI_Comm world)
      : end_(mpi().Wtime() + seconds),
        interval_(std::max<std::size_t>(rounds / 20, 10)),
        world_(world) {}
  bool passed_after(std::size_t round) {
    if (round % interval_ != interval_ - 1) return false;
    int passed = mpi().Wtime() > end_ ? 1 : 0;
    mpi().Bcast(&passed, 1, mpi().int_type, 0, world_);
    return passed != 0;
  }

 private:
  double end_;
  std::size_t interval_;
  MPI_Comm world_;
};

// Empties the caches by walking through other memory (figure 9 of the cache-oblivious paper,
// line 3), then brings this rank's own buffers in (lines 6 and 7).
class CacheEmptier {
 public:
  explicit CacheEmptier(std::size_t bytes) : memory_(bytes) {}
  void empty(BenchData& data) {
    for (std::size_t i = 0; i < memory_.size(); i += 64) memory_[i] = ++turn_;
    data.touch();
  }

 private:
  std::vector<unsigned char> memory_;
  unsigned char turn_ = 0;
};

// Seconds of `calls` calls on this rank.
double time_batch(BenchData& data, const Implementation& implementation, long calls,
                  MPI_Comm world) {
  mpi().Barrier(world);
  const double begin = mpi().Wtime();
  for (long i = 0; i < calls; ++i) call_once(data, implementation);
  return mpi().Wtime() - begin;
}

// Warms an implementation up and estimates the seconds of a call.
double warm_up(BenchData& data, const Implementation& implementation,
               const TimingOptions& options) {
  const double first =
      max_over_ranks(time_batch(data, implementation, 1, options.world), options.world);
  // Slow calls need no warm-up of many.
  const double affordable = std::max(1.0, automatic_seconds / std::max(first, 1e-9));
  const long calls = std::min<long>(options.warmup, static_cast<long>(std::min(affordable, 1e6)));
  double estimate = first;
  if (calls > 0) {
    estimate = time_batch(data, implementation, calls, options.world) / static_cast<double>(calls);
  }
  return std::max(max_over_ranks(estimate, options.world), 1e-9);
}

}  // namespace

void call_once(BenchData& data, const Implementation& implementation) {
  // Errors end the program: communicators keep MPI_ERRORS_ARE_FATAL.
  if (implementation.native) {
    data.call_mpi(implementation.comm);
  } else {
    data.call_quadrille(implementation.comm);
  }
}

BatchPlan plan_batches(double fastest, double total, const TimingOptions& options) {
  BatchPlan plan;
  if (!options.cold) {
    plan.calls = std::clamp<long>(std::lround(std::min(batch_seconds / fastest, 1e4)), 1, 1000);
  }
  if (options.iterations > 0) {
    // At least ten batches where there are ten calls: a median needs some values.
    plan.calls = std::clamp<long>(options.iterations / 10, 1, plan.calls);
    plan.batches = (options.iterations + plan.calls - 1) / plan.calls;
    return plan;
  }
  const double batch = total * static_cast<double>(plan.calls);
  const double fit = std::min(automatic_seconds / batch, 1e6);
  plan.batches = std::clamp<long>(std::lround(fit), 10, options.cold ? 100 : 1000);
  return plan;
}

Timing measure(BenchData& data, const std::vector<Implementation>& implementations,
               const TimingOptions& options) {
  const std::size_t count = implementations.size();
  double fastest = 1e9, total = 0;
  for (const Implementation& implementation : implementations) {
    const double estimate = warm_up(data, implementation, options);
    fastest = std::min(fastest, estimate);
    total += estimate / static_cast<double>(count);
  }
  const BatchPlan plan = plan_batches(fastest, total, options);
  auto batches = static_cast<std::size_t>(plan.batches);
  CacheEmptier caches(options.cold ? options.evict_bytes : 0);

  Deadline deadline(3 * automatic_seconds * static_cast<double>(count), batches, options.world);
  std::vector<std::vector<double>> local(count);
  for (std::size_t round = 0; round < batches; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t which = (round + turn) % count;
      if (options.cold) caches.empty(data);
      const double seconds = time_batch(data, implementations[which], plan.calls, options.world);
      local[which].push_back(seconds * 1e6 / static_cast<double>(plan.calls));
    }
    if (options.iterations == 0 && deadline.passed_after(round)) batches = round + 1;
  }
  Timing timing;
  timing.batches = static_cast<long>(batches);
  timing.calls_per_batch = plan.calls;
  for (const std::vector<double>& times : local) {
    std::vector<double>& most = timing.microseconds.emplace_back(batches);
    mpi().Allreduce(times.data(), most.data(), static_cast<int>(batches), mpi().double_type,
                    mpi().op_max, options.world);
  }
  return timing;
}

}  // namespace quadrille::tools
