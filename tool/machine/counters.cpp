#include "tool/machine/counters.hpp"

#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

// Read misses of a cache, as the kernel maps them to this processor.
constexpr std::uint64_t read_misses(std::uint64_t cache) {
  return cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
}

// The kernel has no general name for the second cache: these are the processors' own numbers.
Event second_cache_misses() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // L2_RQSTS.MISS, from Skylake on.
  // Of older cores and of those of the Atom line, which have no AVX, it is another event.
  if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx")) return {"L2 misses", PERF_TYPE_RAW, 0x3f24, ""};
  // Misses of the data and of the instruction side, from Zen 2 on.
  if (__builtin_cpu_is("znver2") || __builtin_cpu_is("amdfam19h")) return {"L2 misses", PERF_TYPE_RAW, 0x0964, ""};
#elif defined(__aarch64__)
  return {"L2 misses", PERF_TYPE_RAW, 0x17, ""};  // L2D_CACHE_REFILL, the architecture's own number
#endif
  return {"L2 misses", 0, 0, "not available: the event's number is not known for this processor"};
}

// Cycles in which the core could not go on because its store buffer was full. The kernel has no general name for them.
Event store_stalls() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // RESOURCE_STALLS.SB (event 0xA2, mask 0x08), from Sandy Bridge on: what PAPI_MEM_WCY counts there. Intel's perfmon
  // lists. Of older cores and of those of the Atom line, which have no AVX, it is another event.
  if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx")) return {"store stalls", PERF_TYPE_RAW, 0x08a2, ""};
  // Dispatch stalls for want of store queue tokens (event 0xAE, mask 0x04), of Zen 2, 3 and 4:
  // pmu-events/arch/x86/amdzen* of Linux.
  if (__builtin_cpu_is("znver2") || __builtin_cpu_is("amdfam19h")) return {"store stalls", PERF_TYPE_RAW, 0x04ae, ""};
#endif
  return {"store stalls", 0, 0, "not available: the event's number is not known for this processor"};
}

int open_counter(const Event& event) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int this_thread = 0, any_processor = -1, no_group = -1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, this_thread, any_processor, no_group, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

std::vector<Event> cache_events() {
  return {{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, ""},
          {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, ""},
          {"L1d misses", PERF_TYPE_HW_CACHE, read_misses(PERF_COUNT_HW_CACHE_L1D), ""},
          second_cache_misses(),
          {"LLC misses", PERF_TYPE_HW_CACHE, read_misses(PERF_COUNT_HW_CACHE_LL), ""},
          store_stalls()};
}

std::vector<Event> memory_events() {
  std::vector<Event> events;
  for (const Event& event : cache_events()) {
    if (event.name.ends_with("misses") || event.name.ends_with("stalls")) events.push_back(event);
  }
  return events;
}

std::string counter_problem(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "not available: this machine (maybe a virtual one) has no such counter";
    case EACCES:
    case EPERM:
      return fmt::format(
          "not available: not allowed; /proc/sys/kernel/perf_event_paranoid is {}, "
          "2 or less would do unless a container forbids it",
          first_line("/proc/sys/kernel/perf_event_paranoid"));
    case ENOSYS:
      return "not available: the kernel was built without performance counters";
    case EMFILE:
    case ENFILE:
      return "not available: too many open files";
  }
  return fmt::format("not available: perf_event_open: {}", std::strerror(error));
}

Counters::Counters(std::span<const Event> events) {
  counters_.reserve(events.size());
  for (const Event& event : events) {
    Counter& counter = counters_.emplace_back(Counter{event.name, -1, event.missing, {}});
    if (!event.missing.empty()) continue;
    counter.descriptor = open_counter(event);
    if (counter.descriptor < 0) counter.reason = counter_problem(errno);
  }
}

Counters::~Counters() {
  for (const Counter& counter : counters_) {
    if (counter.descriptor >= 0) close(counter.descriptor);
  }
}

bool Counters::read_counter(int descriptor, Reading& reading) {
  static_assert(sizeof(Reading) == 3 * sizeof(std::uint64_t));  // as the kernel writes it
  return ::read(descriptor, &reading, sizeof reading) == sizeof reading;
}

void Counters::start() {
  for (Counter& counter : counters_) {
    if (counter.descriptor < 0) continue;
    // Not reset: that would clear the events but not the times.
    if (!read_counter(counter.descriptor, counter.at_start)) counter.at_start = {};
    ioctl(counter.descriptor, PERF_EVENT_IOC_ENABLE, 0);
  }
}

void Counters::stop() {
  for (const Counter& counter : counters_) {
    if (counter.descriptor >= 0) ioctl(counter.descriptor, PERF_EVENT_IOC_DISABLE, 0);
  }
}

std::vector<Count> Counters::read() const {
  std::vector<Count> counts;
  for (const Counter& counter : counters_) {
    Count& count = counts.emplace_back(Count{counter.name, std::nullopt, counter.reason});
    if (counter.descriptor < 0) continue;
    Reading now;
    if (!read_counter(counter.descriptor, now)) {
      // The kernel gives end-of-file for a counter that it could not place.
      count.reason = "not available: the counter cannot be read";
      continue;
    }
    const auto events = static_cast<double>(now.events - counter.at_start.events);
    const auto enabled = static_cast<double>(now.enabled - counter.at_start.enabled);
    const auto running = static_cast<double>(now.running - counter.at_start.running);
    if (running > 0) {
      count.value = events * enabled / running;
    } else {
      count.reason = "not available: the hardware counters were busy with other events";
    }
  }
  return counts;
}

}  // namespace quadrille::tools
