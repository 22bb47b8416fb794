// What the engines need of a communicator: a view on team/, which owns all of it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "memory/inbox.hpp"
#include "memory/pairs.hpp"
#include "memory/reach.hpp"
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

// What an exchange inside a node has begun and not yet finished. Kept between calls for its memory.
struct NodeWork {
  struct Stream {
    int peer;
    std::byte* at;
    std::size_t bytes;    // still to move
    std::size_t dropped;  // then still to be taken and dropped: the receiver expected fewer
  };
  struct Packed {
    int peer;
    const std::byte* from;
    std::size_t bytes;
  };
  std::vector<Stream> out, in, to_write;
  std::vector<Packed> packed;  // to be unpacked when all has arrived
  std::vector<Packed> given;   // packed rooms that peers may write to
  std::vector<int> users;      // peers that touch this rank's memory in this call
  void clear() {
    out.clear(), in.clear(), to_write.clear(), packed.clear(), given.clear(), users.clear();
  }
};

// This process's own shared heap.
struct OwnHeap {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

struct Group {
  MPI_Comm comm{};  // private
  int me = 0;
  int ranks = 0;
  memory::Inbox inbox;
  std::size_t inbox_limit = 0;  // largest block that goes through a slot
  sys::Waiter waiter;
  // For blocks that do not fit a slot; valid if `direct`, the same on all ranks.
  bool direct = false;
  bool rings = false;
  std::size_t cma_from = 0;  // bytes of a block from which on the kernel copies it rather than a ring
  memory::Pairs pairs;
  std::vector<memory::Peer> peers;
  OwnHeap heap;
  NodeWork node_work;
  bool in_heap(const std::byte* address, std::size_t size) const {
    const auto offset = static_cast<std::size_t>(address - heap.base);
    return offset < heap.bytes && size <= heap.bytes - offset;
  }
  Pool scratch, packed_send, packed_recv, packed_own;
};

}  // namespace quadrille::run
