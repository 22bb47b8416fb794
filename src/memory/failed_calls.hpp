// Calls in which a rank could not read its own data: the others of its node, who take part in them, hear of it.
//
// Idea    A rank writes the call's number down before it takes part. Who has anything from that rank in the call finds
//         the number there at the end of the call, because the rank has written it before it sent anything. A rank that
//         waits for nothing from that rank may have left before, and finds nothing.
// Order   A rank may be calls ahead of another, so there are several words, by the number of the call; a failure that
//         lies so many calls back that its word was used again is lost.
// Left    A rank that leaves a call because a rank has failed sets a flag first, for all calls. A reader of its memory
//         looks at the flag afterwards: the program may have changed that memory.
// Cost    Two lines of a cache for a node, and one look for a call that may have such data.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sys/sys.hpp"

namespace quadrille::memory {

class FailedCalls {
 public:
  static constexpr std::size_t bytes = 2 * sys::cache_line;

  FailedCalls() = default;
  // `base` is zeroed shared memory of `bytes` bytes, at the beginning of a line.
  explicit FailedCalls(std::byte* base) : words_(reinterpret_cast<std::atomic<std::uint64_t>*>(base)) {}

  // `call`: the same on all ranks. 0: no rank can tell of it.
  void note(std::uint64_t call) {
    if (words_ != nullptr && call != 0) word_of(call).store(call, std::memory_order_release);
  }
  bool has(std::uint64_t call) const {
    return words_ != nullptr && call != 0 && word_of(call).load(std::memory_order_acquire) == call;
  }

  // `why` is not 0.
  void note_left(int why) {
    if (words_ == nullptr) return;
    flag().store(static_cast<std::uint64_t>(why), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // before what the program writes next
  }
  int left() const {
    if (words_ == nullptr) return 0;
    std::atomic_thread_fence(std::memory_order_acquire);  // after all that was copied
    return static_cast<int>(flag().load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::uint64_t>& flag() const { return words_[words]; }
  // Starts of one request differ in their upper bits.
  std::atomic<std::uint64_t>& word_of(std::uint64_t call) const { return words_[(call + (call >> 32)) % words]; }
  static constexpr std::size_t words = sys::cache_line / sizeof(std::uint64_t);
  std::atomic<std::uint64_t>* words_ = nullptr;
};

}  // namespace quadrille::memory
