#include "memory/heap_limits.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#include "memory/heap_arena.hpp"
#include "memory/heap_parts.hpp"
#include "sys/mappings.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

struct Peer {
  std::uintptr_t begin, end;
};

struct Peers {
  std::mutex mutex;
  std::vector<Peer> list;
};
// Never destroyed: programs may set limits in their last lines. Made without memory: they may have none left.
Peers& peers() {
  alignas(Peers) static std::byte room[sizeof(Peers)];
  static auto* all = new (room) Peers;
  return *all;
}

std::atomic<bool> locks_new_pages{false};

bool is_of_peer(const sys::Mapping& mapping, const std::vector<Peer>& known) {
  return std::any_of(known.begin(), known.end(),
                     [&](const Peer& p) { return p.begin <= mapping.begin && mapping.begin < p.end; });
}

struct Locking {
  const std::vector<Peer>& peers;
  int error = 0;
};

// First without its pages, which tells whether it may be locked at all (rights, limits); then with them. Not all
// memory has pages, for example not what lies behind the end of a file: mlockall does not mind.
bool lock_one(void* context, const sys::Mapping& mapping) {
  auto& locking = *static_cast<Locking*>(context);
  if (!mapping.accessible || is_of_peer(mapping, locking.peers)) return true;
  auto* begin = reinterpret_cast<void*>(mapping.begin);
  const std::size_t bytes = mapping.end - mapping.begin;
  if (mlock2(begin, bytes, MLOCK_ONFAULT) != 0) {
    locking.error = errno;
    // Not if it is no memory of this process, such as the kernel's own page at the end of the list.
    if (msync(begin, bytes, MS_ASYNC) != 0) locking.error = 0;
    return locking.error == 0;
  }
  mlock(begin, bytes);
  return true;
}

}  // namespace

std::size_t heap_idle_addresses() {
  std::size_t idle = 0;
  const detail::HeapState& state = detail::heap_state();
  if (heap_active()) idle += state.segment.bytes - (arena_reach() - state.first);
  const std::lock_guard lock(peers().mutex);
  for (const Peer& p : peers().list) idle += p.end - p.begin;
  return idle;
}

void heap_take_no_more() { detail::heap_gate.from.store(SIZE_MAX, std::memory_order_relaxed); }

Limit raised_limit(Limit asked, std::uint64_t idle, std::uint64_t hard_now) {
  const auto raised = [&](std::uint64_t limit) { return limit > no_limit - idle ? no_limit : limit + idle; };
  Limit limit{raised(asked.soft), raised(asked.hard)};
  // Who asks for more than he may have is to be refused as he would be.
  if (asked.hard <= hard_now) limit.hard = std::min(limit.hard, hard_now);
  if (asked.soft <= asked.hard) limit.soft = std::min(limit.soft, limit.hard);
  return limit;
}

int heap_lock_current() {
  std::vector<Peer> known;
  try {
    const std::lock_guard lock(peers().mutex);
    known = peers().list;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
  }
  Locking locking{known};
  if (!sys::for_each_mapping(lock_one, &locking)) locking.error = EAGAIN;
  if (locking.error == 0) return 0;
  errno = locking.error;
  return -1;
}

void heap_lock_future(bool lock) { locks_new_pages.store(lock, std::memory_order_relaxed); }

namespace detail {

void note_peer(const void* base, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const std::lock_guard lock(peers().mutex);
  peers().list.push_back({begin, begin + bytes});
}

void forget_peer(const void* base) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const std::lock_guard lock(peers().mutex);
  std::erase_if(peers().list, [&](const Peer& p) { return p.begin == begin; });
}

bool open_heap_pages(std::byte* base, std::size_t bytes) {
  if (!sys::open_pages(base, bytes)) return false;
  return !locks_new_pages.load(std::memory_order_relaxed) || mlock(base, bytes) == 0;
}

}  // namespace detail
}  // namespace quadrille::memory
