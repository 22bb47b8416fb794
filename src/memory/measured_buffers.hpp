// A send and a receive buffer for measurements, in this rank's heap or in private memory.
#pragma once

#include <cstddef>

#include "memory/heap.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

class MeasuredBuffers {
 public:
  MeasuredBuffers(std::size_t bytes, bool shared) : bytes_(bytes), shared_(shared) {
    for (std::byte*& base : base_) {
      base = shared ? static_cast<std::byte*>(heap_allocate(bytes, sys::page_size())) : sys::map_private(bytes);
    }
  }
  ~MeasuredBuffers() {
    for (std::byte* base : base_) {
      if (base != nullptr && !heap_free(base)) sys::unmap_raw(base, bytes_);
    }
  }
  MeasuredBuffers& operator=(MeasuredBuffers&&) = delete;

  // False if there was no memory.
  bool good() const { return base_[0] != nullptr && base_[1] != nullptr; }
  std::byte* recv() const { return base_[1]; }
  // The send buffer, of which so many bytes are written anew: a receiver that reads them in place takes the lines from
  // the owner's cache, and the owner pays for that when it writes them again. In the heap every other time: programs
  // write some of what they send, benchmarks nothing, and what is not written stays in the receiver's cache.
  std::byte* send(std::size_t bytes) {
    anew_ = !shared_ || !anew_;
    for (std::size_t at = anew_ ? 0 : bytes; at < bytes; at += sys::cache_line) {
      base_[0][at] = static_cast<std::byte>(std::to_integer<unsigned>(base_[0][at]) + 1);
    }
    return base_[0];
  }
  bool is_private() const { return !shared_; }
  // As a program reads what it has received.
  void read(std::size_t bytes) {
    unsigned sum = 0;
    for (std::size_t at = 0; at < bytes; at += sys::cache_line) sum += std::to_integer<unsigned>(base_[1][at]);
    seen_ = sum;
  }

 private:
  std::size_t bytes_;
  bool shared_, anew_ = false;
  std::byte* base_[2] = {};
  volatile unsigned seen_ = 0;  // so that reading is not left out
};

}  // namespace quadrille::memory
