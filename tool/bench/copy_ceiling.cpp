#include "tool/bench/copy_ceiling.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "memory/copy_kernels.hpp"
#include "sys/sys.hpp"

namespace quadrille::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int trials = 5;
constexpr double least_seconds = 0.01;

struct Copier {
  int processor = -1;  // -1: wherever the system likes
  std::unique_ptr<std::byte[]> from, to;
  Clock::time_point started, ended;  // of the last trial
};

void copy_once(std::byte* to, const std::byte* from, std::size_t bytes, Copy by) {
  if (by == Copy::streaming) return memory::copy_kernels().streaming(to, from, bytes);
  constexpr std::size_t piece = 1024;  // memcpy has ordinary stores for so few bytes, and no "rep movsb"
  const std::size_t together = by == Copy::ordinary ? piece : bytes;
  for (std::size_t at = 0; at < bytes; at += together) {
    std::memcpy(to + at, from + at, std::min(together, bytes - at));
  }
}

void copy(Copier& copier, std::size_t bytes, Copy by, long times) {
  for (long t = 0; t < times; ++t) {
    copy_once(copier.to.get(), copier.from.get(), bytes, by);
    // The compiler shall believe that somebody reads the copy.
    asm volatile("" : : "r"(copier.to.get()) : "memory");
  }
  if (by == Copy::streaming) memory::stream_fence();
}

// All copiers copy `times` times at once, each on its processor. Returns the seconds from the first
// start to the last end.
double trial(std::vector<Copier>& copiers, std::size_t bytes, Copy by, long times) {
  std::latch arrived(static_cast<std::ptrdiff_t>(copiers.size())), go(1);
  bool abandoned = false;
  const auto work = [&](Copier& copier) {
    if (copier.processor >= 0) sys::run_on(copier.processor);
    // Untimed: brings the buffers into this processor's part of the memory. Unwritten, the source
    // would be the system's one page of zeros.
    std::memset(copier.from.get(), 1, bytes);
    copy(copier, bytes, by, 1);
    arrived.count_down();
    go.wait();
    if (abandoned) return;
    copier.started = Clock::now();
    copy(copier, bytes, by, times);
    copier.ended = Clock::now();
  };
  std::vector<std::jthread> threads;
  try {
    threads.reserve(copiers.size());
    for (Copier& copier : copiers) threads.emplace_back(work, std::ref(copier));
  } catch (...) {
    // Those that were made must not wait for the others for ever.
    abandoned = true;
    go.count_down();
    throw;
  }
  arrived.wait();
  go.count_down();
  threads.clear();  // joins
  Clock::time_point first = copiers[0].started, last = copiers[0].ended;
  for (const Copier& copier : copiers) {
    first = std::min(first, copier.started);
    last = std::max(last, copier.ended);
  }
  return std::chrono::duration<double>(last - first).count();
}

}  // namespace

std::vector<int> usable_processors() {
  const sys::ProcessorSet allowed = sys::allowed_processors();
  std::vector<int> list;
  for (int p = 0; p < sys::max_processors; ++p) {
    if (allowed[static_cast<std::size_t>(p)]) list.push_back(p);
  }
  return list;
}

double copy_ceiling(std::size_t bytes_per_thread, int threads, Copy by) {
  if (bytes_per_thread == 0 || threads <= 0) return 0;
  const std::vector<int> processors = usable_processors();
  std::vector<Copier> copiers(static_cast<std::size_t>(threads));
  for (std::size_t c = 0; c < copiers.size(); ++c) {
    if (!processors.empty()) copiers[c].processor = processors[c % processors.size()];
    // Not touched here: memory belongs to the processor that touches it first.
    copiers[c].from = std::make_unique_for_overwrite<std::byte[]>(bytes_per_thread);
    copiers[c].to = std::make_unique_for_overwrite<std::byte[]>(bytes_per_thread);
  }
  long times = 1;
  while (trial(copiers, bytes_per_thread, by, times) < least_seconds) times *= 2;
  const double bytes =
      static_cast<double>(bytes_per_thread) * static_cast<double>(threads) * static_cast<double>(times);
  double best = 0;
  for (int t = 0; t < trials; ++t) {
    best = std::max(best, bytes / trial(copiers, bytes_per_thread, by, times));
  }
  return best;
}

}  // namespace quadrille::tools
