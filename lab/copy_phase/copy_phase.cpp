#include "lab/copy_phase/copy_phase.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <span>
#include <thread>

#include "memory/copy.hpp"
#include "memory/heap.hpp"
#include "sys/sys.hpp"
#include "tools/bench/copy_ceiling.hpp"
#include "tools/bench/turns.hpp"

namespace quadrille::tools {
namespace {

using Clock = std::chrono::steady_clock;

// A batch lasts about this long, so that the clock and the meeting weigh little.
constexpr double phase_batch_seconds = 200e-6;

// The buffers of all ranks, each rank's in a shared heap of its own, as peers map it: far apart, so
// that each has page tables of its own.
class Buffers {
 public:
  explicit Buffers(const CopyPhaseCase& c) : ranks_(c.ranks), bytes_(c.bytes) {
    const std::size_t page = sys::page_size();
    const std::size_t whole =
        (static_cast<std::size_t>(c.ranks) * c.bytes + page - 1) / page * page;
    const std::size_t stride = whole + (c.staggered ? page : 0);
    try {
      for (int rank = 0; rank < c.ranks; ++rank) {
        std::byte* heap = make_heap(2 * stride, std::max(heap_span(c.ranks), 2 * stride));
        for (std::size_t which = 0; which < 2; ++which) {
          const std::size_t number = 2 * static_cast<std::size_t>(rank) + which;
          const std::size_t line = c.staggered ? number % (page / sys::cache_line) : 0;
          (which == 0 ? send_ : recv_).push_back(heap + which * stride + line * sys::cache_line);
        }
      }
    } catch (...) {
      unmap();
      throw;
    }
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() { unmap(); }

  std::byte* send_block(int source, int destination) const {
    return send_[static_cast<std::size_t>(source)] + static_cast<std::size_t>(destination) * bytes_;
  }
  std::byte* recv_block(int destination, int source) const {
    return recv_[static_cast<std::size_t>(destination)] + static_cast<std::size_t>(source) * bytes_;
  }

  void fill(std::uint64_t call) const {
    for (int s = 0; s < ranks_; ++s) {
      for (int d = 0; d < ranks_; ++d) {
        for (std::size_t i = 0; i < bytes_; ++i) {
          send_block(s, d)[i] = byte_of(s, d, i, call);
          recv_block(d, s)[i] = ~byte_of(s, d, i, call);
        }
      }
    }
  }
  std::uint64_t mismatches(std::uint64_t call) const {
    std::uint64_t wrong = 0;
    for (int s = 0; s < ranks_; ++s) {
      for (int d = 0; d < ranks_; ++d) {
        for (std::size_t i = 0; i < bytes_; ++i) {
          wrong += recv_block(d, s)[i] != byte_of(s, d, i, call);
          wrong += send_block(s, d)[i] != byte_of(s, d, i, call);
        }
      }
    }
    return wrong;
  }
  // Brings the buffers of a rank into this thread's cache.
  void touch(int rank) const {
    for (std::byte* buffer : {send_block(rank, 0), recv_block(rank, 0)}) {
      volatile std::byte* bytes = buffer;
      const std::size_t size = static_cast<std::size_t>(ranks_) * bytes_;
      for (std::size_t i = 0; i < size; i += 32) bytes[i] = bytes[i];
    }
  }

 private:
  static std::byte byte_of(int source, int destination, std::size_t offset, std::uint64_t call) {
    const std::uint64_t place = (static_cast<std::uint64_t>(source) << 48) ^
                                (static_cast<std::uint64_t>(destination) << 32) ^ offset;
    return static_cast<std::byte>((place + call) * 0x9e3779b97f4a7c15U >> 56);
  }

  // Address space of a heap, as memory/heap.hpp takes it, unless all together were too much. Memory
  // is only taken for what is used.
  static std::size_t heap_span(int ranks) {
    const std::size_t page = sys::page_size(), most = std::size_t{16} << 40;
    std::size_t span = memory::read_heap_settings(sys::environment).bytes;
    if (span == 0) span = std::min(memory::heap_most_bytes, sys::physical_memory());
    return std::min(span, most / static_cast<std::size_t>(ranks)) / page * page;
  }

  std::byte* make_heap(std::size_t bytes, std::size_t span) {
    const int file = sys::create_heap_file(span);
    std::byte* base = file < 0 ? nullptr : sys::map_heap(file, span);
    sys::close_descriptor(file);
    if (base == nullptr) throw std::bad_alloc();
    heaps_.push_back({base, span});
    if (bytes > 0 && !sys::open_pages(base, bytes)) throw std::bad_alloc();
    return base;
  }
  void unmap() {
    for (const Heap& heap : heaps_) sys::unmap_raw(heap.base, heap.span);
    heaps_.clear();
  }

  struct Heap {
    std::byte* base;
    std::size_t span;
  };
  int ranks_;
  std::size_t bytes_;
  std::vector<Heap> heaps_;
  std::vector<std::byte*> send_, recv_;
};

// A copy, in few bytes: the list shall not fill the caches.
struct Step {
  std::uint16_t source, destination;
};

// All threads come together, again and again.
class Meeting {
 public:
  explicit Meeting(int threads) : threads_(threads) {}
  void wait() {
    const unsigned turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; turn_.load(std::memory_order_acquire) == turn; ++spins) {
      if (spins < 1000) {
        sys::pause();
      } else {
        sys::yield();
      }
    }
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> turn_{0};
};

struct Times {
  Clock::time_point begin, end;
};

struct Worker {
  int processor = -1;  // -1: wherever the system likes
  int first_rank = 0, end_rank = 0;
  std::vector<std::vector<Step>> steps;   // [order]
  std::vector<std::vector<Times>> times;  // [order][round]
  std::vector<std::vector<Count>> sums;   // [order][event]
  std::vector<unsigned char> other;       // walked through to empty the caches
};

std::vector<Worker> make_workers(const CopyPhaseCase& c) {
  const std::vector<int> processors = usable_processors();
  std::vector<Worker> workers(static_cast<std::size_t>(c.threads));
  for (int t = 0; t < c.threads; ++t) {
    Worker& worker = workers[static_cast<std::size_t>(t)];
    if (!processors.empty()) {
      worker.processor = processors[static_cast<std::size_t>(t) % processors.size()];
    }
    worker.first_rank = static_cast<int>(std::int64_t{c.ranks} * t / c.threads);
    worker.end_rank = static_cast<int>(std::int64_t{c.ranks} * (t + 1) / c.threads);
    for (const plan::Order order : c.orders) {
      std::vector<Step>& steps = worker.steps.emplace_back();
      for (int rank = worker.first_rank; rank < worker.end_rank; ++rank) {
        for (const auto [source, destination] : plan::part_of_order(order, c.ranks, rank)) {
          steps.push_back(
              {static_cast<std::uint16_t>(source), static_cast<std::uint16_t>(destination)});
        }
      }
    }
    worker.other.resize(c.evict_bytes);
  }
  return workers;
}

void copy_part(const Buffers& buffers, std::span<const Step> steps, std::size_t bytes) {
  for (const Step step : steps) {
    memory::copy_bytes(buffers.recv_block(step.destination, step.source),
                       buffers.send_block(step.source, step.destination), bytes);
  }
  asm volatile("" ::: "memory");  // each call counts, though the next one overwrites it
}

// Events of a batch, added to those of earlier ones.
void add(std::vector<Count>& sums, const std::vector<Count>& counts) {
  if (sums.empty()) {
    sums = counts;
    return;
  }
  for (std::size_t e = 0; e < counts.size(); ++e) {
    if (!sums[e].value || !counts[e].value) {
      if (sums[e].value) sums[e] = counts[e];
      continue;
    }
    *sums[e].value += *counts[e].value;
  }
}

Times warm_calls(const CopyPhaseCase& c, const Buffers& buffers, Worker& worker, std::size_t order,
                 long calls, Counters& counters) {
  if (!c.events.empty()) counters.start();
  const Clock::time_point begin = Clock::now();
  for (long call = 0; call < calls; ++call) copy_part(buffers, worker.steps[order], c.bytes);
  const Clock::time_point end = Clock::now();
  if (!c.events.empty()) {
    counters.stop();
    add(worker.sums[order], counters.read());
  }
  return {begin, end};
}

// Rank after rank, each with caches that hold its own buffers. Only the copies are timed.
Times cold_call(const CopyPhaseCase& c, const Buffers& buffers, Worker& worker, std::size_t order,
                Counters& counters) {
  const auto pairs = static_cast<std::size_t>(c.ranks);
  const std::span<const Step> steps = worker.steps[order];
  Times sum{};
  for (int rank = worker.first_rank; rank < worker.end_rank; ++rank) {
    for (std::size_t i = 0; i < worker.other.size(); i += sys::cache_line) ++worker.other[i];
    buffers.touch(rank);
    const auto part = static_cast<std::size_t>(rank - worker.first_rank);
    if (!c.events.empty()) counters.start();
    const Clock::time_point begin = Clock::now();
    copy_part(buffers, steps.subspan(part * pairs, pairs), c.bytes);
    sum.end += Clock::now() - begin;
    if (!c.events.empty()) {
      counters.stop();
      add(worker.sums[order], counters.read());
    }
  }
  return sum;
}

void work(const CopyPhaseCase& c, const Buffers& buffers, Worker& worker, Meeting& meeting,
          std::size_t rounds, long calls) {
  if (worker.processor >= 0) sys::run_on(worker.processor);
  Counters counters(c.events);
  const std::size_t orders = c.orders.size();
  worker.times.assign(orders, std::vector<Times>(rounds));
  worker.sums.assign(orders, {});
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const std::size_t order : order_of_round(round, orders)) {
      if (c.evict_bytes > 0) {
        meeting.wait();
        worker.times[order][round] = cold_call(c, buffers, worker, order, counters);
      } else {
        // What the order before left in the caches shall not count.
        copy_part(buffers, worker.steps[order], c.bytes);
        meeting.wait();
        worker.times[order][round] = warm_calls(c, buffers, worker, order, calls, counters);
      }
      meeting.wait();
    }
  }
}

// Runs all threads for so many rounds.
void run(const CopyPhaseCase& c, const Buffers& buffers, std::vector<Worker>& workers,
         std::size_t rounds, long calls) {
  Meeting meeting(c.threads);
  std::latch go(1);
  bool abandoned = false;
  const auto body = [&](Worker& worker) {
    go.wait();
    if (!abandoned) work(c, buffers, worker, meeting, rounds, calls);
  };
  std::vector<std::jthread> threads;
  try {
    threads.reserve(workers.size());
    for (Worker& worker : workers) threads.emplace_back(body, std::ref(worker));
  } catch (...) {
    // Those that were made must not wait for the others for ever.
    abandoned = true;
    go.count_down();
    throw;
  }
  go.count_down();
}

// Microseconds of a batch over all threads.
double span_of(const std::vector<Worker>& workers, std::size_t order, std::size_t round) {
  Times all = workers[0].times[order][round];
  for (const Worker& worker : workers) {
    all.begin = std::min(all.begin, worker.times[order][round].begin);
    all.end = std::max(all.end, worker.times[order][round].end);
  }
  return std::chrono::duration<double, std::micro>(all.end - all.begin).count();
}

// Each order alone, with fresh data.
std::uint64_t check(const CopyPhaseCase& c, const Buffers& buffers) {
  std::uint64_t errors = 0, call = 0;
  for (const plan::Order order : c.orders) {
    CopyPhaseCase one = c;
    one.orders = {order};
    one.evict_bytes = 0;
    one.events.clear();
    std::vector<Worker> workers = make_workers(one);
    buffers.fill(++call);
    run(one, buffers, workers, 1, 1);
    errors += buffers.mismatches(call);
  }
  return errors;
}

std::vector<Count> events_a_call(const std::vector<Worker>& workers, std::size_t order,
                                 double calls) {
  std::vector<Count> total = workers[0].sums[order];
  for (std::size_t w = 1; w < workers.size(); ++w) add(total, workers[w].sums[order]);
  for (Count& count : total) {
    if (count.value) *count.value /= calls;
  }
  return total;
}

}  // namespace

