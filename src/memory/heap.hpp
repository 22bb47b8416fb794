// The shared heap: memory of this process that the other ranks of its node can map.
//
// Idea: large allocations of a program come from one segment (a memfd) instead of private memory. A
// peer maps the same segment once and then reads and writes buffers of this rank by load and store.
// Source: Zhang et al., "Cache-oblivious MPI all-to-all communications based on Morton order"
// (section 3.1, shared heap); the allocator is jemalloc.
// Cost: a comparison for each free; no copy. fork() copies what the heap holds (heap_fork.cpp).
//
//   QUADRILLE_HEAP=on        (default) starts with heap_start(), which the library calls after MPI_Init
//   QUADRILLE_HEAP=early     starts with the first large allocation
//   QUADRILLE_HEAP=off       never
//   QUADRILLE_HEAP_FROM      smallest allocation that comes from the heap, as 16384 or 16K bytes (16K)
//   QUADRILLE_HEAP_PAGES     huge: advise huge pages for large blocks; small: none (huge where the system has them)
//   QUADRILLE_HEAP_BYTES     size of the segment, as 1048576, 64M or 1G bytes (64G, at most the physical memory)
//
// All functions may be called from any thread, and before MPI_Init.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "text/reason.hpp"

namespace quadrille::memory {

// Allocations of at least so many bytes come from the heap. Smaller ones are copied through inboxes
// anyway, and libc is faster for them.
inline constexpr std::size_t heap_from_default = 16384;
inline constexpr std::size_t heap_most_bytes = std::size_t{64} << 30;
// A segment that somebody asks for has room for a few blocks, and on any machine for a page.
inline constexpr std::size_t heap_least_bytes = std::size_t{64} << 10;

struct HeapSettings {
  enum class Mode { off, on, early } mode = Mode::on;
  std::size_t from = heap_from_default;
  std::size_t bytes = 0;  // 0: what suits the machine
  enum class Pages { automatic, huge, small } pages = Pages::automatic;
};
// Reads the variables above; `get` returns a variable's value or "". A malformed value is ignored here: the first
// malloc is too early for a message. The table of settings (team/config.cpp) reports it.
HeapSettings read_heap_settings(std::string (*get)(const char*));
// Read one value. Return an empty string, or what is wrong.
std::string read_heap_mode(const std::string& text, HeapSettings& settings);
std::string read_heap_from(const std::string& text, HeapSettings& settings);
std::string read_heap_bytes(const std::string& text, HeapSettings& settings);
std::string read_heap_pages(const std::string& text, HeapSettings& settings);

struct HeapSegment {
  int descriptor = -1;  // -1: no segment that others could map
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

// Starts the heap if it may be and is not started. True if it is active then. Never fails the
// program: without a heap all allocations stay with libc.
bool heap_start();

// Whether this process allocates from the heap. False in the child of a fork.
bool heap_active();
// Why the heap is not active; none if it is.
Why heap_why_not();

HeapSegment heap_segment();
// Whether [address, address + bytes) lies in the active heap.
bool heap_contains(const void* address, std::size_t bytes);
// As heap_contains(), and what lies there is the segment: the program has not mapped something else
// over it, or unmapped it, as far as that is seen (MappingWatch below).
bool heap_shareable(const void* address, std::size_t bytes);
// Where the segment begins; null if the heap is not active. Costs nothing, unlike heap_segment(), which asks whether
// the descriptor is still that of the heap.
std::byte* heap_base();
// Offset in the segment of an address that the heap contains.
std::size_t heap_offset(const void* address);

// Memory of the heap, of zeros if `zero`; `alignment` is a power of two. Starts the heap if it is to start early. Null
// if the heap is not active or is full, with errno as it was.
void* heap_allocate(std::size_t bytes, std::size_t alignment, bool zero = false);
// Frees memory of the heap. False if it is not of the heap; then nothing is done.
bool heap_free(void* address);

// Maps the segment of another process; null on failure. It is not inherited by fork. Unmap it with
// heap_unmap_peer().
std::byte* heap_map_peer(int descriptor, std::size_t bytes);
void heap_unmap_peer(std::byte* base, std::size_t bytes);

// ---- Whether what the program does to its mappings is seen: else a peer could read what was there before. ----

enum class MappingWatch {
  none,         // nobody watches; then only memory that Quadrille gave is shared
  ours,         // calls of mmap and the others come by us
  through_ucx,  // UCX overwrote our functions, and tells us what it sees
  lost,         // somebody overwrote them, and tells nothing
};

// The preload library says how to find out. `at_start`: MPI_Init has just returned, and the program had no chance to
// change anything since; then a watch that somebody pushed aside may be set up in another way.
using FindMappingWatch = MappingWatch (*)(bool at_start);
void set_mapping_watch(FindMappingWatch find);

// Cheap.
MappingWatch mapping_watch(bool at_start = false);
bool mappings_are_watched();

// ---- For the interposed allocation functions (api/allocate.cpp). ----

namespace detail {
// Read by every malloc and free, so apart from everything that changes.
struct alignas(64) HeapGate {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::size_t> bytes{0};        // 0 until the heap is started; set after `base`
  std::atomic<std::size_t> from{SIZE_MAX};  // allocations from here on may come from the heap
};
extern HeapGate heap_gate;
}  // namespace detail

// Whether memory at `address` came from the heap. Also true in the child of a fork.
inline bool heap_owns(const void* address) {
  const std::size_t bytes = detail::heap_gate.bytes.load(std::memory_order_acquire);
  return reinterpret_cast<std::uintptr_t>(address) - detail::heap_gate.base.load(std::memory_order_relaxed) < bytes;
}

// Whether an allocation of `bytes` is to be tried in the heap first.
inline bool heap_wants(std::size_t bytes) { return bytes >= detail::heap_gate.from.load(std::memory_order_relaxed); }

// Lets the first large allocation start the heap if QUADRILLE_HEAP=early.
void heap_prepare_early();
// For memory that the heap owns. Null: take other memory, copy, and free.
void* heap_resize(void* address, std::size_t bytes);
std::size_t heap_usable(const void* address);

// Calls `use` for the parts of a range, in order: heap memory, and what is none of it, because it lies elsewhere or the
// program has put something else there. Takes no memory. False if the kernel does not say what lies there: then `use`
// was not called for all.
using UsePart = void (*)(void* context, std::byte* begin, std::size_t bytes, bool is_heap);
bool heap_for_each_part(std::byte* address, std::size_t bytes, UsePart use, void* context);
// Gives the pages of heap memory back, whatever may be done with them. False if that cannot be.
bool heap_drop(std::byte* address, std::size_t bytes);

// The program is about to change the mapping of these addresses.
void heap_note_mapping(const void* address, std::size_t bytes);
// It did not: what lies at these addresses is the heap's memory.
void heap_take_back_note(const void* address, std::size_t bytes);
// Whether [address, address + bytes) touches the heap's range.
inline bool heap_touches(const void* address, std::size_t bytes) {
  const std::size_t size = detail::heap_gate.bytes.load(std::memory_order_acquire);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t base = detail::heap_gate.base.load(std::memory_order_relaxed);
  return size != 0 && begin < base + size && (bytes > base - begin || begin >= base);
}

// Registers what is to be done around fork(). Calling it before anybody else registers makes the heap
// private in the child before the program's own handlers run there.
// False if the system has no memory for that.
bool heap_watch_forks();
// Runs `fork`, the system's with handlers. Returns its result, or -1 with errno ENOMEM if there is no memory for a copy
// of the heap, or if the calling thread's own data lie in the heap.
pid_t heap_fork(pid_t (*fork)());
// Runs `fork_only`, a fork that runs no handlers, and does the same around it. Returns its result, or -1, as
// heap_fork() and with errno EAGAIN while another fork is in progress.
pid_t heap_fork_without_handlers(pid_t (*fork_only)());

// ---- Limits that a program sets while it runs: on its address space, and on what may be swapped out. ----
//
// Addresses are reserved that nothing lies in: for the heap, the heaps of other ranks, and the control memory of many
// communicators. A program knows nothing of them, so neither a limit on its addresses nor locking all its memory may
// count them. For the functions that the preload library interposes (api/map_watch.cpp).

// Bytes of addresses that are reserved in this process, for others or for later.
std::size_t heap_idle_addresses();
// `bytes` from `base` on are mapped, and are not the program's. `in_children`: a child has them, too.
void note_reserved(const void* base, std::size_t bytes, bool in_children);
void forget_reserved(const void* base);
// New memory comes from libc from now on, where it counts. What is in the heap stays.
void heap_take_no_more();

// Locks and populates the memory that the program knows of, without what is reserved. Returns 0 or -1 with errno.
int heap_lock_current();
// Memory that the heap opens from now on is locked, or not.
void heap_lock_future(bool lock);

}  // namespace quadrille::memory
