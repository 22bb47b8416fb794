// The control memory of a communicator inside a node: what its ranks share to exchange blocks.
//
//   inboxes  small blocks, copied in and out
//   pairs    large blocks: where each rank receives, and when each has done its part of a call
//   rings    large blocks in memory that a peer cannot reach
//   failed   which calls a rank could not serve, and whether a rank has left one
//
// The meeting (memory/meeting.hpp) lies between the inboxes and the pairs. This file sees no MPI.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "memory/copy_kernels.hpp"
#include "memory/meeting.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

// ---- Inboxes: small blocks through shared memory, in one traversal, without a barrier ----
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
// Inboxes work with any memory on both sides: blocks are copied in and out.

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
  // Half of the control memory is for large blocks (pairs_layout()).
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

// ---- A ring: a stream of bytes from one rank to another through a small piece of shared memory ----
//
// Idea    The way for large blocks when the receiver cannot reach the sender's memory: the sender copies
//         into the ring what fits, the receiver copies it out at the same time. The ring is small enough
//         to stay in the cache, so the data cross the memory once in and once out.
// Cost    two copies of each byte, one of them from the cache.
//
// The counters count bytes since the ring was made and never wrap (2^64 bytes). The producer writes only
// `pushed`, the consumer only `popped`.
//
// Example, a ring of 8 bytes, 12 bytes to send: push copies 2 at a time (a quarter of the ring, so that
// the consumer can begin early) until 8 are in; pop takes 6; push writes 4 more, at positions 0..3.

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
  // all pieces together; of more than 8 KiB, or a quarter of the ring if that is less, on the way, too: the other side
  // has them in its cache before it needs the next ones.
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
        if (at_ - told_ >= ring_.most_untold()) tell();
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
  // Bytes of which one side tells the other at the latest.
  std::size_t most_untold() const { return std::min(bytes_ / 4, std::size_t{8} << 10); }
  // Not over the end of the ring.
  std::size_t piece(std::size_t place, std::size_t bytes) const {
    return std::min({bytes, most_untold(), bytes_ - place});
  }

  RingHead* head_;
  std::size_t bytes_;
};

// ---- Pairs: large blocks, each straight from one rank to another ----
//
// Each rank says where it receives, and when it has done its part of a call. Rings serve memory that cannot be reached.
//
// The pairs lie behind the inboxes in the same segment. Like the inboxes they need no barrier to enter. To leave, a
// rank waits until the peers are done that read its memory or write to it.

// Where things are: first the lines of the meeting, then a region for each rank. The same on all ranks.
struct PairsLayout {
  int ranks = 0;
  std::size_t ring_bytes = 0;     // of data; 0: too many ranks for rings
  std::size_t meeting_bytes = 0;  // of all ranks
  std::size_t region_bytes = 0;   // one rank's
  std::size_t segment_bytes() const { return meeting_bytes + region_bytes * static_cast<std::size_t>(ranks); }
};

class Pairs {
 public:
  Pairs() = default;
  // `base` is zeroed shared memory of layout.segment_bytes() bytes. `tree`: of the meeting.
  Pairs(std::byte* base, const PairsLayout& layout, int me, MeetingTree tree = {})
      : base_(base + layout.meeting_bytes),
        layout_(layout),
        me_(me),
        meeting_(base, layout.ranks, me, std::move(tree)) {}

  bool has_rings() const { return layout_.ring_bytes > 0; }
  std::size_t ring_bytes() const { return layout_.ring_bytes; }

  // An exchange begins. All ranks make the same calls in the same order.
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
  // What this rank has given in this call.
  Place room_for(int peer) const { return *place(me_, peer); }

  // ---- When a way fails that both took for possible: the one that finds out tells the other. ----

  // The block of `from` shall come through the ring from it to this rank, after all.
  void ask_for_ring(int from) { ask(me_, from).store(1, std::memory_order_release); }
  // Whether `to` asked for that. True once for each time, in the call in which it asked.
  bool is_asked_for_ring(int to) { return hears(ask(to, me_)); }
  // This rank cannot write its block to `to`. Said before this rank finishes.
  void report_failed_write(int to) { failed_write(to, me_).store(1, std::memory_order_release); }
  // Whether `from` said that. True once for each time; final if `from` has finished.
  bool has_failed_to_write(int from) { return hears(failed_write(me_, from)); }

  // ---- For copies between any two ranks: all come, all copy, all finish. ----

  Meeting& meeting() { return meeting_; }
  const Meeting& meeting() const { return meeting_; }
  // For the places of a rank's blocks in this call, where there is no rule: send blocks by destination, recv blocks by
  // source.
  using Owned = memory::Owned;
  BlockPlace* places(Owned which, int owner) const {
    const auto ranks = static_cast<std::size_t>(layout_.ranks);
    return reinterpret_cast<BlockPlace*>(region(owner) + tables_at(layout_.ranks)) + (which == Owned::recv ? ranks : 0);
  }

  Ring ring(int to, int from) const {
    std::byte* rings = region(to) + head_bytes(layout_.ranks);
    const std::size_t each = sizeof(RingHead) + layout_.ring_bytes;
    return {reinterpret_cast<RingHead*>(rings + each * static_cast<std::size_t>(from)), layout_.ring_bytes};
  }

  // Bytes of a region before the rings.
  static std::size_t head_bytes(int ranks) {
    return tables_at(ranks) + in_lines(2 * sizeof(BlockPlace) * static_cast<std::size_t>(ranks));
  }

