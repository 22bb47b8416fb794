// Memory that is kept between calls, up to a bound. Large pieces come from the shared heap if it is active,
// so that peers can read packed blocks where they are.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "memory/heap.hpp"
#include "memory/reach.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

class Pool {
 public:
  Pool& operator=(Pool&&) = delete;
  ~Pool() { release(); }

  // At least `bytes` bytes with undefined content; valid until the next take() or trim(). Throws
  // std::bad_alloc.
  std::byte* take(std::size_t bytes) {
    if (bytes > size_) {
      release();
      memory_ = static_cast<std::byte*>(heap_allocate(bytes, sys::cache_line));
      if (memory_ == nullptr) memory_ = static_cast<std::byte*>(operator new(bytes));
      size_ = bytes;
    }
    return memory_;
  }
  // Bytes that it holds now.
  std::size_t size() const { return size_; }
  // Gives large memory back.
  void trim() {
    if (size_ > most_kept) release();
  }

  // Bytes that trim() leaves.
  static constexpr std::size_t most_kept = std::size_t{4} << 20;

 private:
  void release() {
    if (memory_ != nullptr && !heap_free(memory_)) {
      note_unmapped(memory_, size_);  // libc may unmap it, and nobody sees that
      operator delete(memory_);
    }
    memory_ = nullptr;
    size_ = 0;
  }
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

// In which a call packs what it sends, what it receives, and what it sends to itself. Not shared by calls in flight
// together.
struct Packing {
  Pool send, recv, own;
};

}  // namespace quadrille::memory
