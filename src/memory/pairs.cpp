#include "memory/pairs.hpp"

#include <algorithm>

namespace quadrille::memory {

PairsLayout pairs_layout(int ranks) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t most_ring_bytes = std::size_t{64} << 10, least_ring_bytes = 1024;
  PairsLayout layout;
  layout.ranks = ranks;
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t head = Pairs::head_bytes(ranks);
  const std::size_t room = most_bytes_a_rank / 2 - Meeting::bytes(1);
  layout.meeting_bytes = sys::round_up(Meeting::bytes(ranks), page);
  if (head > room) return layout;
  std::size_t each = std::min((room - head) / count, most_ring_bytes + sizeof(RingHead));
  each = each / sys::cache_line * sys::cache_line;
  if (each >= least_ring_bytes + sizeof(RingHead)) layout.ring_bytes = each - sizeof(RingHead);
  const std::size_t rings = layout.ring_bytes == 0 ? 0 : each * count;
  layout.region_bytes = sys::round_up(head + rings, page);
  return layout;
}

PairsLayout pairs_layout_with(int ranks, std::size_t ring_bytes) {
  const std::size_t rings = (sizeof(RingHead) + ring_bytes) * static_cast<std::size_t>(ranks);
  return {ranks, ring_bytes, Meeting::bytes(ranks), Pairs::head_bytes(ranks) + rings};
}

PairsLayout tables_layout(int ranks) { return {ranks, 0, Meeting::bytes(ranks), Pairs::head_bytes(ranks)}; }

}  // namespace quadrille::memory
