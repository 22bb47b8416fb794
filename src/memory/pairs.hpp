// Control memory for the direct exchange of large blocks between the ranks of a node: when each rank has
// done its part of a call, where each rank receives, and rings for memory that cannot be reached.
//
// It lies behind the inboxes in the same segment. Like them it needs no barrier to enter. To leave, a rank
// waits until those are done that read its memory or write to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/copy_kernels.hpp"
#include "memory/inbox.hpp"
#include "memory/ring.hpp"

namespace quadrille::memory {

// Where a block of a rank is.
struct BlockPlace {
  std::uint64_t at;  // offset in its owner's shared heap, or address in its owner; undefined if bytes == 0
  std::uint64_t bytes : 63;
  std::uint64_t by_address : 1;
};

// Where things are in a rank's region. The same on all ranks.
struct PairsLayout {
  int ranks = 0;
  std::size_t ring_bytes = 0;    // of data; 0: too many ranks for rings
  std::size_t region_bytes = 0;  // one rank's; whole pages
  std::size_t segment_bytes() const { return region_bytes * static_cast<std::size_t>(ranks); }
};
PairsLayout pairs_layout(int ranks);
// Without rings: enough for copies.
PairsLayout tables_layout(int ranks);

class Pairs {
 public:
  Pairs() = default;
  // `base` is zeroed shared memory of layout.segment_bytes() bytes.
  Pairs(std::byte* base, const PairsLayout& layout, int me)
      : base_(base), layout_(layout), me_(me) {}

  bool has_rings() const { return layout_.ring_bytes > 0; }
  std::size_t ring_bytes() const { return layout_.ring_bytes; }

  // A call begins. All ranks make the same calls in the same order.
  void begin() { ++sequence_; }
  // Says that this rank will touch no peer's memory any more in this call, and that what it copied is there.
  void finish(Fenced) { finished_by(me_).store(sequence_, std::memory_order_release); }
  bool has_finished(int peer) const {
    // A peer is at most one call ahead and then has finished nothing new, so equality is enough.
    return finished_by(peer).load(std::memory_order_acquire) == sequence_;
  }

  // Where a block is taken, for a peer that writes it there.
  struct Place {
    std::uint64_t address;
    std::uint64_t bytes;
  };
  // Given before the inbox of the same call is published, read after it was awaited.
  void give_room(int peer, Place room) { *place(me_, peer) = room; }
  Place room_at(int peer) const { return *place(peer, me_); }

  // ---- When a way fails that both took for possible: the receiver asks for the ring instead. ----

  // The block of `from` shall come through the ring from it to this rank, after all.
  void ask_for_ring(int from) { ask(me_, from).store(1, std::memory_order_release); }
  // Whether `to` asked for that. True once for each time, in the call in which it asked.
  bool is_asked_for_ring(int to) {
    std::atomic<std::uint8_t>& asked = ask(to, me_);
    if (asked.load(std::memory_order_acquire) == 0) return false;
    // Before this rank publishes its inboxes in the next call; `to` awaits its own of these before it asks again.
    asked.store(0, std::memory_order_relaxed);
    return true;
  }

  // ---- For copies between any two ranks: all enter, all copy, all finish. ----

  // The places of a rank's blocks in this call: send blocks by destination, recv blocks by source.
  enum class Owned : std::uint8_t { send, recv };
  BlockPlace* places(Owned which, int owner) const {
    const std::size_t parity = sequence_ & 1U;
    const auto ranks = static_cast<std::size_t>(layout_.ranks);
    const std::size_t table = 2 * parity + (which == Owned::recv ? 1 : 0);
    return reinterpret_cast<BlockPlace*>(region(owner) + tables_at(layout_.ranks)) + table * ranks;
  }
  // This rank's places are written; `shares`: all of them can be reached. `generation` is that of the addresses
  // among them (memory/xpmem.hpp).
  void enter(bool shares, std::uint64_t generation) {
    said(me_).shares = shares;
    said(me_).generation = generation;
    entry(me_).sequence.store(sequence_, std::memory_order_release);
  }
  bool has_entered(int peer) const {
    return entry(peer).sequence.load(std::memory_order_acquire) == sequence_;
  }
  bool can_share(int peer) const { return said(peer).shares; }
  std::uint64_t generation_of(int peer) const { return said(peer).generation; }
  // As finish(); `copied`: this rank could do all its copies.
  void finish_copies(bool copied, Fenced fenced) {
    said(me_).copied = copied;
    finish(fenced);
  }
  // Of a peer that has finished.
  bool has_copied(int peer) const { return said(peer).copied; }

  Ring ring(int to, int from) const {
    std::byte* rings = region(to) + head_bytes(layout_.ranks);
    const std::size_t each = sizeof(RingHead) + layout_.ring_bytes;
    return {reinterpret_cast<RingHead*>(rings + each * static_cast<std::size_t>(from)),
            layout_.ring_bytes};
  }

  // Bytes of a region before the rings.
  static std::size_t head_bytes(int ranks) {
    return tables_at(ranks) + in_lines(4 * sizeof(BlockPlace) * static_cast<std::size_t>(ranks));
  }

 private:
  struct Said {
    std::uint64_t generation;
    bool shares, copied;
  };
  struct Entry {
    std::atomic<Sequence> sequence;
    Said said[2];  // by parity
  };
  static_assert(sizeof(Entry) <= sys::cache_line);
  static std::size_t in_lines(std::size_t bytes) {
    return (bytes + sys::cache_line - 1) / sys::cache_line * sys::cache_line;
  }
  // A region: a line for `finished`, a line for the entry, rooms, asks, tables, rings.
  static std::size_t asks_at(int ranks) {
    return 2 * sys::cache_line + in_lines(2 * sizeof(Place) * static_cast<std::size_t>(ranks));
  }
  static std::size_t tables_at(int ranks) {
    return asks_at(ranks) + in_lines(static_cast<std::size_t>(ranks));
  }
  std::byte* region(int rank) const {
    return base_ + layout_.region_bytes * static_cast<std::size_t>(rank);
  }
  std::atomic<Sequence>& finished_by(int rank) const {
    return *reinterpret_cast<std::atomic<Sequence>*>(region(rank));
  }
  Entry& entry(int rank) const {
    return *reinterpret_cast<Entry*>(region(rank) + sys::cache_line);
  }
  Said& said(int rank) const { return entry(rank).said[sequence_ & 1U]; }
  std::atomic<std::uint8_t>& ask(int owner, int peer) const {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(region(owner) + asks_at(layout_.ranks))[peer];
  }
  Place* place(int owner, int peer) const {
    const std::size_t parity = sequence_ & 1U;
    const std::size_t index = parity * static_cast<std::size_t>(layout_.ranks) +
                              static_cast<std::size_t>(peer);
    return reinterpret_cast<Place*>(region(owner) + 2 * sys::cache_line) + index;
  }

  std::byte* base_ = nullptr;
  PairsLayout layout_;
  int me_ = 0;
  Sequence sequence_ = 0;
};

}  // namespace quadrille::memory
