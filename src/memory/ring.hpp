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

  // How far one side has come: the bytes that it has passed, of those that it may pass now. It tells the other side of
  // all pieces together; of large ones also a quarter of the ring at a time.
  class Cursor {
   protected:
    Cursor(const Ring& ring, std::atomic<std::uint64_t>& counter, std::uint64_t at, std::uint64_t end)
        : ring_(ring), counter_(counter), at_(at), told_(at), begin_(at), end_(end) {
      if (left() != 0) place_ = ring.place_of(at);
    }
    std::size_t left() const { return end_ - at_; }
    std::byte* pass(std::size_t bytes) {
      std::byte* const passed = ring_.data() + place_;
      at_ += bytes;
      place_ = ring_.place_after(place_, bytes);
      return passed;
    }
    // As far as there are any: copy(piece in the ring, bytes before it, its bytes). Returns how many.
    template <class Copy>
    std::size_t pass_pieces(std::size_t bytes, const Copy& copy) {
      const std::size_t total = std::min(bytes, left());
      for (std::size_t done = 0; done < total;) {
        const std::size_t now = ring_.piece(place_, total - done);
        copy(pass(now), done, now);
        done += now;
        if (at_ - told_ >= ring_.bytes_ / 4) tell();
      }
      return total;
    }
    // True if anything was passed.
    bool tell_all() {
      if (at_ != told_) tell();
      return at_ != begin_;
    }

    const Ring& ring_;
    std::size_t place_ = 0;  // at_ modulo the size: a division for each piece would cost as much as a small piece

   private:
    void tell() { counter_.store(told_ = at_, std::memory_order_release); }
    std::atomic<std::uint64_t>& counter_;
    std::uint64_t at_, told_;
    const std::uint64_t begin_, end_;
  };

  // Writes several pieces and announces them together.
  class Writer : Cursor {
   public:
    explicit Writer(Ring& ring) : Cursor(ring, ring.head_->pushed, ring.pushed(), ring.popped() + ring.bytes_) {}
    // `seen` is how far the consumer was when last looked at, zero at first. It is looked at again only when half of
    // the ring may be in use: that counter lies in a cache of the consumer, and to look at it costs a transfer.
    Writer(Ring& ring, std::uint64_t& seen)
        : Cursor(ring, ring.head_->pushed, ring.pushed(), ring.look_again(seen) + ring.bytes_) {}
    std::size_t room() const { return left(); }
    std::size_t ring_bytes() const { return ring_.bytes_; }
    // Room that is not cut in two by the end of the ring.
    std::size_t room_in_one_piece() const { return std::min(left(), ring_.bytes_ - place_); }
    // Where to write `bytes` bytes, at most room_in_one_piece(). They are announced together.
    std::byte* claim(std::size_t bytes) { return pass(bytes); }
    // As far as there is room. Returns how many.
    std::size_t write(const std::byte* from, std::size_t bytes) {
      return pass_pieces(
          bytes, [from](std::byte* to, std::size_t done, std::size_t now) { std::memcpy(to, from + done, now); });
    }
    // True if anything was written.
    bool publish() { return tell_all(); }
  };

  // Reads several pieces and frees their room together.
  class Reader : Cursor {
   public:
    explicit Reader(Ring& ring)
        : Cursor(ring, ring.head_->popped, ring.head_->popped.load(std::memory_order_relaxed),
                 ring.head_->pushed.load(std::memory_order_acquire)) {}
    std::size_t waiting() const { return left(); }
    // The next `bytes` bytes, which the writer claimed, or a part of those.
    const std::byte* take(std::size_t bytes) { return pass(bytes); }
    // As far as there are any; `to` may be null: then they are dropped. Returns how many.
    std::size_t read(std::byte* to, std::size_t bytes) {
      return pass_pieces(bytes, [to](const std::byte* from, std::size_t done, std::size_t now) {
        if (to != nullptr) std::memcpy(to + done, from, now);
      });
    }
    // True if anything was read.
    bool release() { return tell_all(); }
  };

  // Starts to bring in what the next Reader looks at first.
  void prefetch_read() const {
    sys::prefetch(&head_->pushed);
    sys::prefetch(data() + place_of(head_->popped.load(std::memory_order_relaxed)));
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
