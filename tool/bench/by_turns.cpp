#include "tool/bench/by_turns.hpp"

#include <cmath>

#include "tool/bench/statistics.hpp"
#include "tool/bench/turns.hpp"

namespace quadrille::tools {
namespace {

constexpr double batch_skews = 10;
constexpr double longest_batch_seconds = 0.1;
constexpr long most_calls = 20'000;
// Time spent on one thing.
constexpr double automatic_seconds = 0.5;

// Events of one thing over all its batches, on this rank.
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
  std::vector<Count> a_call(double calls, MpiComm world) const {
    int ranks = 1;
    mpi().Comm_size(world, &ranks);
    std::vector<Count> means;
    for (const Count& sum : sums_) {
      const double lacking = max_over_ranks(sum.value && sum.reason.empty() ? 0 : 1, world);
      std::uint64_t mine = static_cast<std::uint64_t>(sum.value.value_or(0)), all = 0;
      mpi().Allreduce(&mine, &all, 1, mpi().uint64, mpi().op_sum, world);
      Count& mean = means.emplace_back(Count{sum.name, std::nullopt, sum.reason});
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

// Seconds of `calls` calls on the slowest rank.
double time_slowest(const Timed& thing, long calls, MpiComm world) {
  return std::max(max_over_ranks(time_batch(thing, calls, world), world), 1e-9);
}

// Seconds on this rank from after a barrier to the end of one call, which the late rank enters so much later.
double time_late_call(const Timed& thing, double late, MpiComm world) {
  mpi().Barrier(world);
  const double begin = mpi().Wtime();
  while (mpi().Wtime() - begin < late) {
  }
  thing.run(1);
  return mpi().Wtime() - begin;
}

// What the ranks have measured, a round each, as the maximum over them.
std::vector<double> slowest_of(const std::vector<double>& local, std::size_t rounds, MpiComm world) {
  std::vector<double> most(rounds);
  mpi().Allreduce(local.data(), most.data(), static_cast<int>(rounds), mpi().double_type, mpi().op_max, world);
  return most;
}

// Times that one rank took in each round: of each thing.
struct Local {
  std::vector<std::vector<double>> microseconds, others, steps;

  void add_late(std::size_t which, double seconds, double late, bool am_late) {
    microseconds[which].push_back((seconds - late) * 1e6);
    others[which].push_back(am_late ? 0 : seconds * 1e6);
  }
};

// A median needs some values, however long they take.
constexpr std::size_t least_rounds = 3;

// How often to look whether it is enough: about twenty times in all.
Deadline deadline_of(const BatchPlan& plan, const std::vector<double>& estimates, const TimingOptions& options) {
  const auto count = static_cast<double>(estimates.size());
  const auto batches = static_cast<std::size_t>(plan.batches);
  if (options.seconds == 0) return {3 * automatic_seconds * count, batches, options.world};
  double round = 0;
  for (std::size_t i = 0; i < estimates.size(); ++i) round += estimates[i] * static_cast<double>(plan.calls[i]);
  const double interval = options.seconds * count / 20 / std::max(round, 1e-9);
  return {options.seconds * count, options.world, static_cast<std::size_t>(std::clamp(interval, 1.0, 100.0))};
}

// Whether an untimed call of the same thing goes before each batch. Cold caches it would spoil, and who wants no
// warm-up at all gets none.
bool warms_each_batch(const TimingOptions& options) { return !options.cold && options.warmup > 0; }

// Collective.
bool is_over(const TimingOptions& options) {
  if (options.end == 0) return false;
  int over = mpi().Wtime() > options.end ? 1 : 0;
  mpi().Bcast(&over, 1, mpi().int_type, 0, options.world);
  return over != 0;
}

bool has_one_call(const TimingOptions& options) { return options.cold || options.late; }

}  // namespace

double max_over_ranks(double value, MpiComm comm) {
  double most = value;
  mpi().Allreduce(&value, &most, 1, mpi().double_type, mpi().op_max, comm);
  return most;
}

bool Deadline::passed_after(std::size_t round) {
  if (round % interval_ != interval_ - 1) return false;
  int passed = mpi().Wtime() > end_ ? 1 : 0;
  mpi().Bcast(&passed, 1, mpi().int_type, 0, world_);
  return passed != 0;
}

double batch_length(double skew, const TimingOptions& options) {
  return std::clamp(batch_skews * skew, options.batch, longest_batch_seconds);
}

double time_batch(const Timed& thing, long calls, MpiComm world, Counters* counters) {
  mpi().Barrier(world);
  if (counters != nullptr) counters->start();
  const double begin = mpi().Wtime();
  thing.run(calls);
  const double end = mpi().Wtime();
  if (counters != nullptr) counters->stop();
  return end - begin;
}

double measure_skew(MpiComm world) {
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    mpi().Barrier(world);
    const double begin = mpi().Wtime();
    mpi().Barrier(world);
    seconds.push_back(max_over_ranks(mpi().Wtime() - begin, world));
  }
  return quantile(seconds, 0.5);
}

double warm_up(const Timed& thing, double skew, const TimingOptions& options) {
  long calls = 1;
  double seconds = time_slowest(thing, calls, options.world);
  // Slow calls need no warm-up of many.
  const double affordable = std::min(std::max(1.0, automatic_seconds / seconds), 1e6);
  if (const long more = std::min<long>(options.warmup, static_cast<long>(affordable)); more > 0) {
    calls = more;
    seconds = time_slowest(thing, calls, options.world);
  }
  if (has_one_call(options) || options.iterations > 0) return seconds / static_cast<double>(calls);
  // So few calls may be hidden behind the barrier's skew.
  while (seconds < batch_length(skew, options) / 2 && calls < most_calls && !is_over(options)) {
    calls = std::min(calls * 4, most_calls);
    seconds = time_slowest(thing, calls, options.world);
  }
  return seconds / static_cast<double>(calls);
}

BatchPlan plan_batches(const std::vector<double>& seconds, double skew, const TimingOptions& options) {
  BatchPlan plan;
  const auto count = static_cast<double>(seconds.size());
  for (const double call : seconds) {
    const double fit = has_one_call(options) ? 1 : std::min(batch_length(skew, options) / call, 1e6);
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
  const double waited = options.late ? options.late->seconds : 0;
  double batch = 0;  // the mean over the things
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    batch += (seconds[i] * static_cast<double>(plan.calls[i] + untimed) + waited) / count;
  }
  const double fit = std::min(automatic_seconds / batch, 1e6);
  plan.batches = std::clamp<long>(std::lround(fit), 10, has_one_call(options) ? 100 : 1000);
  return plan;
}

namespace {

// The batches of all things, round by round.
class Rounds {
 public:
  Rounds(const std::vector<Timed>& things, const BatchPlan& plan, const TimingOptions& options)
      : things_(things),
        plan_(plan),
        options_(options),
        counters_(options.events),
        events_(things.size(), EventSums(options.events.size())) {
    mpi().Comm_rank(options.world, &me_);
    mpi().Comm_size(options.world, &ranks_);
    local_.microseconds.resize(things.size());
    local_.others.resize(things.size());
    local_.steps.resize(things.size());
  }

