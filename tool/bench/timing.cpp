#include "tool/bench/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "tool/bench/checks.hpp"
#include "tool/bench/line_exchange.hpp"
#include "tool/bench/statistics.hpp"

namespace quadrille::tools {
namespace {

// Time spent on one kind of copy for the ceiling, or on exchanges of cache lines.
constexpr double ceiling_seconds = 0.1;
// Copies or exchanges in a batch, and in the longest one that only estimates their time.
constexpr long most_in_batch = 10'000, most_probed = 1000;
// More than passes between the first rank that leaves a barrier and the last.
constexpr double skew_seconds = 1e-4;

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
template <class Run>
double time_together(const Run& run, long times, MpiComm world) {
  mpi().Barrier(world);
  const double begin = now_in_seconds();
  for (long t = 0; t < times; ++t) {
    run();
    asm volatile("" ::: "memory");  // each copy counts, though the next one overwrites it
  }
  const double end = now_in_seconds();
  return max_over_ranks(end, world) + max_over_ranks(-begin, world);
}

// Collective. Microseconds of a run, the median over batches, each after an untimed before().
template <class Run, class Before>
double median_microseconds(const Run& run, const Before& before, const TimingOptions& options) {
  time_together(run, 1, options.world);
  // A short run is repeated, as ranks do not leave a barrier at the same time.
  long probed = 1;
  double took = time_together(run, probed, options.world);
  while (took < skew_seconds && probed < most_probed) took = time_together(run, probed *= 10, options.world);
  const double estimate = std::max(took, 1e-9) / static_cast<double>(probed);
  long times = 1;
  if (!options.cold) times = std::clamp<long>(std::lround(batch_seconds / estimate), 1, most_in_batch);
  const double fit = ceiling_seconds / (estimate * static_cast<double>(times));
  const auto batches = static_cast<std::size_t>(std::clamp<long>(std::lround(fit), 5, 200));
  // To empty the caches takes a hundred times as long as the copies.
  Deadline deadline(5 * ceiling_seconds, batches, options.world);
  std::vector<double> seconds;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    if (batch > 0 && deadline.passed_after(batch - 1)) break;
    before();
    seconds.push_back(time_together(run, times, options.world) / static_cast<double>(times));
  }
  return quantile(seconds, 0.5) * 1e6;
}

}  // namespace

void call_times(long times, BenchData& data, const Implementation& implementation) {
  // Errors end the program: communicators keep MPI_ERRORS_ARE_FATAL.
  if (implementation.native) {
    data.call_mpi(implementation.comm, times);
  } else {
    data.call_quadrille(implementation.comm, times);
  }
}

double call_touched(long times, BenchData& data, const Implementation& implementation) {
  double seconds = 0;
  for (long i = 0; i < times; ++i) {
    data.write_sent(static_cast<std::uint64_t>(i));
    const double begin = mpi().Wtime();
    call_times(1, data, implementation);
    seconds += mpi().Wtime() - begin;
    data.read_received();
  }
  return seconds;
}

Timing measure(BenchData& data, const std::vector<Implementation>& implementations, const TimingOptions& options,
               const RunChecks* checks) {
  CacheEmptier caches(options.cold ? options.evict_bytes : 0);
  std::vector<std::unique_ptr<Checks>> checked;
  std::vector<Timed> things;
  std::vector<double> in_calls(implementations.size());
  for (std::size_t i = 0; i < implementations.size(); ++i) {
    const auto call = [&, i](long calls) {
      if (options.touch) {
        in_calls[i] += call_touched(calls, data, implementations[i]);
      } else {
        call_times(calls, data, implementations[i]);
      }
    };
    if (checks == nullptr) {
      things.push_back({call});
    } else {
      checked.push_back(std::make_unique<Checks>(data, checks->calls, checks->errors[i]));
      things.push_back(checked.back()->around(call));
    }
    if (options.touch) things.back().in_calls = &in_calls[i];
    if (!options.cold) continue;
    things.back().before = [&, fill = things.back().before](std::size_t round) {
      if (fill) fill(round);
      caches.empty(data);
    };
  }
  return time_by_turns(things, options);
}

Ceiling measure_ceiling(BenchData& data, const TimingOptions& options) {
  Ceiling best;
  CacheEmptier caches(options.cold ? options.evict_bytes : 0);
  CopiesInTurn copies(data, options);
  const auto before = [&] {
    if (options.cold) caches.empty(data);
  };
  // One kind after the other: streaming stores throw out of the caches what memcpy leaves there.
  for (const bool streaming : {false, true}) {
    const double microseconds = median_microseconds([&] { copies.copy(streaming); }, before, options);
    if (best.microseconds == 0 || microseconds < best.microseconds)
      best = {microseconds, streaming ? "streaming" : "memcpy"};
  }
  return best;
}

Ceiling measure_exchange(std::size_t bytes, const team::Team& team, const TimingOptions& options) {
  const std::shared_ptr<memory::ControlPool>& pool = team.area.pool();
  LineExchange exchange;
  exchange.waiter = team.group.waiter;
  mpi().Comm_rank(options.world, &exchange.me);
  constexpr std::uint64_t no_room = UINT64_MAX;
  std::uint64_t chunk = exchange.me == 0 ? pool->take(LineExchange::memory_bytes, 2).value_or(no_room) : no_room;
  mpi().Bcast(&chunk, 1, mpi().uint64, 0, options.world);
  if (chunk == no_room) return {};
  const memory::ControlArea area(pool, chunk, LineExchange::memory_bytes);
  exchange.memory = area.base();
  std::byte sent[LineExchange::most_bytes] = {}, received[LineExchange::most_bytes];
  const auto run = [&] { exchange_lines(exchange, sent, received, bytes); };
  return {median_microseconds(
              run, [] {}, options),
          "cache lines"};
}

}  // namespace quadrille::tools
