#include "lab/copy_phase/copy_phase.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <latch>
#include <memory>
#include <new>
#include <span>
#include <thread>

#include "memory/copy_kernels.hpp"
#include "memory/heap.hpp"
#include "sys/sys.hpp"
#include "tool/bench/copy_ceiling.hpp"
#include "tool/bench/turns.hpp"

namespace quadrille::tools {
namespace {

using Clock = std::chrono::steady_clock;

// A batch lasts about this long, so that the clock and the meeting weigh little.
constexpr double phase_batch_seconds = 200e-6;

// A copy, in few bytes: the list shall not fill the caches.
struct Step {
  std::uint16_t source, destination, send_block, recv_block;
};
Step step_of(const plan::EdgeCopy& copy) {
  const auto narrow = [](int number) { return static_cast<std::uint16_t>(number); };
  return {narrow(copy.source), narrow(copy.destination), narrow(copy.send_block), narrow(copy.recv_block)};
}

// The buffers of all ranks, each rank's in a shared heap of its own, as peers map it: far apart, so
// that each has page tables of its own.
class Buffers {
 public:
  explicit Buffers(const CopyPhaseCase& c) : blocks_(blocks_of(c.what)), bytes_(c.bytes) {
    const std::size_t page = sys::page_size();
    const auto blocks = static_cast<std::size_t>(std::max(blocks_.send, blocks_.recv));
    const std::size_t whole = (blocks * c.bytes + page - 1) / page * page;
    const std::size_t stride = whole + (c.staggered ? page : 0);
    try {
      for (int rank = 0; rank < c.what.ranks; ++rank) {
        const std::size_t span = std::max(heap_span(c.what.ranks), 4 * stride);
        const std::size_t skew = sys::heap_skew(static_cast<std::size_t>(rank), span);
        std::byte* heap = make_heap(skew + 2 * stride, span) + skew;
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

  std::byte* send_block(std::size_t rank, std::size_t block) const { return send_[rank] + block * bytes_; }
  std::byte* recv_block(std::size_t rank, std::size_t block) const { return recv_[rank] + block * bytes_; }

  // What the copies send, and something else where they put it.
  void fill(const std::vector<Step>& copies, std::uint64_t call) const {
    for (const Step& copy : copies) {
      for (std::size_t i = 0; i < bytes_; ++i) {
        send_block(copy.source, copy.send_block)[i] = byte_of(copy, i, call);
        recv_block(copy.destination, copy.recv_block)[i] = ~byte_of(copy, i, call);
      }
    }
  }
  std::uint64_t mismatches(const std::vector<Step>& copies, std::uint64_t call) const {
    std::uint64_t wrong = 0;
    for (const Step& copy : copies) {
      for (std::size_t i = 0; i < bytes_; ++i) {
        wrong += recv_block(copy.destination, copy.recv_block)[i] != byte_of(copy, i, call);
        wrong += send_block(copy.source, copy.send_block)[i] != byte_of(copy, i, call);
      }
    }
    return wrong;
  }
  // Brings the buffers of a rank into this thread's cache.
  void touch(std::size_t rank) const {
    touch(send_block(rank, 0), blocks_.send);
    touch(recv_block(rank, 0), blocks_.recv);
  }

 private:
  void touch(std::byte* buffer, int blocks) const {
    volatile std::byte* bytes = buffer;
    const std::size_t size = static_cast<std::size_t>(blocks) * bytes_;
    for (std::size_t i = 0; i < size; i += 32) bytes[i] = bytes[i];
  }

  // Of a block of a rank's send buffer, whoever it goes to.
  static std::byte byte_of(const Step& copy, std::size_t offset, std::uint64_t call) {
    const std::uint64_t place = (std::uint64_t{copy.source} << 48) ^ (std::uint64_t{copy.send_block} << 32) ^ offset;
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
  BlocksOfRank blocks_;
  std::size_t bytes_;
  std::vector<Heap> heaps_;
  std::vector<std::byte*> send_, recv_;
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
  std::vector<std::vector<std::vector<Step>>> parts;  // [order][rank - first_rank]
  std::vector<std::vector<Times>> times;              // [order][round]
  std::vector<std::vector<Count>> sums;               // [order][event]
  std::vector<unsigned char> other;                   // walked through to empty the caches
};

std::vector<Worker> make_workers(const CopyPhaseCase& c) {
  const std::vector<int> processors = usable_processors();
  std::vector<Worker> workers(static_cast<std::size_t>(c.threads));
  for (int t = 0; t < c.threads; ++t) {
    Worker& worker = workers[static_cast<std::size_t>(t)];
    if (!processors.empty()) {
      worker.processor = processors[static_cast<std::size_t>(t) % processors.size()];
    }
    worker.first_rank = static_cast<int>(std::int64_t{c.what.ranks} * t / c.threads);
    worker.end_rank = static_cast<int>(std::int64_t{c.what.ranks} * (t + 1) / c.threads);
    worker.other.resize(c.evict_bytes);
  }
  for (const plan::Order order : c.orders) {
    const std::vector<std::vector<plan::EdgeCopy>> parts = parts_of(order, c.what);
    for (Worker& worker : workers) {
      std::vector<std::vector<Step>>& own = worker.parts.emplace_back();
      for (int rank = worker.first_rank; rank < worker.end_rank; ++rank) {
        std::vector<Step>& steps = own.emplace_back();
        std::ranges::transform(parts[static_cast<std::size_t>(rank)], std::back_inserter(steps), step_of);
      }
    }
  }
  return workers;
}

void copy_part(const Buffers& buffers, std::span<const Step> steps, std::size_t bytes) {
  for (const Step step : steps) {
    memory::copy_bytes(buffers.recv_block(step.destination, step.recv_block),
                       buffers.send_block(step.source, step.send_block), bytes);
  }
  asm volatile("" ::: "memory");  // each call counts, though the next one overwrites it
}

void copy_parts(const Buffers& buffers, const std::vector<std::vector<Step>>& parts, std::size_t bytes) {
  for (const std::vector<Step>& part : parts) copy_part(buffers, part, bytes);
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

Times warm_calls(const CopyPhaseCase& c, const Buffers& buffers, Worker& worker, std::size_t order, long calls,
                 Counters& counters) {
  if (!c.events.empty()) counters.start();
  const Clock::time_point begin = Clock::now();
  for (long call = 0; call < calls; ++call) copy_parts(buffers, worker.parts[order], c.bytes);
  const Clock::time_point end = Clock::now();
  if (!c.events.empty()) {
    counters.stop();
    add(worker.sums[order], counters.read());
  }
  return {begin, end};
}

// Rank after rank, each with caches that hold its own buffers. Only the copies are timed.
Times cold_call(const CopyPhaseCase& c, const Buffers& buffers, Worker& worker, std::size_t order, Counters& counters) {
  Times sum{};
  for (int rank = worker.first_rank; rank < worker.end_rank; ++rank) {
    for (std::size_t i = 0; i < worker.other.size(); i += sys::cache_line) ++worker.other[i];
    buffers.touch(static_cast<std::size_t>(rank));
    const std::vector<Step>& part = worker.parts[order][static_cast<std::size_t>(rank - worker.first_rank)];
    if (!c.events.empty()) counters.start();
    const Clock::time_point begin = Clock::now();
    copy_part(buffers, part, c.bytes);
    sum.end += Clock::now() - begin;
    if (!c.events.empty()) {
      counters.stop();
      add(worker.sums[order], counters.read());
    }
  }
  return sum;
}

void work(const CopyPhaseCase& c, const Buffers& buffers, Worker& worker, Meeting& meeting, std::size_t rounds,
          long calls) {
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
        copy_parts(buffers, worker.parts[order], c.bytes);
        meeting.wait();
        worker.times[order][round] = warm_calls(c, buffers, worker, order, calls, counters);
      }
      meeting.wait();
    }
  }
}

// Runs all threads for so many rounds.
void run(const CopyPhaseCase& c, const Buffers& buffers, std::vector<Worker>& workers, std::size_t rounds, long calls) {
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
  // Rows are by definition.
  std::vector<Step> copies;
  for (const std::vector<plan::EdgeCopy>& part : parts_of(plan::Order::row, c.what)) {
    std::ranges::transform(part, std::back_inserter(copies), step_of);
  }
  for (const plan::Order order : c.orders) {
    CopyPhaseCase one = c;
    one.orders = {order};
    one.evict_bytes = 0;
    one.events.clear();
    std::vector<Worker> workers = make_workers(one);
    buffers.fill(copies, ++call);
    run(one, buffers, workers, 1, 1);
    errors += buffers.mismatches(copies, call);
  }
  return errors;
}

std::vector<Count> events_a_call(const std::vector<Worker>& workers, std::size_t order, double calls) {
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
  if (c.what.ranks < 1 || c.threads < 1 || c.orders.empty()) return result;
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
  const long most = c.evict_bytes == 0 ? 1000 : 100;  // emptying the caches takes longer than a call
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

}  // namespace quadrille::tools
