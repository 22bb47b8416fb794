#include "tools/bench/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tools/bench/statistics.hpp"
#include "tools/bench/turns.hpp"

namespace quadrille::tools {
namespace {

// A batch lasts about this long, so that the clock weighs little, and so many times as long as the
// ranks' leaving of a barrier, where ranks that share a core are let go a time slice apart.
constexpr double batch_seconds = 200e-6;
constexpr double batch_skews = 10;
constexpr double longest_batch_seconds = 0.1;
constexpr long most_calls = 20'000;
// Time spent on one kind of copy for the ceiling.
constexpr double ceiling_seconds = 0.1;
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

// Seconds of `calls` calls on this rank. `counters` may be null.
double time_batch(BenchData& data, const Implementation& implementation, long calls, MPI_Comm world,
                  Counters* counters = nullptr) {
  mpi().Barrier(world);
  if (counters != nullptr) counters->start();
  const double begin = mpi().Wtime();
  for (long i = 0; i < calls; ++i) call_once(data, implementation);
  const double end = mpi().Wtime();
  if (counters != nullptr) counters->stop();
  return end - begin;
}

// Events of one implementation over all its batches, on this rank.
class EventSums {
 public:
  explicit EventSums(std::size_t events) : sums_(events) {}
  void add(const std::vector<Count>& counts) {
    for (std::size_t e = 0; e < counts.size(); ++e) {
      sums_[e].name = counts[e].name;
      if (counts[e].value) {
        sums_[e].value = sums_[e].value.value_or(0) + *counts[e].value;
      } else if (sums_[e].reason.empty()) {
        sums_[e].reason = counts[e].reason;
      }
    }
  }
  // Collective: the mean over the ranks of the events of one of `calls` calls.
  std::vector<Count> a_call(double calls, MPI_Comm world) const {
    int ranks = 1;
    mpi().Comm_size(world, &ranks);
    std::vector<Count> means;
    for (const Count& sum : sums_) {
      const double lacking = max_over_ranks(sum.value && sum.reason.empty() ? 0 : 1, world);
      std::uint64_t mine = static_cast<std::uint64_t>(sum.value.value_or(0)), all = 0;
      mpi().Allreduce(&mine, &all, 1, mpi().uint64, mpi().op_sum, world);
      Count& mean = means.emplace_back(sum.name, std::nullopt, sum.reason);
      if (lacking == 0) {
        mean.value = static_cast<double>(all) / (calls * ranks);
      } else if (mean.reason.empty()) {
        mean.reason = "not available: not on all ranks";
      }
    }
    return means;
  }

 private:
  std::vector<Count> sums_;
};

double batch_length(double skew) {
  return std::clamp(batch_skews * skew, batch_seconds, longest_batch_seconds);
}

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The buffers of a rank and of those that share its processor, copied in turn.
class CopiesInTurn {
 public:
  CopiesInTurn(BenchData& data, const TimingOptions& options) : data_(data) {
    const std::size_t pair = std::max<std::size_t>(data.bytes_sent(), 1) * 2;
    const std::size_t most = options.cold ? 0 : options.shared_bytes / pair;
    const auto others = static_cast<std::size_t>(std::max(options.ranks_a_processor, 1) - 1);
    for (std::size_t i = 0; i < std::min(others, most); ++i) others_.push_back(data.another_pair());
  }
  void copy(bool streaming) {
    if (next_ == 0) {
      data_.copy_alone(streaming);
    } else {
      copy_plainly(others_[next_ - 1].recv, others_[next_ - 1].send, streaming);
    }
    next_ = next_ == others_.size() ? 0 : next_ + 1;
  }

