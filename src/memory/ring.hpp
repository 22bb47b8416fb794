// A ring: a stream of bytes from one rank to another through a small piece of shared memory.
//
// Idea    The way for large blocks when the receiver cannot reach the sender's memory: the sender copies
//         into the ring what fits, the receiver copies it out at the same time. The ring is small enough
//         to stay in the cache, so the data cross the memory once in and once out.
// Cost    two copies of each byte, one of them from the cache.
//
// The counters count bytes since the ring was made and never wrap (2^64 bytes). The producer writes only
// `pushed`, the consumer only `popped`. This file sees no MPI.
//
// Example, a ring of 8 bytes, 12 bytes to send: push copies 2 at a time (a quarter of the ring, so that
// the consumer can begin early) until 8 are in; pop takes 6; push writes 4 more, at positions 0..3.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sys/sys.hpp"

namespace quadrille::memory {

struct RingHead {
  alignas(sys::cache_line) std::atomic<std::uint64_t> pushed;
  alignas(sys::cache_line) std::atomic<std::uint64_t> popped;
};
static_assert(sizeof(RingHead) == 2 * sys::cache_line);

class Ring {
 public:
  // `head` is zeroed when the memory is made; `bytes` bytes of data follow it.
  Ring(RingHead* head, std::size_t bytes) : head_(head), bytes_(bytes) {}

  // Writes several pieces and announces them together; large ones also a quarter of the ring at a time.
  class Writer {
   public:
    explicit Writer(Ring& ring) : Writer(ring, ring.pushed(), ring.popped()) {}
    // `seen` is how far the consumer was when last looked at, zero at first. It is looked at again only when half of
    // the ring may be in use: that counter lies in a cache of the consumer, and to look at it costs a transfer.
    Writer(Ring& ring, std::uint64_t& seen) : Writer(ring, ring.pushed(), ring.look_again(seen)) {}
    std::size_t room() const { return end_ - at_; }
    std::size_t ring_bytes() const { return ring_.bytes_; }
    // Room that is not cut in two by the end of the ring.
    std::size_t room_in_one_piece() const { return std::min(room(), ring_.bytes_ - place_); }
    // Where to write `bytes` bytes, at most room_in_one_piece(). They are announced together.
    std::byte* claim(std::size_t bytes) {
      std::byte* const claimed = ring_.data() + place_;
      step(bytes);
      return claimed;
    }
    // As far as there is room. Returns how many.
    std::size_t write(const std::byte* from, std::size_t bytes) {
      const std::size_t total = std::min(bytes, room());
      for (std::size_t done = 0; done < total;) {
        const std::size_t now = ring_.piece(place_, total - done);
        std::memcpy(ring_.data() + place_, from + done, now);
        done += now;
        step(now);
        if (at_ - announced_ >= ring_.bytes_ / 4) announce();
      }
      return total;
    }
    // True if anything was written.
    bool publish() {
      if (at_ != announced_) announce();
      return at_ != begin_;
    }

   private:
    Writer(Ring& ring, std::uint64_t pushed, std::uint64_t popped)
        : ring_(ring),
          at_(pushed),
          announced_(pushed),
          begin_(pushed),
          end_(popped + ring.bytes_),
          place_(room() == 0 ? 0 : ring.place_of(pushed)) {}
    void announce() { ring_.head_->pushed.store(announced_ = at_, std::memory_order_release); }
    void step(std::size_t bytes) {
      at_ += bytes;
      place_ = ring_.place_after(place_, bytes);
    }
    Ring& ring_;
    std::uint64_t at_, announced_;
    const std::uint64_t begin_, end_;
    std::size_t place_;  // at_ modulo the size: a division for each piece would cost as much as a small piece
  };

  // Reads several pieces and frees their room together; large ones also a quarter of the ring at a time.
  class Reader {
   public:
    explicit Reader(Ring& ring)
        : ring_(ring),
          at_(ring.head_->popped.load(std::memory_order_relaxed)),
          freed_(at_),
          begin_(at_),
          end_(ring.head_->pushed.load(std::memory_order_acquire)),
          place_(waiting() == 0 ? 0 : ring.place_of(at_)) {}
    std::size_t waiting() const { return end_ - at_; }
    // The next `bytes` bytes, which the writer claimed, or a part of those.
    const std::byte* take(std::size_t bytes) {
      const std::byte* const taken = ring_.data() + place_;
      step(bytes);
      return taken;
    }
    // As far as there are any; `to` may be null: then they are dropped. Returns how many.
    std::size_t read(std::byte* to, std::size_t bytes) {
      const std::size_t total = std::min(bytes, waiting());
      for (std::size_t done = 0; done < total;) {
        const std::size_t now = ring_.piece(place_, total - done);
        if (to != nullptr) std::memcpy(to + done, ring_.data() + place_, now);
        done += now;
        step(now);
        if (at_ - freed_ >= ring_.bytes_ / 4) free();
      }
      return total;
    }
    // True if anything was read.
    bool release() {
      if (at_ != freed_) free();
      return at_ != begin_;
    }

   private:
    void free() { ring_.head_->popped.store(freed_ = at_, std::memory_order_release); }
    void step(std::size_t bytes) {
      at_ += bytes;
      place_ = ring_.place_after(place_, bytes);
    }
    Ring& ring_;
    std::uint64_t at_, freed_;
    const std::uint64_t begin_, end_;
    std::size_t place_;
  };

  // Starts to bring in what the next Reader looks at first.
  void prefetch_read() const {
    __builtin_prefetch(&head_->pushed);
    __builtin_prefetch(data() + place_of(head_->popped.load(std::memory_order_relaxed)));
  }

  // And a Writer.
  void prefetch_write() const {
    const std::uint64_t at = head_->pushed.load(std::memory_order_relaxed);
    __builtin_prefetch(&head_->pushed, 1);
    __builtin_prefetch(data() + place_of(at), 1);
  }

  // Copies the next bytes of `from` into the ring as far as there is room. Returns how many.
  std::size_t push(const std::byte* from, std::size_t bytes) {
    Writer out(*this);
    const std::size_t done = out.write(from, bytes);
    out.publish();
    return done;
  }

  // Copies the next bytes out of the ring as far as there are any, at most `bytes`. `to` may be null:
  // then they are dropped. Returns how many.
  std::size_t pop(std::byte* to, std::size_t bytes) {
    Reader in(*this);
    const std::size_t done = in.read(to, bytes);
    in.release();
    return done;
  }

 private:
  std::byte* data() const { return reinterpret_cast<std::byte*>(head_) + sizeof(RingHead); }
  std::uint64_t pushed() const { return head_->pushed.load(std::memory_order_relaxed); }
  std::uint64_t popped() const { return head_->popped.load(std::memory_order_acquire); }
  std::uint64_t look_again(std::uint64_t& seen) const {
    if (pushed() - seen > bytes_ / 2) seen = popped();
    return seen;
  }
  std::size_t place_of(std::uint64_t at) const { return static_cast<std::size_t>(at % bytes_); }
  // `bytes` end at the end of the ring at the latest.
  std::size_t place_after(std::size_t place, std::size_t bytes) const {
    return place + bytes == bytes_ ? 0 : place + bytes;
  }
  // At most a quarter of the ring, and not over its end.
  std::size_t piece(std::size_t place, std::size_t bytes) const {
    return std::min({bytes, bytes_ / 4, bytes_ - place});
  }

  RingHead* head_;
  std::size_t bytes_;
};

}  // namespace quadrille::memory
