#include "memory/pairs.hpp"

#include <algorithm>

namespace quadrille::memory {

PairsLayout pairs_layout(int ranks) {
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

PairsLayout pairs_layout_with(int ranks, std::size_t ring_bytes) {
  const std::size_t each = ring_bytes == 0 ? 0 : sizeof(RingHead) + ring_bytes;
  return {ranks, ring_bytes, Meeting::bytes(ranks), Pairs::head_bytes(ranks) + each * static_cast<std::size_t>(ranks)};
}

}  // namespace quadrille::memory
