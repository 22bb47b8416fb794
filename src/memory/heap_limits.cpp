#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "memory/heap_parts.hpp"
#include "sys/kernel_files.hpp"

namespace quadrille::memory {
namespace {

struct Reserved {
  std::uintptr_t begin, end;
  bool in_children;  // it stays mapped there
};

struct AllReserved {
  std::mutex mutex;
  std::size_t process = 0;  // the one that has mapped them
  std::vector<Reserved> list;
};
// Never destroyed: programs may set limits in their last lines. Made without memory: they may have none left.
AllReserved& reserved() {
  alignas(AllReserved) static std::byte room[sizeof(AllReserved)];
  static auto* all = new (room) AllReserved;
  return *all;
}

std::atomic<bool> locks_new_pages{false};

// Runs use(one) for all that is mapped in this process.
template <class Use>
void for_each_reserved(Use use) {
  AllReserved& all = reserved();
  const bool is_child = all.process != sys::process_number();
  std::unique_lock lock(all.mutex, std::defer_lock);
  if (!is_child) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;  // who held it during the fork is not here
  }
  for (const Reserved& one : all.list) {
    if (!is_child || one.in_children) use(one);
  }
}

bool is_reserved(const sys::Mapping& mapping, const std::vector<Reserved>& known) {
  return std::any_of(known.begin(), known.end(),
                     [&](const Reserved& one) { return one.begin <= mapping.begin && mapping.begin < one.end; });
}

// First without its pages, which tells whether it may be locked at all (rights, limits); then with them. Not all
// memory has pages, for example not what lies behind the end of a file: mlockall does not mind. Returns an error or 0.
int lock_one(const sys::Mapping& mapping) {
  auto* begin = reinterpret_cast<void*>(mapping.begin);
  const std::size_t bytes = mapping.end - mapping.begin;
  if (mlock2(begin, bytes, MLOCK_ONFAULT) != 0) {
    const int error = errno;
    // Not if it is no memory of this process, such as the kernel's own page at the end of the list.
    return msync(begin, bytes, MS_ASYNC) != 0 ? 0 : error;
  }
  mlock(begin, bytes);
  return 0;
}

}  // namespace

std::size_t heap_idle_addresses() {
  std::size_t idle = 0;
  const HeapState& state = heap_state();
  if (heap_active()) idle += state.segment.bytes - (arena_reach() - state.first);
  for_each_reserved([&](const Reserved& one) { idle += one.end - one.begin; });
  return idle;
}

void heap_take_no_more() { detail::heap_gate.from.store(SIZE_MAX, std::memory_order_relaxed); }

int heap_lock_current() {
  std::vector<Reserved> known;
  try {
    for_each_reserved([&](const Reserved& one) { known.push_back(one); });
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
  }
  int error = 0;
  {
    sys::Mappings mappings;  // is closed before errno is set
    for (sys::Mapping one; error == 0 && mappings.next(one);) {
      if (one.accessible && !is_reserved(one, known)) error = lock_one(one);
    }
    if (!mappings.good()) error = EAGAIN;
  }
  if (error == 0) return 0;
  errno = error;
  return -1;
}

void heap_lock_future(bool lock) { locks_new_pages.store(lock, std::memory_order_relaxed); }

void note_reserved(const void* base, std::size_t bytes, bool in_children) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  AllReserved& all = reserved();
  const std::lock_guard lock(all.mutex);
  all.process = sys::process_number();
  all.list.push_back({begin, begin + bytes, in_children});
}

void forget_reserved(const void* base) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  AllReserved& all = reserved();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.list, [&](const Reserved& one) { return one.begin == begin; });
}

bool open_heap_pages(std::byte* base, std::size_t bytes) {
  if (!sys::open_pages(base, bytes)) return false;
  return !locks_new_pages.load(std::memory_order_relaxed) || mlock(base, bytes) == 0;
}

}  // namespace quadrille::memory
