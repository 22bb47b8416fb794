#include "memory/inbox.hpp"

#include <algorithm>

namespace quadrille::memory {

namespace {

// Two inboxes for each peer and two outboxes.
std::size_t slots_of(int ranks) { return 2 * static_cast<std::size_t>(ranks) + 2; }

InboxLayout layout_with(int ranks, std::size_t lines) {
  const std::size_t slot_bytes = lines * sys::cache_line;
  return {ranks, slot_bytes, sys::round_up(slot_bytes * slots_of(ranks), 4096)};
}

}  // namespace

InboxLayout inbox_layout(int ranks) {
  // Half of the control memory is for large blocks (pairs.hpp).
  const std::size_t lines = std::min(most_slot_bytes, most_bytes_a_rank / 2 / slots_of(ranks)) / sys::cache_line;
  if (lines == 0) return {ranks, 0, 0};  // more ranks than inboxes can serve: capacity is none
  return layout_with(ranks, lines % 2 == 0 ? lines - 1 : lines);
}

InboxLayout inbox_layout_for(int ranks, std::size_t bytes) {
  const std::size_t lines = (sizeof(Slot) + bytes + sys::cache_line - 1) / sys::cache_line;
  return layout_with(ranks, lines | 1U);
}

}  // namespace quadrille::memory
