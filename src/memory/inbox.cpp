#include "memory/inbox.hpp"

#include <algorithm>

namespace quadrille::memory {

InboxLayout inbox_layout(int ranks) {
  constexpr std::size_t page = 4096;
  InboxLayout layout;
  layout.ranks = ranks;
  // Half of the control memory is for large blocks (pairs.hpp). Two inboxes for each peer and two outboxes.
  const std::size_t slots = 2 * static_cast<std::size_t>(ranks) + 2;
  std::size_t lines = std::min(most_slot_bytes, most_bytes_a_rank / 2 / slots) / sys::cache_line;
  if (lines == 0) return layout;  // more ranks than inboxes can serve: capacity is none
  if (lines % 2 == 0) --lines;
  layout.slot_bytes = lines * sys::cache_line;
  layout.region_bytes = (layout.slot_bytes * slots + page - 1) / page * page;
  return layout;
}

}  // namespace quadrille::memory
