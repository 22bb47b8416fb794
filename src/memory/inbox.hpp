// Inboxes: small blocks through shared memory, in one traversal, without a barrier.
//
// Idea    For each ordered pair of ranks there is a slot in a shared segment, two of them by the parity
//         of the call. A slot holds a sequence number and the block, so that a small block costs one
//         cache line. A rank writes to all its peers, then reads from all its peers.
// Why two slots are enough: a rank leaves call n only after it has read from all peers, so all peers
//         have entered call n and hence left call n - 1. When it writes in call n + 1 into the slots of
//         call n - 1, these have all been read.
// Cost    P - 1 blocks written and read by each rank, each copied twice; no message, no barrier.
//
// Besides the inboxes each rank has an outbox, written by it and read by all: one block to everybody,
// for allgather. Inboxes and outboxes count their calls separately; each rank must make the same
// calls in the same order. Only equality of sequence numbers is ever tested, and a slot's old number is
// always that of two calls ago, so the numbers may wrap at any width of at least two bits.
//
// Example, 2 ranks, third call (sequence 3, parity 1): rank 0 writes its block for rank 1 and then
// number 3 into slot (1, parity 1, from 0), and waits until slot (0, parity 1, from 1) holds 3. That
// slot held 1 before.
//
// This file sees no MPI. It works with any memory on both sides: blocks are copied in and out.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/copy.hpp"
#include "sys/sys.hpp"
#include "sys/wait.hpp"

namespace quadrille::memory {

#if defined(QUADRILLE_NARROW_SEQUENCE)
using Sequence = std::uint8_t;  // tests: wraps after 256 calls
#else
using Sequence = std::uint32_t;
#endif

// How the block of a slot travels: in the slot itself or, if it is larger, as run/node_exchange.cpp tells.
enum class Carried : std::uint8_t { in_slot, in_heap, at_address, written, in_ring, as_message, refused };

// The head of a slot. The block's bytes follow it.
struct Slot {
  std::atomic<Sequence> sequence;  // written last, with release
  Carried carried;
  std::uint64_t bytes;
};
static_assert(sizeof(Slot) == 16 && std::atomic<Sequence>::is_always_lock_free);

// Shared control memory of a communicator is at most this much a rank.
inline constexpr std::size_t most_bytes_a_rank = std::size_t{1} << 20;
// No slot is larger than this, head included. Larger blocks are copied twice through memory that both
// cores write to; from about 8 KiB on that costs more than what the MPIs do.
inline constexpr std::size_t most_slot_bytes = 4096 + sys::cache_line;

// Where things are in a segment for `ranks` ranks. The same on all ranks.
struct InboxLayout {
  int ranks = 0;
  std::size_t slot_bytes = 0;    // distance of slots; an odd number of cache lines, so that the heads
                                 // of many slots do not fall into the same cache set
  std::size_t region_bytes = 0;  // one rank's inboxes and outboxes; whole pages
  std::size_t capacity() const { return slot_bytes == 0 ? 0 : slot_bytes - sizeof(Slot); }
  std::size_t segment_bytes() const { return region_bytes * static_cast<std::size_t>(ranks); }

  // Two inboxes for each peer and two outboxes.
  static std::size_t slots_of(int ranks) { return 2 * static_cast<std::size_t>(ranks) + 2; }
  static InboxLayout with(int ranks, std::size_t lines) {
    const std::size_t bytes = lines * sys::cache_line;
    return {ranks, bytes, sys::round_up(bytes * slots_of(ranks), 4096)};
  }
};
inline InboxLayout inbox_layout(int ranks) {
  // Half of the control memory is for large blocks (pairs.hpp).
  const std::size_t most = std::min(most_slot_bytes, most_bytes_a_rank / 2 / InboxLayout::slots_of(ranks));
  const std::size_t lines = most / sys::cache_line;
  if (lines == 0) return {ranks, 0, 0};  // more ranks than inboxes can serve: capacity is none
  return InboxLayout::with(ranks, lines % 2 == 0 ? lines - 1 : lines);
}
// Of inboxes whose slots have room for blocks of `bytes`.
inline InboxLayout inbox_layout_for(int ranks, std::size_t bytes) {
  const std::size_t lines = (sizeof(Slot) + bytes + sys::cache_line - 1) / sys::cache_line;
  return InboxLayout::with(ranks, lines | 1U);
}

class Inbox {
 public:
  Inbox() = default;
  // `base` is the segment, zeroed when it was created, mapped by all ranks.
  Inbox(std::byte* base, const InboxLayout& layout, int me) : base_(base), layout_(layout), me_(me) {}

