// Memory for packed blocks of a call, one behind the other.
#pragma once

#include "memory/pool.hpp"

namespace quadrille::run {

class Room {
 public:
  // `bytes` in all. Throws std::bad_alloc.
  Room(memory::Pool& pool, std::size_t bytes)
      : pool_(pool), size_(bytes), next_(bytes > 0 ? pool.take(bytes) : nullptr) {}
  ~Room() { pool_.trim(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  std::size_t size() const { return size_; }
  std::byte* take(std::size_t bytes) {
    std::byte* room = next_;
    next_ += bytes;
    return room;
  }

 private:
  memory::Pool& pool_;
  std::size_t size_;
  std::byte* next_;
};

}  // namespace quadrille::run
