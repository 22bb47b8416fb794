// fork() and the heap: the child gets a private copy, the parent's heap stays shared.
//
// Idea: a shared mapping would stay shared with the child, so the child would write into the parent's
// buffers. Before the fork the parent copies what its heap holds into private memory at another place.
// The fork duplicates that as it does all private memory, and the child moves it to the heap's
// addresses, in place of the shared mapping. Nobody waits for anybody, and a child that dies harms
// nothing.
// Cost: a copy of the pages in use, in the parent; private memory of the same size in the child.
//
// Order matters. Handlers run last-registered first before a fork and first-registered first after it.
// We register first. So our copy is made when everybody else holds his locks, jemalloc included, and
// the child's heap is private before anybody else's handler runs there.
//
// A thread that writes to the heap while another forks, without a lock that a handler takes, may be
// seen by the child as it was at the beginning of the fork.
//
// A coroutine's stack may lie in the heap. Then the fork is made on another one, as the child runs before the heap is
// private to it. A thread whose own data lie there, with a stack that the program gave it, cannot fork: the kernel and
// libc write into these data.
//
// Where the copy would take more memory than is left, a fork() fails, as it may in any system. One that does not come
// through our door, as that of daemon(), has a child that ends.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "memory/heap_parts.hpp"
#include "sys/kernel_files.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

// The copy of the fork in progress. There is one at a time.
struct Snapshot {
  std::byte* copy = nullptr;
  std::size_t bytes = 0;
};
Snapshot snapshot;
constinit sys::SpinLock under_way;

// The program closed our descriptor: the pages are read where they are mapped.
std::byte* copy_mapped(std::size_t bytes) {
  std::byte* const copy = sys::map_private(bytes);
  const auto copy_part = [](void* to, std::byte* begin, std::size_t size, bool is_heap) {
    if (is_heap) std::memcpy(static_cast<std::byte*>(to) + heap_offset(begin), begin, size);
  };
  const HeapState& state = heap_state();
  if (copy == nullptr || heap_for_each_part(state.segment.base + state.first, bytes - state.first, copy_part, copy)) {
    return copy;
  }
  sys::unmap_raw(copy, bytes);
  return nullptr;
}

// So little memory is there, or the system says so itself.
constexpr std::size_t small_copy = std::size_t{64} << 20;

// Is there memory for the copy? A process that takes more than there is would be ended.
bool has_room() {
  const HeapState& state = heap_state();
  const KeepErrno keep;
  if (!heap_active()) return true;
  if (const std::size_t reach = arena_reach(); reach > 0) {
    std::byte* const place = sys::map_private(reach);
    if (place == nullptr) return false;
    sys::unmap_raw(place, reach);
  }
  if (!sys::still_is(state.segment.descriptor, state.identity)) return true;
  const std::size_t needed = sys::held_bytes(state.segment.descriptor);
  return needed < small_copy || needed <= sys::memory_left();
}

void take_snapshot() {
  const HeapState& state = heap_state();
  snapshot = {};
  if (!heap_active()) return;
  snapshot.bytes = arena_reach();
  if (snapshot.bytes == 0) return;
  const KeepErrno keep;
  snapshot.copy = !has_room() ? nullptr
                  : sys::still_is(state.segment.descriptor, state.identity)
                      ? sys::copy_segment(state.segment.descriptor, snapshot.bytes)
                      : copy_mapped(snapshot.bytes);
}

void drop_snapshot() {
  if (snapshot.copy != nullptr) sys::unmap_raw(snapshot.copy, snapshot.bytes);
  snapshot = {};
}

// A child without its copy must not go on: it would write into its parent's memory.
[[noreturn]] void give_up() {
  static constexpr char line[] =
      "quadrille: a child process got no memory for its copy of the shared heap and ends; "
      "QUADRILLE_HEAP=off avoids the copy\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, sizeof line - 1);
  _exit(127);
}