 private:
  BenchData& data_;
  std::vector<BenchData::Pair> others_;
  std::size_t next_ = 0;  // 0: this rank's
};

// Seconds from the first rank's start to the last rank's end. Own durations would not do: where
// ranks share a processor, each one's copies take only its own slice of the time.
double time_copies(CopiesInTurn& copies, bool streaming, long times, MPI_Comm world) {
  mpi().Barrier(world);
  const double begin = now_in_seconds();
  for (long t = 0; t < times; ++t) {
    copies.copy(streaming);
    asm volatile("" ::: "memory");  // each copy counts, though the next one overwrites it
  }
  const double end = now_in_seconds();
  return max_over_ranks(end, world) + max_over_ranks(-begin, world);
}

// Seconds by which a barrier can spoil a batch: what the slowest rank needs from one to the next.
double measure_skew(MPI_Comm world) {
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    mpi().Barrier(world);
    const double begin = mpi().Wtime();
    mpi().Barrier(world);
    seconds.push_back(max_over_ranks(mpi().Wtime() - begin, world));
  }
  return quantile(seconds, 0.5);
}

// Seconds of `calls` calls on the slowest rank.
double time_slowest(BenchData& data, const Implementation& implementation, long calls,
                    MPI_Comm world) {
  return std::max(max_over_ranks(time_batch(data, implementation, calls, world), world), 1e-9);
}

// Whether an untimed call of the same implementation goes before each batch. Cold caches it would spoil, and who wants
// no warm-up at all gets none.
bool warms_each_batch(const TimingOptions& options) { return !options.cold && options.warmup > 0; }

// Warms an implementation up and estimates the seconds of a call.
double warm_up(BenchData& data, const Implementation& implementation, double skew,
               const TimingOptions& options) {
  long calls = 1;
  double seconds = time_slowest(data, implementation, calls, options.world);
  // Slow calls need no warm-up of many.
  const double affordable = std::min(std::max(1.0, automatic_seconds / seconds), 1e6);
  if (const long more = std::min<long>(options.warmup, static_cast<long>(affordable)); more > 0) {
    calls = more;
    seconds = time_slowest(data, implementation, calls, options.world);
  }
  if (options.cold || options.iterations > 0) return seconds / static_cast<double>(calls);
  // So few calls may be hidden behind the barrier's skew.
  while (seconds < batch_length(skew) / 2 && calls < most_calls) {
    calls = std::min(calls * 4, most_calls);
    seconds = time_slowest(data, implementation, calls, options.world);
  }
  return seconds / static_cast<double>(calls);
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

BatchPlan plan_batches(const std::vector<double>& seconds, double skew,
                       const TimingOptions& options) {
  BatchPlan plan;
  const auto count = static_cast<double>(seconds.size());
  for (const double call : seconds) {
    const double fit = options.cold ? 1 : std::min(batch_length(skew) / call, 1e6);
    plan.calls.push_back(std::clamp<long>(std::lround(fit), 1, most_calls));
  }
  if (options.iterations > 0) {
    // All make the same number of calls, and at least ten batches where there are ten calls: a
    // median needs some values.
    long calls = std::max<long>(options.iterations / 10, 1);
    for (const long fit : plan.calls) calls = std::min(calls, fit);
    plan.calls.assign(seconds.size(), calls);
    plan.batches = (options.iterations + calls - 1) / calls;
    return plan;
  }
  const long untimed = warms_each_batch(options) ? 1 : 0;
  double batch = 0;  // the mean over the implementations
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    batch += seconds[i] * static_cast<double>(plan.calls[i] + untimed) / count;
  }
  const double fit = std::min(automatic_seconds / batch, 1e6);
  plan.batches = std::clamp<long>(std::lround(fit), 10, options.cold ? 100 : 1000);
  return plan;
}

Timing measure(BenchData& data, const std::vector<Implementation>& implementations,
               const TimingOptions& options) {
  const std::size_t count = implementations.size();
  const double skew = measure_skew(options.world);
  std::vector<double> estimates;
  for (const Implementation& implementation : implementations) {
    estimates.push_back(warm_up(data, implementation, skew, options));
  }
  const BatchPlan plan = plan_batches(estimates, skew, options);
  auto batches = static_cast<std::size_t>(plan.batches);
  CacheEmptier caches(options.cold ? options.evict_bytes : 0);

  Counters counters(options.events);
  std::vector<EventSums> events(count, EventSums(options.events.size()));
  Deadline deadline(3 * automatic_seconds * static_cast<double>(count), batches, options.world);
  std::vector<std::vector<double>> local(count);
  for (std::size_t round = 0; round < batches; ++round) {
    for (const std::size_t which : order_of_round(round, count)) {
      if (options.cold) caches.empty(data);
      // What the one before left in the caches shall not count.
      if (warms_each_batch(options)) call_once(data, implementations[which]);
      const double seconds =
          time_batch(data, implementations[which], plan.calls[which], options.world,
                     options.events.empty() ? nullptr : &counters);
      events[which].add(counters.read());
      local[which].push_back(seconds * 1e6 / static_cast<double>(plan.calls[which]));
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
  for (std::size_t i = 0; i < count; ++i) {
    const double calls = static_cast<double>(batches) * static_cast<double>(plan.calls[i]);
    timing.events.push_back(events[i].a_call(calls, options.world));
  }
  return timing;
}

Ceiling measure_ceiling(BenchData& data, const TimingOptions& options) {
  Ceiling best;
  CacheEmptier caches(options.cold ? options.evict_bytes : 0);
  CopiesInTurn copies(data, options);
  // One kind after the other: streaming stores throw out of the caches what memcpy leaves there.
  for (const bool streaming : {false, true}) {
    time_copies(copies, streaming, 1, options.world);
    const double estimate = std::max(time_copies(copies, streaming, 1, options.world), 1e-9);
    long times = 1;
    if (!options.cold) times = std::clamp<long>(std::lround(batch_seconds / estimate), 1, 1000);
    const double fit = ceiling_seconds / (estimate * static_cast<double>(times));
    const auto batches = static_cast<std::size_t>(std::clamp<long>(std::lround(fit), 5, 200));
    // To empty the caches takes a hundred times as long as the copies.
    Deadline deadline(5 * ceiling_seconds, batches, options.world);
    std::vector<double> seconds;
    for (std::size_t batch = 0; batch < batches; ++batch) {
      if (batch > 0 && deadline.passed_after(batch - 1)) break;
      if (options.cold) caches.empty(data);
      seconds.push_back(time_copies(copies, streaming, times, options.world) /
                        static_cast<double>(times));
    }
    const double microseconds = quantile(seconds, 0.5) * 1e6;
    if (best.microseconds == 0 || microseconds < best.microseconds)
      best = {microseconds, streaming};
  }
  return best;
}

}  // namespace quadrille::tools
