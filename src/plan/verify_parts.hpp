// The parts of the proof, and what they share. Used by verify*.cpp alone.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/verify.hpp"
#include "plan/verify_neighbors.hpp"

namespace quadrille::plan::proof {

inline Report wrong(std::string what) { return {false, std::move(what)}; }

inline std::string_view name_of(Buffer buffer) {
  constexpr std::string_view names[] = {"send", "recv", "scratch"};
  return names[static_cast<std::size_t>(buffer)];
}

// "recv[3]", or "recv[3] of rank 2" if another rank owns it.
inline std::string name_of(const Span& span, int me) {
  std::string name = fmt::format("{}[{}]", name_of(span.buffer), span.block);
  if (span.owner != me) name += fmt::format(" of rank {}", span.owner);
  return name;
}

// Everything that is proved together. Numbers all blocks of all buffers of all ranks consecutively.
class Subject {
 public:
  Subject(const std::vector<Schedule>& all, const NodeMap& node_map, Goal what);
  Subject(const std::vector<Schedule>& all, const NodeMap& node_map, const Wishes& of_neighbors);

  const std::vector<Schedule>& schedules;
  const NodeMap& nodes;
  const Goal goal;
  const Wishes* const wishes = nullptr;  // neighbourhoods: they say what is wanted, not the goal
  const int ranks;

  std::size_t blocks_in(int rank, Buffer buffer) const;
  std::size_t places() const { return first_.back(); }
  std::size_t place(const Span& span) const {
    const auto rank = static_cast<std::size_t>(span.owner);
    std::size_t before = 0;
    if (span.buffer != Buffer::send) before += send_blocks_[rank];
    if (span.buffer == Buffer::scratch) before += recv_blocks_[rank];
    return first_[rank] + before + static_cast<std::size_t>(span.block);
  }

 private:
  void number_places();

  std::vector<std::size_t> send_blocks_, recv_blocks_;  // [rank]
  std::vector<std::size_t> first_;                      // [rank]; one more at the end
};

// The pairs of a round that are posted together before anything is waited for. Which pairs are in
// flight together under a window that refills itself depends on the order of events: all of them
// may be, so they count as one batch.
inline std::uint32_t batch_size(const Round& round) {
  const bool refills = round.window.pairs > 1 && round.window.wait != Window::Wait::all;
  return refills ? pairs_of(round) : window_of(round);
}

// For every message of every rank the index of the message that it meets at its peer.
using Partners = std::vector<std::vector<std::uint32_t>>;  // [rank][message]

Report check_form(const Subject& subject);
Report check_races(const Subject& subject);
Report check_beside(const Subject& subject);
Report check_matching(const Subject& subject, Partners& partners);
Report check_order(const Subject& subject, const Partners& partners);
Report check_flow(const Subject& subject, const Partners& partners, bool buffered, std::uint64_t seed);
// All of these.
Report check_all(const Subject& subject, int orders, std::uint64_t seed);

}  // namespace quadrille::plan::proof
