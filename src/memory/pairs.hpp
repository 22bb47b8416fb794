// Control memory for the direct exchange of large blocks between the ranks of a node: when each rank has
// done its part of a call, where each rank receives, and rings for memory that cannot be reached.
//
// It lies behind the inboxes in the same segment. Like them it needs no barrier to enter. To leave, a rank
// waits until those are done that read its memory or write to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "memory/copy_kernels.hpp"
#include "memory/inbox.hpp"
#include "memory/meeting.hpp"
#include "memory/ring.hpp"

namespace quadrille::memory {

// Where things are: first the lines of the meeting, then a region for each rank. The same on all ranks.
struct PairsLayout {
  int ranks = 0;
  std::size_t ring_bytes = 0;     // of data; 0: too many ranks for rings
  std::size_t meeting_bytes = 0;  // of all ranks
  std::size_t region_bytes = 0;   // one rank's
  std::size_t segment_bytes() const { return meeting_bytes + region_bytes * static_cast<std::size_t>(ranks); }
};
inline PairsLayout pairs_layout(int ranks);
// Without rings, 0, it is enough for copies.
inline PairsLayout pairs_layout_with(int ranks, std::size_t ring_bytes);

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

inline PairsLayout pairs_layout(int ranks) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t most_ring_bytes = std::size_t{64} << 10, least_ring_bytes = 1024;
  const std::size_t head = Pairs::head_bytes(ranks), room = most_bytes_a_rank / 2 - Meeting::bytes(1);
  const std::size_t meeting = sys::round_up(Meeting::bytes(ranks), page);
  if (head > room) return {ranks, 0, meeting, 0};
  std::size_t each = std::min((room - head) / static_cast<std::size_t>(ranks), most_ring_bytes + sizeof(RingHead));
  each = each / sys::cache_line * sys::cache_line;
  const bool has_rings = each >= least_ring_bytes + sizeof(RingHead);
  const PairsLayout least = pairs_layout_with(ranks, has_rings ? each - sizeof(RingHead) : 0);
  return {ranks, least.ring_bytes, meeting, sys::round_up(least.region_bytes, page)};
}

inline PairsLayout pairs_layout_with(int ranks, std::size_t ring_bytes) {
  const std::size_t each = ring_bytes == 0 ? 0 : sizeof(RingHead) + ring_bytes;
  return {ranks, ring_bytes, Meeting::bytes(ranks), Pairs::head_bytes(ranks) + each * static_cast<std::size_t>(ranks)};
}

}  // namespace quadrille::memory
