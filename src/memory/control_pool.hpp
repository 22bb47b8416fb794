// Control memory of many communicators, out of one segment that all processes of a node map.
//
// Idea    To pass a segment's descriptor around takes several collectives and system calls, so that is done
//         once a process. Afterwards one rank takes an area for its communicator and tells the others where
//         it lies. An area belongs to as many users as there are ranks; the last that leaves gives it back.
// Layout  The segment begins with one counter a chunk: 0 if it is free, 1 if it is taken, and of the first chunk of an
//         area as many more as the area has users. They change by atomic operations: a process that dies in the middle
//         blocks nobody.
//
// Example: chunks 0 and 1 are taken. take(3 chunks, 4 users) claims chunks 2, 3 and 4, and sets the counter of chunk 2
// to 5. The fourth leave() drops the pages of the three chunks, so that they read as zeros, and frees them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace quadrille::memory {

class ControlPool {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{64} << 10;

  // Bytes of a segment with room for areas of `bytes` in all.
  static std::size_t segment_bytes(std::size_t bytes);

  // `base` is shared memory of segment_bytes(bytes), zeroed when it was made. The pool unmaps it at its end.
  ControlPool(std::byte* base, std::size_t bytes);
  ~ControlPool();
  ControlPool& operator=(ControlPool&&) = delete;

  // Takes an area of `bytes`, all zeros, for `users` processes. Returns its first chunk, or nothing if there
  // is no room.
  std::optional<std::size_t> take(std::size_t bytes, int users);
  std::byte* area(std::size_t chunk) const { return areas_ + chunk * chunk_bytes; }
  // One of the users touches the area no more.
  void leave(std::size_t chunk, std::size_t bytes);

  std::size_t chunks() const { return chunks_; }

 protected:
  bool claim(std::size_t first, std::size_t count);

 private:
  void clear(std::size_t first, std::size_t count);

  std::byte* base_;
  std::size_t segment_;
  std::size_t chunks_;
  std::atomic<std::int32_t>* users_;
  std::byte* areas_;
};

struct LeaveArea {
  std::shared_ptr<ControlPool> pool;
  std::size_t chunk = 0, bytes = 0;
  void operator()(std::byte*) const { pool->leave(chunk, bytes); }
};

// A communicator's area, as one of its ranks holds it. Leaves it at the end.
class ControlArea {
 public:
  ControlArea() = default;
  ControlArea(const std::shared_ptr<ControlPool>& pool, std::size_t chunk, std::size_t bytes)
      : base_(pool->area(chunk), LeaveArea{pool, chunk, bytes}) {}
  bool is_there() const { return base_ != nullptr; }
  std::byte* base() const { return base_.get(); }
  const std::shared_ptr<ControlPool>& pool() const { return base_.get_deleter().pool; }

 private:
  std::unique_ptr<std::byte, LeaveArea> base_;
};

}  // namespace quadrille::memory
