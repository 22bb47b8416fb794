#include "memory/copy_threshold.hpp"

#include <algorithm>

#include "sys/sys.hpp"

namespace quadrille::memory {

std::size_t first_threshold(std::size_t l2_bytes, int ranks) {
  if (l2_bytes == 0) l2_bytes = std::size_t{1} << 20;
  const std::size_t share = l2_bytes / static_cast<std::size_t>(std::max(ranks, 1));
  return std::max(share / sys::cache_line, std::size_t{1}) * sys::cache_line;
}

std::size_t least_streamed(const LastCaches& caches, std::size_t l2_bytes, int ranks) {
  constexpr std::size_t unknown = std::size_t{32} << 20;
  const std::size_t all = caches.all == 0 ? unknown : caches.all;
  const std::size_t share = all / static_cast<std::size_t>(std::max(ranks, 1));
  const std::size_t mine = caches.mine == 0 ? share : std::min(share, caches.mine);
  return std::max(mine, first_threshold(l2_bytes, 1));
}

}  // namespace quadrille::memory