  void run(std::size_t round) {
    for (const std::size_t which : order_of_round(round, things_.size())) run_batch(round, which);
  }

  // Collective.
  Timing timing(std::size_t rounds) const {
    Timing timing;
    timing.batches = static_cast<long>(rounds);
    timing.calls_per_batch = plan_.calls;
    for (std::size_t i = 0; i < things_.size(); ++i) {
      timing.microseconds.push_back(slowest_of(local_.microseconds[i], rounds, options_.world));
      if (options_.late) timing.others.push_back(slowest_of(local_.others[i], rounds, options_.world));
      if (things_[i].in_calls) timing.steps.push_back(slowest_of(local_.steps[i], rounds, options_.world));
      const double calls = static_cast<double>(rounds) * static_cast<double>(plan_.calls[i]);
      timing.events.push_back(events_[i].a_call(calls, options_.world));
    }
    return timing;
  }

 private:
  void run_batch(std::size_t round, std::size_t which) {
    const Timed& thing = things_[which];
    // What the one before left in the caches shall not count.
    if (warms_each_batch(options_)) thing.run(1);
    if (thing.before) thing.before(round);
    if (options_.late) {
      const bool am_late = late_rank(*options_.late, round, ranks_) == me_;
      const double seconds = time_late_call(thing, am_late ? options_.late->seconds : 0, options_.world);
      local_.add_late(which, seconds, options_.late->seconds, am_late);
    } else {
      if (thing.in_calls != nullptr) *thing.in_calls = 0;
      const double seconds =
          time_batch(thing, plan_.calls[which], options_.world, options_.events.empty() ? nullptr : &counters_);
      events_[which].add(counters_.read());
      const double a_call = 1e6 / static_cast<double>(plan_.calls[which]);
      local_.microseconds[which].push_back((thing.in_calls != nullptr ? *thing.in_calls : seconds) * a_call);
      local_.steps[which].push_back(seconds * a_call);
    }
    if (thing.after) thing.after(round);
  }

  const std::vector<Timed>& things_;
  const BatchPlan& plan_;
  const TimingOptions& options_;
  Counters counters_;
  std::vector<EventSums> events_;
  Local local_;
  int me_ = 0, ranks_ = 1;
};

}  // namespace

Timing time_by_turns(const std::vector<Timed>& things, const TimingOptions& options) {
  const double skew = measure_skew(options.world);
  std::vector<double> estimates;
  estimates.reserve(things.size());
  for (const Timed& thing : things) estimates.push_back(warm_up(thing, skew, options));
  const BatchPlan plan = plan_batches(estimates, skew, options);
  auto batches = static_cast<std::size_t>(plan.batches);
  Rounds rounds(things, plan, options);
  Deadline deadline = deadline_of(plan, estimates, options);
  const bool may_end = options.iterations == 0 || options.seconds > 0;
  for (std::size_t round = 0; round < batches; ++round) {
    rounds.run(round);
    if (may_end && round + 1 >= least_rounds && deadline.passed_after(round)) batches = round + 1;
    if (is_over(options)) batches = round + 1;
  }
  return rounds.timing(batches);
}

}  // namespace quadrille::tools
