// What the engines need of a communicator: a view on team/, which owns all of it.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/inbox.hpp"
#include "mpi/mpi.hpp"
#include "sys/wait.hpp"

namespace quadrille::run {

// Memory that is kept between calls, up to a bound.
class Pool {
 public:
  // At least `bytes` bytes with undefined content; valid until the next take() or trim(). Throws
  // std::bad_alloc.
  std::byte* take(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      size_ = bytes;
    }
    return memory_.get();
  }
  // Gives large memory back.
  void trim() {
    if (size_ <= most_kept) return;
    memory_.reset();
    size_ = 0;
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{4} << 20;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

struct Group {
  MPI_Comm comm{};  // private
  int me = 0;
  int ranks = 0;
  memory::Inbox inbox;
  std::size_t inbox_limit = 0;  // largest block that goes through a slot
  sys::Waiter waiter;
  Pool scratch, packed_send, packed_recv;
};

}  // namespace quadrille::run
