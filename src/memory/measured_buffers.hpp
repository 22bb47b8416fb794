// A send and a receive buffer for measurements, in this rank's heap or in private memory.
#pragma once

#include <cstddef>

#include "memory/heap.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

class MeasuredBuffers {
 public:
  MeasuredBuffers(std::size_t bytes, bool shared) : bytes_(bytes) {
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
  // The send buffer, of which every other time so many bytes are written anew. Programs write some of what they send,
  // and benchmarks nothing; what is not written is still in the cache of a receiver that reads it in place.
  std::byte* send(std::size_t bytes) {
    anew_ = !anew_;
    for (std::size_t at = anew_ ? 0 : bytes; at < bytes; at += sys::cache_line) {
      base_[0][at] = static_cast<std::byte>(static_cast<int>(base_[0][at]) + 1);
    }
    return base_[0];
  }

 private:
  std::size_t bytes_;
  bool anew_ = false;
  std::byte* base_[2] = {};
};

}  // namespace quadrille::memory
