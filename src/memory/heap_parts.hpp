// What heap.cpp and heap_fork.cpp share.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "memory/heap.hpp"
#include "sys/mappings.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory::detail {

// An allocation that succeeds, or falls back to libc, leaves errno alone, and so does what is done around fork().
struct KeepErrno {
  int value = errno;
  ~KeepErrno() { errno = value; }
};

// Ranges of the heap whose mapping the program has changed, as offsets. Fixed, because they are noted
// inside mmap() and read inside fork().
struct ForeignRanges {
  static constexpr std::size_t most = 256;
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  Range ranges[most] = {};
  std::atomic<std::size_t> count{0};
  std::atomic<bool> too_many{false};  // then nothing can be shared any more, nor is anything taken from the heap

  bool touch(std::size_t begin, std::size_t end) const;
};

struct HeapState {
  enum Stage : int { idle, starting, active, failed, forked };
  std::atomic<int> stage{idle};
  HeapSegment segment;
  std::size_t first = 0;  // where its memory begins; what lies before is never opened
  sys::FileIdentity identity;
  ForeignRanges foreign;
  std::atomic<Reason> why_not{Reason::none};  // why it failed
};

HeapState& heap_state();

// Has the program been seen to change mappings of the heap?
bool anything_noted();
// The next mapping that is the heap's still, as offsets; false behind the last one.
bool next_own_mapping(sys::Mappings& mappings, ForeignRanges::Range& own);

}  // namespace quadrille::memory::detail
