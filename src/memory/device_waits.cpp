#include "memory/device_waits.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "memory/device_driver.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

std::atomic<int> calls_in_streams = 0;
thread_local int guards = 0;

struct AllLate {
  std::mutex mutex;
  std::vector<HeldMemory> list;
  std::atomic<bool> any = false;
};
AllLate& all_late() { return sys::immortal<AllLate>(); }

// What went with its context is gone.
void free_now(const HeldMemory& one) {
  if (one.held == Held::ordinary) return operator delete (one.memory, std::align_val_t{sys::cache_line});
  if (!one.is_alive()) return;
  const AtDevice at(one.place);
  const auto address = reinterpret_cast<std::uintptr_t>(one.memory);
  if (one.held == Held::pinned) {
    free_pinned(one.memory);
  } else if (one.held == Held::opened) {
    driver().close_memory(address);
  } else {
    driver().free(address);
  }
}

}  // namespace

void note_call_in_stream() { calls_in_streams.fetch_add(1, std::memory_order_acq_rel); }
void note_call_over() { calls_in_streams.fetch_sub(1, std::memory_order_acq_rel); }
bool any_call_in_stream() { return calls_in_streams.load(std::memory_order_acquire) != 0; }

MustNotWait::MustNotWait() { ++guards; }
MustNotWait::~MustNotWait() { --guards; }
bool must_not_wait() { return guards != 0; }
bool may_wait_for_devices() { return !must_not_wait() && !any_call_in_stream(); }

void give_back(const HeldMemory& memory) {
  if (memory.held == Held::ordinary || may_wait_for_devices()) return free_now(memory);
  AllLate& all = all_late();
  const std::lock_guard lock(all.mutex);
  try {
    all.list.push_back(memory);
    all.any.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // it goes with the process
  }
}

void give_back_late() {
  if (all_late().any.load(std::memory_order_acquire) && may_wait_for_devices()) give_back_all();
}

void give_back_all() {
  AllLate& all = all_late();
  std::vector<HeldMemory> list;
  {
    const std::lock_guard lock(all.mutex);
    list.swap(all.list);
    all.any.store(false, std::memory_order_release);
  }
  for (const HeldMemory& one : list) free_now(one);
}

}  // namespace quadrille::memory