// Replaces memory that the kernel says is the heap's by its copy. Notes do not suffice: a watcher may report dropped
// pages as unmapped, and a child that took these pages for the program's would share them with its parent. The child
// takes no more memory, so all behind the copy is unmapped and counts under no limit.
void make_private(void* all_moved, std::byte* begin, std::size_t bytes, bool is_heap) {
  if (!is_heap) return;
  const std::size_t at = heap_offset(begin), copied = std::min(bytes, snapshot.bytes - std::min(snapshot.bytes, at));
  if (copied > 0 && !sys::move_pages(snapshot.copy + at, copied, begin)) *static_cast<bool*>(all_moved) = false;
  if (copied < bytes) sys::unmap_raw(begin + copied, bytes - copied);
}

void become_private() {
  const HeapSegment& segment = heap_state().segment;
  if (snapshot.bytes != 0 && snapshot.copy == nullptr) give_up();
  bool moved = true;
  if (!heap_for_each_part(segment.base, segment.bytes, make_private, &moved) || !moved) give_up();
  detail::heap_gate.bytes.store(snapshot.bytes, std::memory_order_release);
  // What the program mapped over leaves its part of the copy behind: nothing refers to it.
  if (sys::still_is(segment.descriptor, heap_state().identity)) sys::close_descriptor(segment.descriptor);
}

void in_child() {
  HeapState& state = heap_state();
  const int stage = state.stage.load(std::memory_order_acquire);
  const KeepErrno keep;
  if (stage == HeapState::active) {
    // The heap of a thread that started it during the fork holds nothing that the child may use.
    become_private();
    detail::heap_gate.from.store(SIZE_MAX, std::memory_order_relaxed);
    state.stage.store(HeapState::forked, std::memory_order_release);
  } else if (stage == HeapState::starting) {
    state.stage.store(HeapState::forked, std::memory_order_release);
  }
  snapshot = {};
}

// ---- Handlers of fork() ----

void before_fork() {
  under_way.lock();
  take_snapshot();
}

void after_fork_in_parent() {
  drop_snapshot();
  under_way.unlock();
}

void after_fork_in_child() {
  in_child();
  under_way.unlock();
}

}  // namespace

bool heap_watch_forks() {
  enum : int { not_yet, failed, watched };
  static std::atomic<int> state{not_yet};
  int now = not_yet;
  if (state.compare_exchange_strong(now, watched)) {
    now = watched;
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) state = now = failed;
  }
  return now == watched;
}

namespace {

pid_t fail(int error) {
  errno = error;
  return -1;
}

pid_t fork_where_it_may_be(pid_t (*fork)()) {
  if (!heap_active()) return fork();
  if (heap_owns(reinterpret_cast<void*>(pthread_self()))) return fail(ENOMEM);
  return heap_owns(__builtin_frame_address(0)) ? sys::fork_on_own_stack(fork) : fork();
}

}  // namespace

pid_t heap_fork(pid_t (*fork)()) {
  static std::atomic<pid_t (*)()> system{nullptr};
  system.store(fork, std::memory_order_relaxed);
  return fork_where_it_may_be([] { return has_room() ? system.load(std::memory_order_relaxed)() : fail(ENOMEM); });
}

// Forking without handlers, from a signal handler at that: nothing may be waited for.
pid_t heap_fork_without_handlers(pid_t (*fork_only)()) {
  static std::atomic<pid_t (*)()> system{nullptr};
  system.store(fork_only, std::memory_order_relaxed);
  return fork_where_it_may_be([] {
    if (!has_room()) return fail(ENOMEM);
    if (!under_way.try_lock()) return fail(EAGAIN);
    take_snapshot();
    const pid_t child = system.load(std::memory_order_relaxed)();
    const KeepErrno keep;
    child == 0 ? in_child() : drop_snapshot();
    under_way.unlock();
    return child;
  });
}

}  // namespace quadrille::memory