 private:
  // Takes what the other one has said. That is done before this rank publishes its inboxes in the next call, which the
  // other one awaits before it says it again.
  static bool hears(std::atomic<std::uint8_t>& said) {
    if (said.load(std::memory_order_acquire) == 0) return false;
    said.store(0, std::memory_order_relaxed);
    return true;
  }
  static std::size_t in_lines(std::size_t bytes) { return sys::round_up(bytes, sys::cache_line); }
  // A region: a line for `finished`, rooms, asks and failed writes, tables, rings.
  static std::size_t asks_at(int ranks) {
    return sys::cache_line + in_lines(2 * sizeof(Place) * static_cast<std::size_t>(ranks));
  }
  static std::size_t tables_at(int ranks) { return asks_at(ranks) + in_lines(2 * static_cast<std::size_t>(ranks)); }
  std::byte* region(int rank) const { return base_ + layout_.region_bytes * static_cast<std::size_t>(rank); }
  std::atomic<Sequence>& finished_by(int rank) const { return *reinterpret_cast<std::atomic<Sequence>*>(region(rank)); }
  std::atomic<std::uint8_t>& ask(int owner, int peer) const {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(region(owner) + asks_at(layout_.ranks))[peer];
  }
  std::atomic<std::uint8_t>& failed_write(int owner, int peer) const { return ask(owner, layout_.ranks + peer); }
  Place* place(int owner, int peer) const {
    const std::size_t parity = sequence_ & 1U;
    const std::size_t index = parity * static_cast<std::size_t>(layout_.ranks) + static_cast<std::size_t>(peer);
    return reinterpret_cast<Place*>(region(owner) + sys::cache_line) + index;
  }

  std::byte* base_ = nullptr;
  PairsLayout layout_;
  int me_ = 0;
  Sequence sequence_ = 0;
  Meeting meeting_;
};

// Without rings, 0, it is enough for copies.
inline PairsLayout pairs_layout_with(int ranks, std::size_t ring_bytes) {
  const std::size_t each = ring_bytes == 0 ? 0 : sizeof(RingHead) + ring_bytes;
  return {ranks, ring_bytes, Meeting::bytes(ranks), Pairs::head_bytes(ranks) + each * static_cast<std::size_t>(ranks)};
}

inline PairsLayout pairs_layout(int ranks) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t most_ring_bytes = std::size_t{128} << 10, least_ring_bytes = 1024;
  const std::size_t head = Pairs::head_bytes(ranks), room = most_bytes_a_rank / 2 - Meeting::bytes(1);
  const std::size_t meeting = sys::round_up(Meeting::bytes(ranks), page);
  if (head > room) return {ranks, 0, meeting, 0};
  std::size_t each = std::min((room - head) / static_cast<std::size_t>(ranks), most_ring_bytes + sizeof(RingHead));
  each = each / sys::cache_line * sys::cache_line;
  const bool has_rings = each >= least_ring_bytes + sizeof(RingHead);
  const PairsLayout least = pairs_layout_with(ranks, has_rings ? each - sizeof(RingHead) : 0);
  return {ranks, least.ring_bytes, meeting, sys::round_up(least.region_bytes, page)};
}

// ---- Failed calls: the ranks that take part hear of a rank of their node that could not read its own data ----
//
// Idea    A rank writes the call's number down before it takes part. Who has anything from that rank in the call finds
//         the number there at the end of the call, because the rank has written it before it sent anything. A rank that
//         waits for nothing from that rank may have left before, and finds nothing.
// Order   A rank may be calls ahead of another, so there are several words, by the number of the call; a failure that
//         lies so many calls back that its word was used again is lost.
// Left    A rank that leaves a call because a rank has failed sets a flag first, for all calls. A reader of its memory
//         looks at the flag afterwards: the program may have changed that memory.
// Cost    Two lines of a cache for a node, and one look for a call that may have such data.

class FailedCalls {
 public:
  static constexpr std::size_t bytes = 2 * sys::cache_line;

  FailedCalls() = default;
  // `base` is zeroed shared memory of `bytes` bytes, at the beginning of a line.
  explicit FailedCalls(std::byte* base) : words_(reinterpret_cast<std::atomic<std::uint64_t>*>(base)) {}

  // `call`: the same on all ranks. 0: no rank can tell of it.
  void note(std::uint64_t call) {
    if (words_ != nullptr && call != 0) word_of(call).store(call, std::memory_order_release);
  }
  bool has(std::uint64_t call) const {
    return words_ != nullptr && call != 0 && word_of(call).load(std::memory_order_acquire) == call;
  }

  // `why` is not 0.
  void note_left(int why) {
    if (words_ == nullptr) return;
    flag().store(static_cast<std::uint64_t>(why), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // before what the program writes next
  }
  int left() const {
    if (words_ == nullptr) return 0;
    std::atomic_thread_fence(std::memory_order_acquire);  // after all that was copied
    return static_cast<int>(flag().load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::uint64_t>& flag() const { return words_[words]; }
  // Starts of one request differ in their upper bits.
  std::atomic<std::uint64_t>& word_of(std::uint64_t call) const { return words_[(call + (call >> 32)) % words]; }
  static constexpr std::size_t words = sys::cache_line / sizeof(std::uint64_t);
  std::atomic<std::uint64_t>* words_ = nullptr;
};

}  // namespace quadrille::memory
