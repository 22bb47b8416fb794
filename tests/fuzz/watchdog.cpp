#include "watchdog.hpp"

#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <thread>

namespace quadrille::fuzz {
namespace {

constexpr int stuck_status = 86;

struct Place {
  std::atomic<const char*> phase{"start"};
  std::atomic<const Call*> call{nullptr};
};

std::uint64_t the_seed = 0;
int the_rank = 0;
std::atomic<std::uint64_t> the_step{0}, moves{0};
std::mutex mutex;
std::condition_variable over;
bool is_over = false;
Place places[2];
std::thread watcher;
pthread_t main_thread;

std::string where() {
  std::ostringstream text;
  for (int t = 0; t < 2; ++t) {
    const Call* const call = places[t].call.load();
    if (t == 1 && call == nullptr) continue;
    text << (t == 0 ? "" : "; other thread: ") << places[t].phase.load()
         << (call != nullptr ? ": " + call->describe() : "");
  }
  return text.str();
}

void print_stack(int) {
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
}

// Not a function that a handler may call; it is the last thing that happens.
void on_crash(int signal) {
  std::signal(signal, SIG_DFL);
  report("FINDING crash, signal " + std::to_string(signal) + ": " + where());
  print_stack(signal);
  raise(signal);
}

void watch(int seconds) {
  using namespace std::chrono_literals;
  std::uint64_t seen = moves;
  auto since = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  while (!over.wait_for(lock, 100ms, [] { return is_over; })) {
    const auto now = std::chrono::steady_clock::now();
    if (moves != seen) {
      seen = moves, since = now;
    } else if (now - since > std::chrono::seconds(seconds)) {
      report("FINDING stuck for " + std::to_string(seconds) + " s: " + where());
      pthread_kill(main_thread, SIGUSR2);
      std::this_thread::sleep_for(3s);  // let the others say where they are
      _exit(stuck_status);
    }
  }
}

}  // namespace

void report(const std::string& text) {
  const std::string line = "fuzz: seed " + std::to_string(the_seed) + " step " + std::to_string(the_step) + " rank " +
                           std::to_string(the_rank) + ": " + text + "\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  usleep(300'000);  // a launcher may forget what it reads after a rank has ended the job
}

void start_watchdog(std::uint64_t seed, int rank, int seconds) {
  the_seed = seed, the_rank = rank;
  main_thread = pthread_self();
  void* frame[1];
  backtrace(frame, 1);  // loads what it needs now
  std::signal(SIGUSR2, print_stack);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, on_crash);
  if (seconds > 0) watcher = std::thread(watch, seconds);
}

void stop_watchdog() {
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  over.notify_one();
  if (watcher.joinable()) watcher.join();
}

void at_step(std::uint64_t step) { the_step = step, ++moves; }

void at(const char* phase, const Call* call, int thread) {
  places[thread].phase = phase;
  places[thread].call = call;
  ++moves;
}

}  // namespace quadrille::fuzz
