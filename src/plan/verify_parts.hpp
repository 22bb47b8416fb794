// What the parts of the proof share. Used by verify*.cpp and tests alone.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/verify.hpp"

namespace quadrille::plan::proof {

inline Report wrong(std::string what) { return {false, std::move(what)}; }

// "recv[3]", or "recv[3] of rank 2" if another rank owns it.
inline std::string name_of(const Span& span, int me) {
  std::string name = fmt::format("{}[{}]", name_of(span.buffer), span.block);
  if (span.owner != me) name += fmt::format(" of rank {}", span.owner);
  return name;
}

// A block that a rank wants: send block `block` of `rank`; rank -1: its recv block must stay
// untouched.
struct Wish {
  int rank = -1;
  int block = 0;
};

// What all ranks have and want.
struct Wishes {
  std::vector<int> send_blocks;         // [rank]
  std::vector<std::vector<Wish>> recv;  // [rank][recv block]
  bool sized = false;                   // place k may only hold blocks number k mod send blocks
  bool dense = false;                   // a recv block is named by its source: no neighbours
};

// Everything that is proved together. Numbers all blocks of all buffers of all ranks consecutively.
class Subject {
 public:
  Subject(const std::vector<Schedule>& all, const NodeMap& node_map, const Wishes& what, Goal how = {});

  const std::vector<Schedule>& schedules;
  const NodeMap& nodes;
  const Wishes& wishes;
  const Goal goal;
  const int ranks;

  std::size_t blocks_in(int rank, Buffer buffer) const {
    const auto r = static_cast<std::size_t>(rank);
    if (buffer == Buffer::scratch) return schedules[r].scratch_blocks;
    return buffer == Buffer::send ? static_cast<std::size_t>(wishes.send_blocks[r]) : wishes.recv[r].size();
  }
  std::size_t places() const { return first_.back(); }
  std::size_t place(const Span& span) const {
    std::size_t before = first_[static_cast<std::size_t>(span.owner)];
    if (span.buffer != Buffer::send) before += blocks_in(span.owner, Buffer::send);
    if (span.buffer == Buffer::scratch) before += blocks_in(span.owner, Buffer::recv);
    return before + static_cast<std::size_t>(span.block);
  }

 private:
  std::vector<std::size_t> first_ = {0};  // [rank]; one more at the end
};

// Whether a rank copies from or to a buffer of another.
inline bool reaches_out(const Schedule& schedule, int me) {
  return std::ranges::any_of(schedule.copies,
                             [me](const Copy& copy) { return copy.from.owner != me || copy.to.owner != me; });
}

// The pairs of a round that are posted together before anything is waited for. Which pairs are in
// flight together under a window that refills itself depends on the order of events: all of them
// may be, so they count as one batch.
inline std::uint32_t batch_size(const Round& round) {
  const bool refills = round.window.pairs > 1 && round.window.wait != Window::Wait::all;
  return refills ? pairs_of(round) : window_of(round);
}

// For every message of every rank the index of the message that it meets at its peer.
using Partners = std::vector<std::vector<std::uint32_t>>;  // [rank][message]

// `ordered`: also whether messages or fences order the accesses of several ranks to one span, in whatever order they
// happen here.
Report check_flow(const Subject& subject, const Partners& partners, bool buffered, std::uint64_t seed, bool ordered);
// All of the proof.
Report check_all(const Subject& subject, int orders, std::uint64_t seed);

}  // namespace quadrille::plan::proof
