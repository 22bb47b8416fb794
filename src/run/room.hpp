// Memory for packed blocks of a call, one behind the other.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "memory/pool.hpp"
#include "mpi/thrown.hpp"

namespace quadrille::run {

class Room {
 public:
  // `trims`: gives large memory back at its end.
  explicit Room(memory::Pool& pool, bool trims = true) : pool_(pool), trims_(trims) {}
  ~Room() {
    if (trims_) pool_.trim();
  }
  Room& operator=(Room&&) = delete;
  // Once: makes it so large. False if there is no memory.
  bool reserve(std::size_t bytes) {
    if (bytes > 0 && thrown_by([&] { next_ = pool_.take(bytes); }) != mpi_success) return false;
    size_ = bytes;
    return true;
  }
  std::size_t size() const { return size_; }
  // Nothing is taken of it.
  void begin_again() {
    next_ -= taken_;
    taken_ = 0;
  }
  // More than was reserved ends the program: what follows would be written over memory of the program.
  std::byte* take(std::size_t bytes) {
    if (bytes > size_ - taken_) overdrawn(bytes);
    std::byte* room = next_;
    next_ += bytes;
    taken_ += bytes;
    return room;
  }

 private:
  [[noreturn]] void overdrawn(std::size_t bytes) const {
    std::fprintf(stderr,
                 "quadrille: internal error: room for %zu bytes was reserved, %zu are taken, and %zu more are asked "
                 "for; please report this\n",
                 size_, taken_, bytes);
    std::abort();
  }

  memory::Pool& pool_;
  const bool trims_;
  std::size_t size_ = 0, taken_ = 0;
  std::byte* next_ = nullptr;
};

}  // namespace quadrille::run
