// What heap.cpp, heap_fork.cpp and heap_mapped.cpp share.
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

// Ranges of the heap whose mapping the program has changed, as offsets. Their number is fixed, because they are noted
// inside mmap() and read inside fork(). Ranges that meet are one note. When no note is free, the two nearest become
// one, with the heap memory in between, which is no longer shared then.
//
// Readers take no lock: in the child of a fork, its holder may be missing. They read the notes in order, while another
// thread changes them. So addresses move to a later note only, and are noted there before they leave their note.
class ForeignRanges {
 public:
  struct Range {
    std::size_t begin = 0, end = 0;
  };

  bool any() const { return count_ > 0; }
  bool touch(std::size_t begin, std::size_t end) const;
  // By one thread at a time.
  void add(Range range);
  void remove(Range range);

 private:
  static constexpr std::size_t most = 256;
  struct Note {
    std::atomic<std::size_t> begin{SIZE_MAX}, end{0};  // free if `end` is 0
  };

  std::size_t free_note(std::size_t from) const;
  std::size_t distance(std::size_t note, const Range& range) const;
  void write(std::size_t note, const Range& range);
  void clear(std::size_t note);
  void join(std::size_t from, std::size_t to);
  void join_nearest();
  std::size_t last_met(const Range& range) const;

  Note notes_[most] = {};
  std::atomic<std::size_t> count_{0};  // the notes behind are free
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

// The next mapping that is the heap's still, as offsets; false behind the last one.
bool next_own_mapping(sys::Mappings& mappings, ForeignRanges::Range& own);

}  // namespace quadrille::memory::detail
