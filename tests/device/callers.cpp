#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

thread_local int inside = 0;

struct Calls {
  std::unordered_map<void*, std::string> objects;  // by the address that a call returns to
  std::map<std::pair<std::string, std::string>, unsigned long> counts;
};

Calls& calls() {
  static auto* const calls = new Calls;  // stays: threads may call until the process is gone
  return *calls;
}

const std::string& object_of(void* from) {
  const auto known = calls().objects.find(from);
  if (known != calls().objects.end()) return known->second;
  Dl_info info;
  const bool found = dladdr(from, &info) != 0 && info.dli_fname != nullptr;
  return calls().objects.emplace(from, found ? info.dli_fname : "?").first->second;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool is_a(const std::string& function, const std::string& what) {
  if (what == "calls" || function == what) return true;
  if (what == "allocations") {
    return contains(function, "Alloc") || function == "hipMallocManaged" || function == "hipMalloc" ||
           function == "hipHostMalloc" || function == "hipMallocAsync" || contains(function, "HostRegister");
  }
  if (what == "opens") return contains(function, "IpcOpenMemHandle");
  if (what == "copies") return contains(function, "Memcpy");
  if (what == "launches") return contains(function, "LaunchKernel");
  return false;
}

unsigned long live_registrations() {
  const auto& all = driver().allocations;
  return static_cast<unsigned long>(
      std::count_if(all.begin(), all.end(), [](const auto& one) { return one.second.kind == Kind::registered; }));
}

// Without those that contexts have by themselves.
unsigned long live_streams() {
  const auto& all = driver().streams;
  return static_cast<unsigned long>(std::count_if(all.begin(), all.end(), [](const auto& one) {
    return !one->destroyed && !one->context->destroyed && one.get() != one->context->legacy;
  }));
}

unsigned long live_events() {
  const auto& all = driver().events;
  return static_cast<unsigned long>(
      std::count_if(all.begin(), all.end(), [](const auto& one) { return !one.second->context->destroyed; }));
}

}  // namespace

bool is_inside() { return inside > 0; }
Inside::Inside() { ++inside; }
Inside::~Inside() { --inside; }

void note(const Caller& caller) { ++calls().counts[{caller.function, object_of(caller.from)}]; }

unsigned long count(const std::string& what, const char* caller) {
  if (what == "operations") return driver().operations;
  if (what == "pending") return pending();
  if (what == "stale") return driver().stale;
  if (what == "registrations") return live_registrations();
  if (what == "streams") return live_streams();
  if (what == "events") return live_events();
  unsigned long sum = 0;
  for (const auto& [key, times] : calls().counts) {
    if (is_a(key.first, what) && (caller == nullptr || contains(key.second, caller))) sum += times;
  }
  return sum;
}

Driver& driver() {
  static Driver* const made = [] {
    auto* const driver = new Driver;  // stays, as above
    read_environment(driver->settings);
    // As with CUDA: who forks has no driver in the child.
    pthread_atfork([] { quadrille::standin::driver().mutex.lock(); },
                   [] { quadrille::standin::driver().mutex.unlock(); },
                   [] {
                     quadrille::standin::driver().forked = quadrille::standin::driver().initialized;
                     quadrille::standin::driver().mutex.unlock();
                   });
    return driver;
  }();
  return *made;
}

int& last_error() {
  thread_local int error = success;
  return error;
}

int returned(int error) {
  if (starts_by_itself && error != success && error != not_ready) last_error() = error;
  return error;
}

int begin(const Caller& caller, bool needs_init) {
  note(caller);
  if (driver().forked) return not_initialized;
  if (needs_init && !driver().initialized) {
    const int error = starts_by_itself ? initialize() : static_cast<int>(not_initialized);
    if (error != success) return error;
  }
  const int error = failure_of(driver().settings, caller.function);
  if (error != success) return error;
  if (driver().settings.mode == Mode::random) stir();
  return refuse_unsafe(caller.function);
}

}  // namespace quadrille::standin

using quadrille::standin::driver;

QUADRILLE_EXPORT unsigned long quadrille_standin_count(const char* what, const char* caller) {
  const std::lock_guard lock(driver().mutex);
  return quadrille::standin::count(what, caller);
}

QUADRILLE_EXPORT bool quadrille_standin_set(const char* name, const char* value) {
  const std::lock_guard lock(driver().mutex);
  return quadrille::standin::set(driver().settings, name, value);
}

QUADRILLE_EXPORT void quadrille_standin_kernel(const char* name, quadrille::standin::Twin twin) {
  const std::lock_guard lock(driver().mutex);
  quadrille::standin::set_twin(name, twin);
}

QUADRILLE_EXPORT void* quadrille_standin_host(quadrille::standin::Address address, std::size_t bytes) {
  // A twin runs with the lock held.
  std::unique_lock lock(driver().mutex, std::defer_lock);
  if (!quadrille::standin::is_inside()) lock.lock();
  return quadrille::standin::reach(address, bytes);
}