  bool usable() const { return base_ != nullptr; }
  std::size_t capacity() const { return layout_.capacity(); }

  // ---- Inboxes. begin(), then publish to every peer, then await every peer. ----
  void begin() { ++inbox_sequence_; }
  // Memory of capacity() bytes where the block for `peer` is written before publish().
  std::byte* block_to(int peer) { return data_of(inbox_slot(peer, me_)); }
  void publish(int peer, Carried carried, std::size_t bytes) {
    publish_slot(inbox_slot(peer, me_), inbox_sequence_, carried, bytes);
  }
  // Waits for the block of `peer`, most likely of `bytes`, in the call that began last.
  const Slot& await(int peer, std::size_t bytes, const sys::Waiter& waiter) {
    return await_slot(inbox_slot(me_, peer), inbox_sequence_, bytes, waiter);
  }

  // The same without waiting: null if it is not there yet.
  const Slot* look(int peer, std::size_t bytes = 0) const {
    return look_at(inbox_slot(me_, peer), inbox_sequence_, bytes);
  }

  // ---- Outboxes: the same with one block for all. ----
  void begin_out() { ++outbox_sequence_; }
  std::byte* block_to_all() { return data_of(outbox_slot(me_)); }
  void publish_to_all(Carried carried, std::size_t bytes) {
    publish_slot(outbox_slot(me_), outbox_sequence_, carried, bytes);
  }
  const Slot& await_out(int peer, std::size_t bytes, const sys::Waiter& waiter) {
    return await_slot(outbox_slot(peer), outbox_sequence_, bytes, waiter);
  }

  const Slot* look_out(int peer, std::size_t bytes = 0) const {
    return look_at(outbox_slot(peer), outbox_sequence_, bytes);
  }

  // Copies a block of plain bytes into a slot. The peer looks at the slot's first line all the time, so
  // that line is written last: each earlier write to it would have to win it back. The other lines are
  // asked for all at once. (At 64 bytes this takes a third off the whole exchange.)
  static void fill(std::byte* block, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t most_prefetched = 512;
    if (bytes > first_line) {
      for (std::size_t at = first_line; at < std::min(bytes, most_prefetched); at += sys::cache_line) {
        sys::prefetch_for_write(block + at);
      }
      std::memcpy(block + first_line, from + first_line, bytes - first_line);
      bytes = first_line;
    }
    copy_bytes(block, from, bytes);
  }

  static const std::byte* block_of(const Slot& slot) {
    return reinterpret_cast<const std::byte*>(&slot) + sizeof(Slot);
  }

 private:
  Slot* inbox_slot(int to, int from) const { return slot_at(to, inbox_sequence_, from); }
  Slot* outbox_slot(int of) const { return slot_at(of, outbox_sequence_, layout_.ranks); }
  // A region has for each parity the slots of all senders, and behind them the outbox.
  Slot* slot_at(int rank, Sequence sequence, int place) const {
    const std::size_t before = (sequence & 1U) * (static_cast<std::size_t>(layout_.ranks) + 1);
    return reinterpret_cast<Slot*>(base_ + layout_.region_bytes * static_cast<std::size_t>(rank) +
                                   layout_.slot_bytes * (before + static_cast<std::size_t>(place)));
  }
  static std::byte* data_of(Slot* slot) { return reinterpret_cast<std::byte*>(slot) + sizeof(Slot); }
  static void publish_slot(Slot* slot, Sequence sequence, Carried carried, std::size_t bytes) {
    slot->carried = carried;
    slot->bytes = bytes;
    slot->sequence.store(sequence, std::memory_order_release);
  }
  // Whoever looks in vain for a block that ends in the slot's second line asks for that line, too, so that both lines
  // come at the same time. The lines of a longer block are still being written then.
  static const Slot* look_at(const Slot* slot, Sequence sequence, std::size_t bytes) {
    if (slot->sequence.load(std::memory_order_acquire) == sequence) return slot;
    if (bytes > first_line && bytes <= first_line + sys::cache_line) sys::prefetch(block_of(*slot) + first_line);
    return nullptr;
  }
  static const Slot& await_slot(const Slot* slot, Sequence sequence, std::size_t bytes, const sys::Waiter& waiter) {
    waiter.until([&] { return look_at(slot, sequence, bytes) != nullptr; });
    return *slot;
  }

  static constexpr std::size_t first_line =
      sys::cache_line - sizeof(Slot);  // bytes of a block in the slot's first line

  std::byte* base_ = nullptr;
  InboxLayout layout_;
  int me_ = 0;
  Sequence inbox_sequence_ = 0;
  Sequence outbox_sequence_ = 0;
};

}  // namespace quadrille::memory
