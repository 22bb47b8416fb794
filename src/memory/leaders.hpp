// The memory by which leaders serve the ranks of their node (plan/leaders.hpp), and who may touch it when.
//
// Idea    In each turn every rank writes what is its own into the area and counts itself; when all have, the leaders
//         send and receive; each says when it has, and then all read. What stays in the node a rank may read as soon as
//         all have packed. Nobody waits anywhere else: not to leave, and to enter the next turn only for the leaders,
//         whom a rank has waited for already to read.
// Why     What goes to other nodes is overwritten in the next turn, when the leaders have sent it. What comes from them
//         is overwritten when a leader receives in the next turn, which is when all have packed again, so have read.
//         What stays in the node is read by ranks that may be late while others pack the next turn: so it has two sets
//         of places. Who packs the turn after that has seen leaders who saw all pack the next, so all have read.
//
// Example, 3 ranks, rank 1 leads: 0, 1, 2 pack; rank 1 sees 3 = 3 * 1 counted, sends and receives, says turn 1; all
// read. Rank 0 packs turn 2 at once, into the other set; rank 1 waits until 6 = 3 * 2 are counted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sys/sys.hpp"

namespace quadrille::memory {

class Leaders {
 public:
  // Bytes a rank of each part of the area (plan::LeadersPart), the same on all nodes; whole cache lines. Pages that are
  // not used take no memory.
  using Parts = std::array<std::size_t, 5>;
  static constexpr Parts usual_parts = {256 << 10, 256 << 10, 1 << 20, 1 << 20, 1 << 20};
  static std::size_t bytes(int ranks, const Parts& parts = usual_parts) {
    return head_bytes(ranks) + before(parts, parts.size(), ranks);
  }
  // The number of areas of `one` bytes, at most `wanted`, if a process may take `left` more bytes of addresses: the
  // program needs some of these.
  static std::size_t areas_within(std::size_t left, std::size_t one, std::size_t wanted) {
    constexpr std::size_t part = 16;
    return std::min(wanted, left / part / one);
  }

  Leaders() = default;
  // `base` is zeroed shared memory of bytes(ranks, parts).
  Leaders(std::byte* base, int ranks, const Parts& parts = usual_parts)
      : base_(base), parts_(parts), ranks_(static_cast<std::uint64_t>(ranks)) {}
  const Parts& parts() const { return parts_; }

  // All ranks take the same turns.
  void begin() { ++turn_; }
  // Which set of own places this turn uses: 0 or 1.
  unsigned set() const { return turn_ & 1U; }
  std::byte* part(std::size_t number) const {
    const int ranks = static_cast<int>(ranks_);
    return base_ + head_bytes(ranks) + before(parts_, number, ranks);
  }

  // This rank has written all that is its own; or `failed` to, and then all ranks of the node are told.
  void pack(bool failed) {
    if (failed) line(0).failed.store(turn_, std::memory_order_relaxed);
    packed().fetch_add(1, std::memory_order_acq_rel);
  }
  bool all_have_packed() const { return packed().load(std::memory_order_acquire) >= ranks_ * turn_; }

  bool some_failed() const { return line(0).failed.load(std::memory_order_relaxed) == turn_; }

  // Leader number `leader` has sent and received. `error` is one of the MPI, and each rank of the node returns it.
  void bring(int leader, int error) {
    Line& line = line_of(leader);
    line.error = error;
    line.turn.store(turn_, std::memory_order_release);
    line.bell.ring();
  }
  bool has_brought(int leader) const { return line_of(leader).turn.load(std::memory_order_acquire) >= turn_; }
  // Sleeps until that leader has, at most so long.
  void sleep_for(int leader, unsigned microseconds) {
    line_of(leader).bell.sleep_unless([&] { return has_brought(leader); }, microseconds);
  }
  int error_of(int leader) const { return line_of(leader).error; }

 private:
  struct alignas(sys::cache_line) Line {
    std::atomic<std::uint64_t> turn;
    std::atomic<std::uint64_t> failed;  // the last turn in which one did
    sys::Bell bell;
    int error;
  };
  static std::size_t head_bytes(int ranks) { return sizeof(Line) * (static_cast<std::size_t>(ranks) + 1); }
  static std::size_t before(const Parts& parts, std::size_t part, int ranks) {
    std::size_t bytes = 0;
    for (std::size_t p = 0; p < part; ++p) bytes += parts[p] * static_cast<std::size_t>(ranks);
    return bytes;
  }
  Line& line(std::size_t number) const { return reinterpret_cast<Line*>(base_)[number]; }
  Line& line_of(int leader) const { return line(static_cast<std::size_t>(leader) + 1); }
  std::atomic<std::uint64_t>& packed() const { return line(0).turn; }

  std::byte* base_ = nullptr;
  Parts parts_ = usual_parts;
  std::uint64_t ranks_ = 0;  // of this node
  std::uint64_t turn_ = 0;
};

}  // namespace quadrille::memory
