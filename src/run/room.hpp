// Memory for packed blocks of a call, one behind the other.
#pragma once

#include <cstddef>
#include <new>

#include "memory/pool.hpp"

namespace quadrille::run {

class Room {
 public:
  explicit Room(memory::Pool& pool) : pool_(pool) {}
  // `bytes` in all. Throws std::bad_alloc.
  Room(memory::Pool& pool, std::size_t bytes) : Room(pool) {
    if (!reserve(bytes)) throw std::bad_alloc();
  }
  ~Room() { pool_.trim(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  // Once: makes it so large. False if there is no memory.
  bool reserve(std::size_t bytes) {
    try {
      if (bytes > 0) next_ = pool_.take(bytes);
    } catch (const std::bad_alloc&) {
      return false;
    }
    size_ = bytes;
    return true;
  }
  std::size_t size() const { return size_; }
  std::byte* take(std::size_t bytes) {
    std::byte* room = next_;
    next_ += bytes;
    return room;
  }

 private:
  memory::Pool& pool_;
  std::size_t size_ = 0;
  std::byte* next_ = nullptr;
};

}  // namespace quadrille::run
