// What the sources of the heap share.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "memory/heap.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

// ---- The allocator on the heap's segment: one arena of jemalloc whose memory comes from there (heap_arena.cpp) ----
//
// jemalloc's own records lie outside the segment, so that a stray write of a peer can damage data at worst, never the
// allocator.

// Makes the arena. At most once in a process. Returns none, or why there is no arena.
Reason arena_start();

// Where the memory ends that was ever handed to the arena, from the start of the segment.
std::size_t arena_reach();

// `alignment` is a power of two. Null if the range is full.
void* arena_allocate(std::size_t bytes, std::size_t alignment, bool zero);
void arena_free(void* address);
// Keeps the content; null if the range is full, then `address` stays as it is.
void* arena_resize(void* address, std::size_t bytes);
// Changes the size in place, as far as that goes.
void arena_resize_in_place(void* address, std::size_t bytes);
// Bytes that the program may use at `address`.
std::size_t arena_usable(const void* address);

// Gives back pages that have been free for a second.
void arena_decay();
// Gives back all free pages now.
void arena_trim();

// ---- The state of the heap ----

// An allocation that succeeds, or falls back to libc, leaves errno alone, and so does what is done around fork().
struct KeepErrno {
  int value = errno;
  ~KeepErrno() { errno = value; }
};

// A range of offsets in the heap.
struct HeapRange {
  std::size_t begin = 0, end = 0;
};

// Pages of the heap whose mapping the program has changed. A bit for each page needs no memory later: pages are noted
// inside mmap() and read inside fork(). Readers take no lock: in the child of a fork, its holder may be missing.
class ForeignPages {
 public:
  // For a heap of so many bytes. False if there is no memory.
  bool make(std::size_t bytes);
  bool any() const { return count_ > 0; }
  bool touch(const HeapRange& range) const;
  // Sets or clears the bits of whole pages. One thread at a time calls this.
  void note(const HeapRange& range, bool foreign);

 private:
  std::atomic<std::uint64_t>* words_ = nullptr;
  std::atomic<std::size_t> count_{0};  // of the bits that are set
};

struct HeapState {
  enum Stage : int { idle, starting, active, failed, forked };
  std::atomic<int> stage{idle};
  HeapSegment segment;
  std::size_t first = 0;  // where its memory begins; what lies before is never opened
  sys::FileIdentity identity;
  ForeignPages foreign;
  std::atomic<Reason> why_not{Reason::none};  // why it failed
};

HeapState& heap_state();

// Makes pages of the heap usable, and locks them if the program wants that. False: no memory.
bool open_heap_pages(std::byte* base, std::size_t bytes);
// Gives pages back, to read as zeros. False: they stay as they are.
bool drop_heap_pages(std::byte* base, std::size_t bytes);

}  // namespace quadrille::memory