CopyPhaseResult measure_copy_phase(const CopyPhaseCase& c) {
  CopyPhaseResult result;
  if (c.ranks < 1 || c.threads < 1 || c.orders.empty()) return result;
  const Buffers buffers(c);
  result.errors = check(c, buffers);
  std::vector<Worker> workers = make_workers(c);

  constexpr std::size_t trials = 3;
  run(c, buffers, workers, trials, 1);
  double call = 1e9, all = 0;  // seconds: of the fastest order, and of a round of all orders
  for (std::size_t order = 0; order < c.orders.size(); ++order) {
    const double seconds = std::max(span_of(workers, order, trials - 1) * 1e-6, 1e-9);
    call = std::min(call, seconds);
    all += seconds;
  }
  long calls = 1;
  if (c.evict_bytes == 0) {
    calls = std::clamp<long>(std::lround(std::min(phase_batch_seconds / call, 1e6)), 1, 1000);
  }
  const long most =
      c.evict_bytes == 0 ? 1000 : 100;  // emptying the caches takes longer than a call
  const double round = all * static_cast<double>(calls);
  const long rounds = std::clamp<long>(std::lround(std::min(c.seconds / round, 1e6)), 3, most);
  run(c, buffers, workers, static_cast<std::size_t>(rounds), calls);
  for (std::size_t order = 0; order < c.orders.size(); ++order) {
    std::vector<double>& times = result.microseconds.emplace_back();
    for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r) {
      times.push_back(span_of(workers, order, r) / static_cast<double>(calls));
    }
    result.events.push_back(events_a_call(workers, order, static_cast<double>(rounds * calls)));
  }
  result.rounds = rounds;
  result.calls_per_batch = calls;
  return result;
}

std::string_view name_of(plan::Order order) {
  switch (order) {
    case plan::Order::row:
      return "row";
    case plan::Order::column:
      return "column";
    case plan::Order::morton:
      return "morton";
    case plan::Order::hilbert:
      return "hilbert";
    case plan::Order::square_and_row:
      return "square-row";
    case plan::Order::square_and_column:
      return "square-column";
    case plan::Order::square_and_morton:
      return "square-morton";
    default:
      return "";  // the orders for NUMA need a map of domains
  }
}

std::string parse_orders(std::string_view text, std::vector<plan::Order>& orders) {
  orders.clear();
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    bool known = false;
    for (const plan::Order order :
         {plan::Order::row, plan::Order::column, plan::Order::morton, plan::Order::hilbert, plan::Order::square_and_row,
          plan::Order::square_and_column, plan::Order::square_and_morton}) {
      if (word != name_of(order)) continue;
      orders.push_back(order);
      known = true;
    }
    if (!known) {
      return "unknown order '" + std::string(word) +
             "'; known are row, column, morton, hilbert, square-row, square-column, square-morton";
    }
    if (end == text.size()) return "";
    text.remove_prefix(end + 1);
  }
}

}  // namespace quadrille::tools
